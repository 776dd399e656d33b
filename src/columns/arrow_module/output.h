// The file that is written, as Arrow sees it: bytes that the program takes.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>

#include "columns/files/module_table.h"

namespace xxl::arrow_module {

// Hands what is written to TargetOptions::write.
class Output : public ::arrow::io::OutputStream {
 public:
  explicit Output(const module_table::TargetOptions& options) : options_(options) {}

  // From now on all that is written is dropped: writers that are destroyed after a failure still
  // end their files.
  void abandon() { abandoned_ = true; }

  ::arrow::Status Close() override {
    closed_ = true;
    return ::arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  ::arrow::Result<std::int64_t> Tell() const override { return position_; }
  using ::arrow::io::OutputStream::Write;
  ::arrow::Status Write(const void* data, std::int64_t bytes) override {
    if (bytes == 0 || abandoned_) return ::arrow::Status::OK();
    if (!options_.write(options_.context, data, static_cast<std::uint64_t>(bytes))) {
      return ::arrow::Status::IOError("the output could not be written");
    }
    position_ += bytes;
    return ::arrow::Status::OK();
  }

 private:
  const module_table::TargetOptions& options_;
  std::int64_t position_ = 0;
  bool closed_ = false;
  bool abandoned_ = false;
};

}  // namespace xxl::arrow_module
