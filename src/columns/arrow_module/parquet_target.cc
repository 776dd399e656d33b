// Writes Parquet: row groups of bounded memory, encoded by several threads.
//
// A row group is kept encoded and compressed until it is complete, as its columns lie one after the
// other in the file. It ends with so many rows, or when it takes as much memory as there is.
#include <arrow/extension_type.h>
#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <arrow/util/base64.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "columns/arrow_module/batch_target.h"
#include "columns/arrow_module/compression.h"
#include "columns/arrow_module/decoded_types.h"
#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/kept_types.h"
#include "columns/arrow_module/memory.h"
#include "columns/arrow_module/orders.h"
#include "columns/arrow_module/output.h"

namespace xxl::arrow_module {
namespace {

// Memory of a column grows by doubling, and all may grow at once.
constexpr double kGrowth = 2.5;
// Of that of a row group, what the pages that its columns are at take together, one part.
constexpr std::int64_t kPagesPart = 4;
constexpr std::int64_t kLeastPageBytes = std::int64_t{1} << 16;
// And the values of all dictionaries: their tables take up to 24 times as much. When a dictionary
// is given up, so is its table.
constexpr std::int64_t kDictionariesPart = 64;
constexpr std::int64_t kDictionaryPart = 256;  // of one column
constexpr std::int64_t kLeastDictionaryBytes = std::int64_t{1} << 13;
// Rows that are encoded at once: the memory of a row group is looked at in between.
constexpr std::int64_t kStepRows = std::int64_t{1} << 14;

int leaves_of(const ::arrow::DataType& type) {
  if (type.id() == ::arrow::Type::DICTIONARY) return 1;
  if (type.id() == ::arrow::Type::EXTENSION) {
    return leaves_of(*static_cast<const ::arrow::ExtensionType&>(type).storage_type());
  }
  if (type.num_fields() == 0) return 1;
  int leaves = 0;
  for (const auto& field : type.fields()) leaves += leaves_of(*field->type());
  return leaves;
}

// The leaf that a column of one leaf is.
int leaf_of(const ::arrow::Schema& schema, const std::string& column) {
  const int index = schema.GetFieldIndex(column);
  int leaf = 0;
  for (int i = 0; i < index; ++i) leaf += leaves_of(*schema.field(i)->type());
  return index < 0 ? -1 : leaf;
}

std::vector<::parquet::SortingColumn> sorting_columns(const module_table::TargetOptions& options,
                                                      const ::arrow::Schema& schema) {
  std::vector<::parquet::SortingColumn> columns;
  for (std::uint64_t i = 0; i < options.sorted_by_count; ++i) {
    const module_table::SortedBy& by = options.sorted_by[i];
    const int leaf = leaf_of(schema, by.column);
    // The order of what follows holds only below this one.
    if (leaf < 0 || is_ordered(*schema.GetFieldByName(by.column))) break;
    columns.push_back({leaf, by.descending != 0, by.nulls_first != 0});
  }
  return columns;
}

// What store_schema() of the library would write of the columns that it gets.
std::shared_ptr<::arrow::KeyValueMetadata> metadata_of(const ::arrow::Schema& schema) {
  const auto metadata =
      schema.HasMetadata() ? schema.metadata()->Copy() : ::arrow::key_value_metadata({}, {});
  const auto bytes = check(::arrow::ipc::SerializeSchema(schema, &pool()), "");
  metadata->Append("ARROW:schema", ::arrow::util::base64_encode(bytes->ToString()));
  return metadata;
}

class ParquetTarget : public BatchTarget {
 public:
  ParquetTarget(const module_table::TargetOptions& options,
                const std::shared_ptr<::arrow::Schema>& schema)
      : row_group_rows_(static_cast<std::int64_t>(options.row_group_rows)),
        row_group_bytes_(
            static_cast<std::int64_t>(static_cast<double>(options.memory_bytes) / kGrowth)),
        leaves_(std::max(1, leaves_of(*::arrow::struct_(schema->fields())))),
        output_(std::make_shared<Output>(options)) {
    ::parquet::WriterProperties::Builder properties;
    properties.memory_pool(&encoder_pool_)
        ->compression(codec_of(options.format, options.compression, options.level))
        ->max_row_group_length(row_group_rows_)
        ->data_pagesize(page_bytes())
        ->dictionary_pagesize_limit(dictionary_bytes())
        ->enable_page_checksum()
        ->set_sorting_columns(sorting_columns(options, *schema));
    if (options.level != 0) properties.compression_level(options.level);
    ::parquet::ArrowWriterProperties::Builder arrow_properties;
    arrow_properties.set_use_threads(options.threads > 1);
    open(*schema, properties.build(), arrow_properties.build());
  }

