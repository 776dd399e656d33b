#include "time_line_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/error.h"

namespace xxl::cli {

void TimeLineFile::write() const {
  if (path_.empty()) return;
  const auto intervals = time_line_.intervals();
  std::uint64_t first = ~std::uint64_t{0};
  for (const auto& interval : intervals) first = std::min(first, interval.start);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "w"),
                                                             std::fclose);
  if (file == nullptr) throw_io_error(errno, "cannot be created", path_);
  std::fputs("track,what,start,end,bytes\n", file.get());
  for (const auto& interval : intervals) {
    std::fprintf(file.get(), "%s,%s,%.6f,%.6f,%ju\n", interval.track.c_str(), interval.what,
                 static_cast<double>(interval.start - first) * 1e-9,
                 static_cast<double>(interval.end - first) * 1e-9,
                 static_cast<std::uintmax_t>(interval.bytes));
  }
  if (std::fflush(file.get()) != 0) throw_io_error(errno, "cannot be written", path_);
}

}  // namespace xxl::cli
