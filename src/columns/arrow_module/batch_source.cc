#include "columns/arrow_module/batch_source.h"

#include <arrow/c/bridge.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <system_error>
#include <utility>

#include "columns/arrow_module/failed.h"

namespace xxl::arrow_module {
namespace {

using Batch = std::shared_ptr<::arrow::RecordBatch>;

std::string column_text(const ::arrow::Field& field) {
  return field.type()->ToString() + (field.nullable() ? "" : " not null");
}

// The batches of a source; while one is used, the next one is read.
class SourceStream : public ::arrow::RecordBatchReader {
 public:
  SourceStream(BatchSource& source, std::uint64_t batch_bytes, module_table::Failure& failure)
      : source_(source), batch_bytes_(batch_bytes), failure_(failure) {}
  ~SourceStream() override {
    if (ahead_.valid()) ahead_.wait();
  }

  std::shared_ptr<::arrow::Schema> schema() const override { return source_.schema(); }

  ::arrow::Status ReadNext(Batch* batch) override {
    batch->reset();
    if (ended_) return ::arrow::Status::OK();
    const bool read = guarded(&failure_, [&] {
      *batch = ahead_.valid() ? ahead_.get() : source_.next(batch_bytes_);
      if (*batch != nullptr && source_.reads_ahead()) start_next();
    });
    ended_ = !read || *batch == nullptr;
    return read ? ::arrow::Status::OK() : ::arrow::Status::IOError(failure_.text);
  }

 private:
  void start_next() {
    try {
      ahead_ = std::async(std::launch::async, [this] { return source_.next(batch_bytes_); });
    } catch (const std::system_error&) {
      // No thread: it is read when it is asked for.
    }
  }

  BatchSource& source_;
  const std::uint64_t batch_bytes_;
  module_table::Failure& failure_;
  bool ended_ = false;
  std::future<Batch> ahead_;
};

}  // namespace

void BatchSource::add_schema(const std::string& path,
                             const std::shared_ptr<::arrow::Schema>& schema) {
  if (schema_ == nullptr) {
    first_path_ = path;
    schema_ = schema;
    return;
  }
  const auto fail = [&](const std::string& what) {
    throw Failed(ErrorCode::bad_input,
                 joined({path, what + ": all files must have the columns of " + first_path_}));
  };
  const int columns = std::min(schema->num_fields(), schema_->num_fields());
  for (int i = 0; i < columns; ++i) {
    const ::arrow::Field& own = *schema->field(i);
    const ::arrow::Field& expected = *schema_->field(i);
    const std::string place = "column " + std::to_string(i + 1);
    if (own.name() != expected.name()) {
      fail(place + " is '" + own.name() + "', not '" + expected.name() + "'");
    }
    if (!own.Equals(expected, false)) {
      fail(place + " ('" + own.name() + "') is " + column_text(own) + ", not " +
           column_text(expected));
    }
  }
  if (schema->num_fields() != schema_->num_fields()) {
    fail("has " + std::to_string(schema->num_fields()) + " columns, not " +
         std::to_string(schema_->num_fields()));
  }
}

void BatchRows::begin_part(double row_bytes, std::uint64_t batch_bytes) {
  const double most = static_cast<double>(batch_bytes) / std::max(row_bytes, 1.0);
  rows_ = std::clamp(static_cast<std::int64_t>(most), std::int64_t{1}, rows_);
}

void BatchRows::observe(std::int64_t rows, std::int64_t bytes, std::uint64_t batch_bytes) {
  if (rows == 0) return;
  const double row_bytes = std::max(1.0, static_cast<double>(bytes) / static_cast<double>(rows));
  const auto fitting = static_cast<std::int64_t>(static_cast<double>(batch_bytes) / row_bytes);
  rows_ = std::clamp(fitting, std::int64_t{1}, std::min(kMostRows, rows_ * kMostGrowth));
}

std::int64_t bytes_of(const ::arrow::RecordBatch& batch) {
  const auto bytes = ::arrow::util::ReferencedBufferSize(batch);
  return bytes.ok() ? *bytes : ::arrow::util::TotalBufferSize(batch);
}

void export_stream(BatchSource& source, std::uint64_t batch_bytes, module_table::Failure& failure,
                   ArrowArrayStream* out) {
  auto stream = std::make_shared<SourceStream>(source, batch_bytes, failure);
  check(::arrow::ExportRecordBatchReader(std::move(stream), out), "");
}

}  // namespace xxl::arrow_module
