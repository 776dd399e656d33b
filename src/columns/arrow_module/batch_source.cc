#include "columns/arrow_module/batch_source.h"

#include <arrow/c/bridge.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include "columns/arrow_module/ahead.h"
#include "columns/arrow_module/batch_bytes.h"
#include "columns/arrow_module/failed.h"

namespace xxl::arrow_module {
namespace {

using Batch = std::shared_ptr<::arrow::RecordBatch>;

std::string column_text(const ::arrow::Field& field) {
  return field.type()->ToString() + (field.nullable() ? "" : " not null");
}

bool has_column(const ::arrow::Schema& schema, std::string_view name) {
  const auto equal = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::ranges::any_of(schema.field_names(), [&](const std::string& each) {
    return std::ranges::equal(each, name, equal);
  });
}

// To other programs a directory NAME=VALUE is a column of the files in and below it, unless these
// have it themselves. Throws Failed.
void check_directories(const std::string& path, const ::arrow::Schema& schema) {
  std::string_view rest = path;
  for (std::size_t end; (end = rest.find('/')) != rest.npos; rest.remove_prefix(end + 1)) {
    const std::string directory(rest.substr(0, end));
    const std::size_t name_bytes = directory.find('=');
    if (name_bytes == directory.npos || name_bytes == 0) continue;
    const std::string name = directory.substr(0, name_bytes);
    if (has_column(schema, name)) continue;
    throw Failed(ErrorCode::usage,
                 joined({path, "the directory " + directory + " stands for a column '" + name +
                                   "', which the file does not have and the output would lose: "
                                   "give files that have the column"}));
  }
}

// The batches of a source, cut into slices; while one is used, the next one is read.
class SourceStream : public ::arrow::RecordBatchReader {
 public:
  SourceStream(BatchSource& source, const module_table::BatchSizes& sizes,
               module_table::Failure& failure)
      : source_(source),
        sizes_(sizes),
        failure_(failure),
        ahead_([this] { return source_.next(sizes_.read_bytes); },
               kAheadBatches * sizes.read_bytes) {}

  std::shared_ptr<::arrow::Schema> schema() const override { return source_.schema(); }

  ::arrow::Status ReadNext(Batch* slice) override {
    slice->reset();
    const bool read = guarded(&failure_, [&] {
      if (is_used_up() && !ended_) next_whole();
      if (!ended_) *slice = next_slice();
    });
    if (read) return ::arrow::Status::OK();
    ended_ = true;
    return ::arrow::Status::IOError(failure_.text);
  }

 private:
  bool is_used_up() const { return whole_ == nullptr || given_rows_ == whole_->num_rows(); }

  void next_whole() {
    whole_.reset();  // before the next one takes memory
    given_rows_ = 0;
    do {
      whole_ = source_.reads_ahead() ? ahead_.take() : source_.next(sizes_.read_bytes);
    } while (whole_ != nullptr && whole_->num_rows() == 0);
    ended_ = whole_ == nullptr;
    if (ended_) return;
    row_bytes_ = static_cast<double>(bytes_of(*whole_)) / static_cast<double>(whole_->num_rows());
  }

  // Rows may be of very different sizes.
  Batch next_slice() {
    const auto most = static_cast<double>(sizes_.given_bytes);
    const auto fitting = static_cast<std::int64_t>(most / std::max(row_bytes_, 1.0));
    std::int64_t rows =
        std::min(std::max(fitting, std::int64_t{1}), whole_->num_rows() - given_rows_);
    Batch slice = whole_->Slice(given_rows_, rows);
    while (rows > 1 && static_cast<double>(bytes_of(*slice)) > kMostOver * most) {
      rows /= 2;
      slice = whole_->Slice(given_rows_, rows);
    }
    given_rows_ += rows;
    return slice;
  }

  static constexpr double kMostOver = 1.25;
  static constexpr std::uint64_t kAheadBatches = 2;

  BatchSource& source_;
  const module_table::BatchSizes sizes_;
  module_table::Failure& failure_;
  bool ended_ = false;
  Batch whole_;  // given out in slices
  std::int64_t given_rows_ = 0;
  double row_bytes_ = 0;
  Ahead ahead_;
};

}  // namespace

void BatchSource::add_schema(const std::string& path,
                             const std::shared_ptr<::arrow::Schema>& schema) {
  check_directories(path, *schema);
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

void BatchRows::begin_part(double row_bytes, std::uint64_t wanted_bytes) {
  const double most = static_cast<double>(wanted_bytes) / std::max(row_bytes, 1.0);
  rows_ = std::clamp(static_cast<std::int64_t>(most), std::int64_t{1}, rows_);
}

void BatchRows::observe(std::int64_t rows, std::int64_t bytes, std::uint64_t wanted_bytes) {
  if (rows == 0) return;
  const double row_bytes = std::max(1.0, static_cast<double>(bytes) / static_cast<double>(rows));
  const auto fitting = static_cast<std::int64_t>(static_cast<double>(wanted_bytes) / row_bytes);
  rows_ = std::clamp(fitting, std::int64_t{1}, std::min(kMostRows, rows_ * kMostGrowth));
}

void export_stream(BatchSource& source, const module_table::BatchSizes& sizes,
                   module_table::Failure& failure, ArrowArrayStream* out) {
  source.restart();
  auto stream = std::make_shared<SourceStream>(source, sizes, failure);
  check(::arrow::ExportRecordBatchReader(std::move(stream), out), "");
}

}  // namespace xxl::arrow_module
