#include "report/time_line_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/error.h"
#include "base/same_file.h"
#include "report/report_text.h"

namespace xxl::cli {

namespace {

std::FILE* create(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "wx");
  if (file == nullptr) throw_io_error(errno, "cannot create the time line", path);
  return file;
}

}  // namespace

TimeLineFile::TimeLineFile(const std::string& path, const std::string& output) : path_(path) {
  if (path.empty()) return;
  if (is_same_file(path, output)) {
    throw Error(ErrorCode::usage, "cannot be the time line and the output", path);
  }
  // It is removed again, so that no empty file is left when the work is interrupted.
  std::fclose(create(path));
  std::remove(path.c_str());
}

void TimeLineFile::write() {
  if (path_.empty()) return;
  std::FILE* const file = create(path_);
  const auto intervals = time_line_.intervals();
  std::uint64_t first = ~std::uint64_t{0};
  for (const auto& interval : intervals) first = std::min(first, interval.start);
  std::fputs("track,what,start,end,bytes\n", file);
  for (const auto& interval : intervals) {
    const auto seconds = [&](std::uint64_t time) {
      return decimal_text(static_cast<double>(time - first) * 1e-9, 6);
    };
    std::fprintf(file, "%s,%s,%s,%s,%ju\n", interval.track.c_str(), interval.what,
                 seconds(interval.start).c_str(), seconds(interval.end).c_str(),
                 static_cast<std::uintmax_t>(interval.bytes));
  }
  if (std::fclose(file) != 0) throw_io_error(errno, "cannot write the time line", path_);
}

}  // namespace xxl::cli
