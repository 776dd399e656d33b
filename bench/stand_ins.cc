#include "stand_ins.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"

// Space is reserved by fallocate, and before that the file system is asked whether there is room.
// Stand-ins take no space and must not need any: these definitions in a program take the place of
// the C library's. Files grow, and there is always enough.
extern "C" {

int fallocate(int fd, int /*mode*/, off_t offset, off_t bytes) {
  struct stat status;
  if (fstat(fd, &status) != 0) return -1;
  return status.st_size >= offset + bytes ? 0 : ftruncate(fd, offset + bytes);
}

// A file system that has no blocks at all does not count them.
int statvfs(const char* /*path*/, struct statvfs* space) noexcept {
  *space = {};
  return 0;
}

int fstatvfs(int /*fd*/, struct statvfs* space) noexcept {
  *space = {};
  return 0;
}
}

namespace xxl::bench {
namespace {

template <class Change>
void change_file(const std::string& path, int flags, const Change& change) {
  const int fd = open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0600);
  const bool changed = fd >= 0 && change(fd);
  const int error = errno;
  if (fd >= 0) close(fd);
  if (!changed) throw_io_error(error, "cannot write", path);
}

}  // namespace

StandIns::StandIns(const std::string& where, std::uint64_t disks)
    : directory_(where + "/bench-array-XXXXXX") {
  if (mkdtemp(directory_.data()) == nullptr) {
    throw_io_error(errno, "cannot make a directory", where);
  }
  for (std::uint64_t disk = 0; disk < disks; ++disk) {
    scratch_.push_back(directory_ + "/disk" + std::to_string(disk));
    std::filesystem::create_directory(scratch_.back());
  }
}

StandIns::~StandIns() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void StandIns::make_input(std::uint64_t bytes) const {
  change_file(input(), O_CREAT | O_TRUNC,
              [&](int fd) { return ftruncate(fd, static_cast<off_t>(bytes)) == 0; });
}

void StandIns::write_head(std::span<const std::byte> head) const {
  change_file(input(), 0, [&](int fd) {
    return pwrite(fd, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size());
  });
}

}  // namespace xxl::bench
