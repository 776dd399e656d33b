#include "time_line_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "report_text.h"

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
    const auto seconds = [&](std::uint64_t time) {
      return decimal_text(static_cast<double>(time - first) * 1e-9, 6);
    };
    std::fprintf(file_, "%s,%s,%s,%s,%ju\n", interval.track.c_str(), interval.what,
                 seconds(interval.start).c_str(), seconds(interval.end).c_str(),
                 static_cast<std::uintmax_t>(interval.bytes));
  }
  std::FILE* const file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0) throw_io_error(errno, "cannot write the time line", path_);
}

}  // namespace xxl::cli
