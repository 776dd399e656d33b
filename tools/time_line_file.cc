#include "time_line_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.h"

namespace xxl::cli {

TimeLineFile::TimeLineFile(const std::string& path) : path_(path) {
  if (path.empty()) return;
  file_ = std::fopen(path.c_str(), "wx");
  if (file_ == nullptr) throw_io_error(errno, "cannot create the time line", path);
}

TimeLineFile::~TimeLineFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(path_.c_str());
}

void TimeLineFile::write() {
  if (file_ == nullptr) return;
  const auto intervals = time_line_.intervals();
  std::uint64_t first = ~std::uint64_t{0};
  for (const auto& interval : intervals) first = std::min(first, interval.start);
  std::fputs("track,what,start,end,bytes\n", file_);
  for (const auto& interval : intervals) {
    std::fprintf(file_, "%s,%s,%.6f,%.6f,%ju\n", interval.track.c_str(), interval.what,
                 static_cast<double>(interval.start - first) * 1e-9,
                 static_cast<double>(interval.end - first) * 1e-9,
                 static_cast<std::uintmax_t>(interval.bytes));
  }
  std::FILE* const file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0) throw_io_error(errno, "cannot write the time line", path_);
}

}  // namespace xxl::cli
