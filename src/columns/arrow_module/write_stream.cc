#include "columns/arrow_module/write_stream.h"

#include <arrow/c/bridge.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "columns/arrow_module/ahead.h"
#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/part_writer.h"

namespace xxl::arrow_module {
namespace {

// Of the memory of a target, the batches that wait to be written may take one part.
constexpr std::uint64_t kAheadPart = 16;
constexpr std::uint64_t kMostAheadBytes = std::uint64_t{16} << 20;

// The schema and the batches of a stream. Arrow's own import forgets the errno values of failures.
class InputStream {
 public:
  explicit InputStream(ArrowArrayStream* in) : in_(in) {
    ArrowSchema schema{};
    check_call(in_->get_schema(in_, &schema));
    schema_ = check(::arrow::ImportSchema(&schema), "");
  }

  const std::shared_ptr<::arrow::Schema>& schema() const { return schema_; }

  // Null at the end.
  std::shared_ptr<::arrow::RecordBatch> next() {
    ArrowArray array{};
    check_call(in_->get_next(in_, &array));
    if (array.release == nullptr) return nullptr;
    return check(::arrow::ImportRecordBatch(&array, schema_), "");
  }

 private:
  void check_call(int error) {
    if (error == 0) return;
    const char* text = in_->get_last_error(in_);
    throw Failed(ErrorCode::io, text != nullptr ? text : "", text != nullptr ? 0 : error);
  }

  ArrowArrayStream* in_;
  std::shared_ptr<::arrow::Schema> schema_;
};

}  // namespace

module_table::TargetFacts write_stream(const module_table::TargetOptions& options,
                                       ArrowArrayStream* in) {
  InputStream batches(in);
  // Rows are made while those before them are encoded.
  const std::uint64_t ahead_bytes = std::min(options.memory_bytes / kAheadPart, kMostAheadBytes);
  module_table::TargetOptions rest = options;
  rest.memory_bytes -= ahead_bytes;
  PartWriter writer(rest, batches.schema());
  Ahead ahead([&batches] { return batches.next(); }, ahead_bytes);
  while (const auto batch = ahead.take()) writer.write(batch);
  writer.finish();
  return writer.facts();
}

}  // namespace xxl::arrow_module
