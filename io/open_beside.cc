#include "io/open_beside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/error.h"

namespace xxl::io {
namespace {

// Asking the system call for the umask sets it, for all threads.
mode_t current_umask() {
  std::ifstream status("/proc/self/status");
  for (std::string field; status >> field;) {
    if (field == "Umask:" && status >> field) return static_cast<mode_t>(std::stoul(field, {}, 8));
  }
  return 077;
}

// Whether files in the directory have no access control lists.
bool lacks_access_lists(const File& directory) {
  const std::string path = descriptor_path(directory.fd());
  return getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) < 0 && errno == EOPNOTSUPP;
}

}  // namespace

std::string descriptor_path(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

File open_directory(const std::string& directory, bool& can_sync) {
  int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  can_sync = fd >= 0;
  if (fd < 0 && errno == EACCES) fd = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    throw Error(ErrorCode::io, "cannot open this directory", directory, Error::kNoOffset, errno,
                Operation::open_output);
  }
  return {fd, directory, false};
}

// A directory that may not be opened is usually synced with the file, in the same transaction. Some
// file systems cannot sync directories; they do it by themselves, or not at all.
void sync_directory(const File& directory, bool can_sync, const File& file) {
  if (fsync(can_sync ? directory.fd() : file.fd()) == 0 || errno == EINVAL) return;
  throw_io_error(errno,
                 "the output is complete and in its place, but this directory cannot be synced: it "
                 "may not survive a power failure",
                 directory.path());
}

// Nothing throws once the file is open. It could not be named later if /proc were not mounted.
int open_unnamed_beside(const File& directory, mode_t mode, bool is_new) {
  if (access("/proc/self/fd", F_OK) != 0) return -1;
  // Kernels before 5.19 forget the umask where there are no access control lists.
  if (is_new && lacks_access_lists(directory)) mode &= ~current_umask();
  return openat(directory.fd(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

int link_unnamed(int fd, const File& directory, const char* name) {
  const std::string source = descriptor_path(fd);
  const int result = linkat(AT_FDCWD, source.c_str(), directory.fd(), name, AT_SYMLINK_FOLLOW);
  return result == 0 ? 0 : errno;
}

}  // namespace xxl::io
