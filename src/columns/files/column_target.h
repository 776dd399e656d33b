// A file of columns that is written: complete in its place at the end, or not at all.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "columns/files/module_table.h"
#include "io/file.h"
#include "io/output_file.h"

namespace xxl {

class ColumnTarget {
 public:
  // Opens `path`, "-" being standard output. `scratch_dirs`: as of io::OutputFile. Throws Error.
  ColumnTarget(const std::string& path, const std::vector<std::string>& scratch_dirs);

  // True for a pipe, a device or standard output.
  bool is_stream() const { return !file_; }

  // Writes all rows of `in`, which it releases. `options` without `write` and `context`. Throws
  // Error; then nothing has appeared.
  module_table::TargetFacts write(module_table::TargetOptions options, ArrowArrayStream* in);
  // Makes the file appear. Throws Error.
  void publish();

  std::uint64_t bytes_written() const { return bytes_; }
  // True if an existing file was written in place. After publish().
  bool in_place() const { return file_ && file_->in_place(); }

 private:
  static bool take(void* self, const void* data, std::uint64_t bytes);

  std::string path_;
  std::optional<io::OutputFile> file_;
  io::File stream_;
  std::atomic<std::uint64_t> bytes_ = 0;  // read while it grows
  std::exception_ptr failed_;             // what the writing of bytes threw
};

// The format of `path`: a stream where it is written to a pipe or named .arrows, else a file.
module_table::Format ipc_format_of(const std::string& path);

}  // namespace xxl
