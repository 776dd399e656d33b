// An output file that appears complete or not at all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "io/file.h"

namespace xxl::io {

// Writes go to an unnamed file in the directory of `path` (a named temporary one, removed by the
// destructor and by SIGINT, SIGTERM and SIGHUP, where the file system has no unnamed files).
// publish() syncs it and gives it its name, replacing what was there; without publish() nothing
// remains and what was there stays.
class OutputFile {
 public:
  // Throws Error{io} when the directory cannot be read and written, or `path` is a directory or not
  // replaceable. `direct` asks for O_DIRECT where there is.
  explicit OutputFile(const std::string& path, bool direct = true);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // False when `path` names something that must be written to instead of being replaced: a device,
  // a pipe, a socket, or an open file of a process (/dev/stdout, /dev/fd/3).
  static bool is_replaceable(const std::string& path);

  // The file to write into.
  File& file() { return file_; }

  // Cuts the file to `bytes`, syncs it, and makes it appear as `path` with the mode, owner and
  // group of the file that it replaces (mode 0666 & ~umask for a new one). Throws Error{io}, then
  // nothing appeared, unless it was the sync of the directory, at the very end, that failed.
  void publish(std::uint64_t bytes);

 private:
  // What the published file takes over from the file that it replaces.
  struct Attributes {
    mode_t mode = 0;
    std::optional<uid_t> owner;  // none for a new file: the user's own
    std::optional<gid_t> group;
  };

  static Attributes attributes_for(const std::string& path);
  int open_unnamed() const;
  int open_named();
  void apply_attributes();
  void give_name();
  void take_temp_path();
  void release_temp_path();

  std::string path_;       // with symbolic links followed, so that a link's target is replaced
  std::string directory_;  // of path_
  File opened_directory_;  // the same, to be synced
  Attributes attributes_;
  // The name that is to be removed if it does not become path_: of the fall-back file, or of an
  // unnamed file about to replace another; empty otherwise.
  std::string temp_path_;
  File file_;
};

// Removes the temporary files of all OutputFiles that have a name at this moment.
// Async-signal-safe: a program with handlers of its own for SIGINT, SIGTERM or SIGHUP calls it
// there. Where it has none when such a file is created, a handler that calls it and dies of the
// signal is installed.
void remove_named_output_files();

}  // namespace xxl::io
