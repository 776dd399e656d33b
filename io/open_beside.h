// The directory that an output is made in, and unnamed files there.
#pragma once

#include <sys/types.h>

#include <string>

#include "io/file.h"

namespace xxl::io {

// A name of an open file, as long as /proc is mounted.
std::string descriptor_path(int fd);

// The directory that `path` lies in, as a path.
std::string directory_of(const std::string& path);

// Opens a directory that names are to be given in; `can_sync`: it may be synced, too. Throws
// Error{io}.
File open_directory(const std::string& directory, bool& can_sync);

// Syncs an open directory after a name in it was given to `file`, which is synced instead if the
// directory cannot be. Throws Error{io}.
void sync_directory(const File& directory, bool can_sync, const File& file);

// A descriptor of an unnamed file in `directory`, which can be given a name later; -1 where there
// are none. `is_new`: it has the mode that the umask leaves of `mode`, otherwise just that.
int open_unnamed_beside(const File& directory, mode_t mode, bool is_new);

// Gives the unnamed file `fd` a name; returns 0 or an errno value.
int link_unnamed(int fd, const File& directory, const char* name);

}  // namespace xxl::io
