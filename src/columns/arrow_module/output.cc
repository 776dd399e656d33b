#include "columns/arrow_module/output.h"

namespace xxl::arrow_module {

::arrow::Status Output::Close() {
  closed_ = true;
  return ::arrow::Status::OK();
}

::arrow::Status Output::Write(const void* data, std::int64_t bytes) {
  if (bytes == 0 || abandoned_) return ::arrow::Status::OK();
  if (!options_.write(options_.context, data, static_cast<std::uint64_t>(bytes))) {
    return ::arrow::Status::IOError("the output could not be written");
  }
  position_ += bytes;
  return ::arrow::Status::OK();
}

}  // namespace xxl::arrow_module
