// Space for files that only stand in for those of an array made of memory (docs/memory-array.md).
//
// Scratch and output are reserved by fallocate, and before that the file system is asked whether
// there is room. Stand-ins take no space and must not need any: definitions of these functions in a
// program take the place of the C library's. Files grow, and there is always enough.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

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
