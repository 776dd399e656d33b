// Timestamps of 96 bits (a day and the nanoseconds in it), which older programs write.
#pragma once

#include <arrow/type.h>
#include <parquet/file_reader.h>

#include <string>

namespace xxl::arrow_module {

// The unit in which 64 bits hold all of them.
class Int96Unit {
 public:
  // Looks at all of a file, which is `path`. Throws Failed, also if no unit is left.
  void look_at(::parquet::ParquetFileReader& file, const std::string& path);

  // Nanoseconds, unless there are times too far from 1970 for these: before 1677 or after 2262.
  ::arrow::TimeUnit::type unit() const {
    return far_.empty() ? ::arrow::TimeUnit::NANO : ::arrow::TimeUnit::MICRO;
  }

 private:
  void look_at(::parquet::RowGroupReader& group, int leaf, const std::string& place);

  // Where there is a value that nanoseconds do not hold, and one that microseconds do not; empty:
  // nowhere.
  std::string far_, fine_;
};

}  // namespace xxl::arrow_module
