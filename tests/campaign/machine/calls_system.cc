// What the program asks of the system itself, instead of the C library's: its memory and groups,
// and what kind of disk it has.
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "machine.h"
#include "real.h"

namespace {

using namespace xxl::machine;

// What the system says of itself that is not the same each time, as the simulated machine says it:
// no groups and nodes, and memory enough. Null: of this file nothing.
const char* says_of_itself(std::string_view path) {
  if (path == "/proc/meminfo") return "MemAvailable: 16777216 kB\n";
  if (path == "/proc/self/status") return "Umask:\t0022\n";
  if (path == "/proc/self/cgroup" || path == "/sys/devices/system/node/has_cpu") return "";
  return nullptr;
}

std::FILE* open_stream(const char* path, const char* mode) {
  static auto* const real = next_function<std::FILE*(const char*, const char*)>("fopen64");
  const char* const text = machine() != nullptr ? says_of_itself(path) : nullptr;
  if (text == nullptr) return real(path, mode);
  const Inside inside;
  const long fd = real_syscall(SYS_memfd_create, address("says"), MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  real_syscall(SYS_pwrite64, fd, address(text), static_cast<long>(std::strlen(text)), 0);
  return fdopen(static_cast<int>(fd), mode);
}

// With the same free space each time, since messages say how much it is.
void say_disk(struct statfs& status) {
  constexpr std::uint64_t kDiskBytes = std::uint64_t{1} << 40;
  if (status.f_type == TMPFS_MAGIC) status.f_type = EXT4_SUPER_MAGIC;
  status.f_blocks = kDiskBytes / static_cast<std::uint64_t>(status.f_bsize);
  status.f_bfree = status.f_bavail = status.f_blocks / 2;
}

// As the C library makes it.
void fill(struct statvfs& status, const struct statfs& from) {
  status = {};
  status.f_bsize = static_cast<unsigned long>(from.f_bsize);
  status.f_frsize = static_cast<unsigned long>(from.f_frsize != 0 ? from.f_frsize : from.f_bsize);
  status.f_blocks = from.f_blocks;
  status.f_bfree = from.f_bfree;
  status.f_bavail = from.f_bavail;
  status.f_files = from.f_files;
  status.f_ffree = from.f_ffree;
  status.f_favail = from.f_ffree;
  status.f_namemax = static_cast<unsigned long>(from.f_namelen);
}

}  // namespace

extern "C" {

std::FILE* fopen(const char* path, const char* mode) {
  return open_stream(path, mode);
}
std::FILE* fopen64(const char* path, const char* mode) {
  return open_stream(path, mode);
}

int fstatfs(int fd, struct statfs* status) noexcept {
  const long result = real_syscall(SYS_fstatfs, fd, address(status));
  Machine* const m = machine();
  if (result == 0 && m != nullptr && m->disks.find(fd) != nullptr) say_disk(*status);
  return static_cast<int>(with_errno(result));
}
int statfs(const char* path, struct statfs* status) noexcept {
  const long result = real_syscall(SYS_statfs, address(path), address(status));
  if (result == 0 && machine() != nullptr) say_disk(*status);
  return static_cast<int>(with_errno(result));
}
int fstatvfs(int fd, struct statvfs* status) noexcept {
  struct statfs found {};
  const int result = fstatfs(fd, &found);
  if (result == 0) fill(*status, found);
  return result;
}
int statvfs(const char* path, struct statvfs* status) noexcept {
  struct statfs found {};
  const int result = statfs(path, &found);
  if (result == 0) fill(*status, found);
  return result;
}

}  // extern "C"
