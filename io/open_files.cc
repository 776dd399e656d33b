#include "io/open_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace xxl::io {

std::size_t free_descriptors(std::size_t most) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return most;
  std::size_t free = 0;
  for (rlim_t fd = 0; fd < limit.rlim_cur && free < most; ++fd) {
    if (fcntl(static_cast<int>(fd), F_GETFD) < 0 && errno == EBADF) ++free;
  }
  return free;
}

std::size_t allow_part_files() {
  constexpr std::size_t kMost = 4096;
  constexpr std::size_t kPart = 4;  // of the free descriptors
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  return std::max<std::size_t>(1, free_descriptors(kPart * kMost) / kPart);
}

std::size_t files_to_read_ahead(std::size_t files) {
  constexpr std::size_t kMost = 64;
  constexpr std::size_t kPart = 4;  // of the free descriptors
  const std::size_t most = std::min(files, kMost);
  return std::max<std::size_t>(1, std::min(most, free_descriptors(kPart * most) / kPart));
}

std::size_t files_to_merge(std::size_t files, std::size_t others) {
  const std::size_t free = free_descriptors(files + others);
  return std::max<std::size_t>(2, free - std::min(free, others));
}

StandardInputPlace::StandardInputPlace() : offset_(lseek(STDIN_FILENO, 0, SEEK_CUR)) {}

void StandardInputPlace::restore() const {
  if (offset_ >= 0) lseek(STDIN_FILENO, offset_, SEEK_SET);
}

}  // namespace xxl::io
