#include "columns/arrow_module/write_stream.h"

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columns/arrow_module/ahead.h"
#include "columns/arrow_module/batch_target.h"
#include "columns/arrow_module/failed.h"

namespace xxl::arrow_module {
namespace {

constexpr std::int64_t kRowsOfLook = std::int64_t{1} << 14;  // after which a size is looked at

int column_of(const ::arrow::Schema& schema, const char* name) {
  const int index = schema.GetFieldIndex(name);
  if (index >= 0) return index;
  throw Failed(ErrorCode::usage, std::string("there is no column '") + name + "' to cut parts by");
}

std::unique_ptr<BatchTarget> make_target(const module_table::TargetOptions& options,
                                         const std::shared_ptr<::arrow::Schema>& schema) {
  return options.format == module_table::Format::parquet ? make_parquet_target(options, schema)
                                                         : make_ipc_target(options, schema);
}

// Batches may have different dictionaries. Of a type that is made of another one, what is stored.
std::shared_ptr<::arrow::Scalar> value_of(const ::arrow::Array& values, std::int64_t row) {
  if (values.type_id() == ::arrow::Type::EXTENSION) {
    return value_of(*static_cast<const ::arrow::ExtensionArray&>(values).storage(), row);
  }
  auto value = check(values.GetScalar(row), "");
  if (value->type->id() != ::arrow::Type::DICTIONARY) return value;
  return check(static_cast<const ::arrow::DictionaryScalar&>(*value).GetEncodedValue(), "");
}

// Rows become one file, or one after the other, where PartRules cut them.
class PartWriter {
 public:
  // `options` must outlive it. Throws Failed, as the others.
  PartWriter(const module_table::TargetOptions& options, std::shared_ptr<::arrow::Schema> schema);

  void write(const std::shared_ptr<::arrow::RecordBatch>& batch);
  // Ends the last file.
  void finish();
  const module_table::TargetFacts& facts() const { return facts_; }

 private:
  using Batch = std::shared_ptr<::arrow::RecordBatch>;

  bool in_parts() const { return options_.end_part != nullptr; }
  std::int64_t rows_before_cut(const ::arrow::RecordBatch& batch, std::int64_t row);
  std::int64_t equal_rows(const ::arrow::RecordBatch& batch, std::int64_t row) const;
  bool is_full() const;
  std::string key_of(const ::arrow::RecordBatch& batch, std::int64_t row) const;
  void begin_part();
  void end_part();

  const module_table::TargetOptions& options_;
  const module_table::PartRules& rules_;
  std::shared_ptr<::arrow::Schema> schema_;
  std::vector<int> key_columns_;
  int part_column_ = -1;
  std::unique_ptr<BatchTarget> target_;
  module_table::TargetFacts facts_{};
  std::uint64_t part_ = 0;       // number of the present one
  std::uint64_t part_rows_ = 0;  // of it
  BatchTarget::Written before_;  // of the parts before
  std::string first_key_;
  Batch last_;  // the row before
};

PartWriter::PartWriter(const module_table::TargetOptions& options,
                       std::shared_ptr<::arrow::Schema> schema)
    : options_(options), rules_(options.parts), schema_(std::move(schema)) {
  for (std::uint64_t i = 0; in_parts() && i < options.sorted_by_count; ++i) {
    key_columns_.push_back(column_of(*schema_, options.sorted_by[i].column));
  }
  if (rules_.column != nullptr) part_column_ = column_of(*schema_, rules_.column);
  begin_part();
}

void PartWriter::begin_part() {
  target_ = make_target(options_, schema_);
  part_rows_ = 0;
  first_key_.clear();
}

void PartWriter::end_part() {
  target_->finish();
  facts_.rows += target_->facts().rows;
  facts_.row_groups += target_->facts().row_groups;
  facts_.batches += target_->facts().batches;
  before_.rows += target_->written().rows;
  before_.bytes += target_->written().bytes;
  ++part_;
  if (!in_parts()) return;
  const std::string last_key = part_rows_ > 0 ? key_of(*last_, 0) : "";
  const module_table::PartFacts part{part_rows_, first_key_.c_str(), last_key.c_str()};
  if (!options_.end_part(options_.context, &part)) {
    throw Failed(ErrorCode::io, "the output could not be written");
  }
}

std::string PartWriter::key_of(const ::arrow::RecordBatch& batch, std::int64_t row) const {
  std::string key;
  for (const int column : key_columns_) {
    if (!key.empty()) key.append(", ");
    key.append(value_of(*batch.column(column), row)->ToString());
  }
  return key;
}

// From `row` on, how many have the value of the row before in the column of parts.
std::int64_t PartWriter::equal_rows(const ::arrow::RecordBatch& batch, std::int64_t row) const {
  const ::arrow::Array& values = *batch.column(part_column_);
  const auto options = ::arrow::EqualOptions::Defaults().nans_equal(true);
  if (part_rows_ > 0 &&
      !value_of(*last_->column(part_column_), 0)->Equals(*value_of(values, row), options)) {
    return 0;
  }
  std::int64_t end = row + 1;
  while (end < batch.num_rows() && values.RangeEquals(values, row, row + 1, end, options)) ++end;
  return end - row;
}

// What waits to be written will take as much as what was written for each of its rows. Before
// anything was, it is as much as its memory, which is more.
bool PartWriter::is_full() const {
  const BatchTarget::Written here = target_->written();
  const auto known_rows = static_cast<double>(before_.rows + here.rows);
  const auto waiting_rows = static_cast<double>(part_rows_) - static_cast<double>(here.rows);
  const double waiting =
      known_rows > 0 ? waiting_rows * static_cast<double>(before_.bytes + here.bytes) / known_rows
                     : static_cast<double>(target_->waiting_bytes());
  return part_rows_ > 0 &&
         static_cast<double>(here.bytes) + waiting >= static_cast<double>(rules_.bytes);
}

// From `row` on, how many go to the present part; 0: it has ended.
std::int64_t PartWriter::rows_before_cut(const ::arrow::RecordBatch& batch, std::int64_t row) {
  const std::int64_t rest = batch.num_rows() - row;
  if (rules_.parts != 0) {
    if (part_ + 1 >= rules_.parts) return rest;
    const auto bound = static_cast<std::uint64_t>(static_cast<unsigned __int128>(rules_.rows) *
                                                  (part_ + 1) / rules_.parts);
    const std::uint64_t before = facts_.rows + part_rows_;
    return std::min(rest, static_cast<std::int64_t>(bound - std::min(bound, before)));
  }
  if (part_column_ >= 0) return equal_rows(batch, row);
  if (rules_.bytes == 0) return rest;
  return is_full() ? 0 : std::min(rest, kRowsOfLook);
}

void PartWriter::write(const Batch& batch) {
  for (std::int64_t row = 0; row < batch->num_rows();) {
    const std::int64_t rows = rows_before_cut(*batch, row);
    if (rows == 0) {
      end_part();
      begin_part();
      continue;
    }
    if (part_rows_ == 0) first_key_ = key_of(*batch, row);
    target_->write(rows == batch->num_rows() ? *batch : *batch->Slice(row, rows));
    row += rows;
    part_rows_ += static_cast<std::uint64_t>(rows);
    if (in_parts()) last_ = batch->Slice(row - 1, 1);
  }
}

void PartWriter::finish() {
  end_part();
  while (part_ < rules_.parts) {
    begin_part();
    end_part();
  }
}

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