  ~ParquetTarget() override { output_->abandon(); }

  void write(const ::arrow::RecordBatch& batch) override {
    for (std::int64_t row = 0; row < batch.num_rows();) {
      if (is_complete()) begin_row_group();
      const std::int64_t rows =
          std::min({batch.num_rows() - row, kStepRows, row_group_rows_ - group_rows_});
      check(writer_->WriteRecordBatch(*batch.Slice(row, rows)), "");
      row += rows;
      if (group_rows_ == 0) first_bytes_ = encoder_pool_.bytes_allocated();
      group_rows_ += rows;
    }
    facts_.rows += static_cast<std::uint64_t>(batch.num_rows());
  }

  void finish() override {
    check(writer_->Close(), "");
    rows_before_group_ += group_rows_;
  }

  Written written() const override { return {rows_before_group_, check(output_->Tell(), "")}; }
  std::int64_t waiting_bytes() const override { return encoder_pool_.bytes_allocated(); }

 private:
  void open(const ::arrow::Schema& schema,
            const std::shared_ptr<::parquet::WriterProperties>& properties,
            const std::shared_ptr<::parquet::ArrowWriterProperties>& arrow_properties) {
    const auto columns = without_kept_types(schema);
    auto file = ::parquet::ParquetFileWriter::Open(
        output_, file_schema(schema, *properties, *arrow_properties), properties,
        metadata_of(*stored(*columns)));
    check(::parquet::arrow::FileWriter::Make(&encoder_pool_, std::move(file), columns,
                                             arrow_properties, &writer_),
          "");
  }

  // Columns of ever new values fill a dictionary in vain, again in each row group: the smaller
  // these are, the sooner it is given up.
  std::int64_t dictionary_bytes() const {
    const std::int64_t part = std::min(row_group_bytes_ / kDictionaryPart,
                                       row_group_bytes_ / kDictionariesPart / leaves_);
    return std::clamp(part, kLeastDictionaryBytes,
                      std::int64_t{::parquet::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT});
  }

  std::int64_t page_bytes() const {
    return std::clamp(row_group_bytes_ / kPagesPart / leaves_, kLeastPageBytes,
                      std::int64_t{::parquet::kDefaultDataPageSize});
  }

  // Where there are very many columns, what these take from the start says nothing of how much is
  // kept.
  bool is_complete() const {
    if (!in_group_ || group_rows_ == row_group_rows_) return true;
    const std::int64_t most = std::max(row_group_bytes_, first_bytes_ + first_bytes_ / 2);
    return group_rows_ > 0 && encoder_pool_.bytes_allocated() >= most;
  }

  void begin_row_group() {
    check(writer_->NewBufferedRowGroup(), "");
    in_group_ = true;
    rows_before_group_ += group_rows_;
    group_rows_ = 0;
    ++facts_.row_groups;
  }

  const std::int64_t row_group_rows_;
  const std::int64_t row_group_bytes_;
  const std::int64_t leaves_;
  ::arrow::ProxyMemoryPool encoder_pool_{&pool()};
  std::shared_ptr<Output> output_;
  std::unique_ptr<::parquet::arrow::FileWriter> writer_;
  bool in_group_ = false;
  std::int64_t group_rows_ = 0;
  std::int64_t rows_before_group_ = 0;
  std::int64_t first_bytes_ = 0;  // allocated after its first rows
};

}  // namespace

std::unique_ptr<BatchTarget> make_parquet_target(const module_table::TargetOptions& options,
                                                 const std::shared_ptr<::arrow::Schema>& schema) {
  return std::make_unique<ParquetTarget>(options, schema);
}

}  // namespace xxl::arrow_module
