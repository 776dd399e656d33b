#include "columns/arrow_module/parquet_source.h"

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "columns/arrow_module/batch_bytes.h"
#include "columns/arrow_module/decoded_types.h"
#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/kept_types.h"
#include "columns/arrow_module/memory.h"
#include "columns/arrow_module/orders.h"
#include "columns/arrow_module/page_sizes.h"
#include "columns/arrow_module/row_group_bounds.h"

namespace xxl::arrow_module {
namespace {

// A page is decompressed as a whole; this is the size that writers aim at.
constexpr std::int64_t kUsualPageBytes = std::int64_t{1} << 20;
// Whose headers are read of a file, at most; where pages are small there are many.
constexpr std::int64_t kMostPages = 100'000;

// Buffers of all columns of a row group together.
constexpr std::int64_t kBuffersBytes = std::int64_t{8} << 20;
constexpr std::int64_t kLeastBufferBytes = std::int64_t{32} << 10;
constexpr std::int64_t kMostBufferBytes = std::int64_t{1} << 20;

// What metadata of usual files take in memory for each of their bytes in the file (9 to 19 were
// measured, with Arrow 26); and once it is known how many column chunks there are, for these.
constexpr std::int64_t kMetadataTimes = 14;
constexpr std::int64_t kKnownMetadataTimes = 3;
constexpr std::int64_t kChunkBytes = 1600;
// At the end of a file: the size of its metadata, and a magic number.
constexpr std::int64_t kTailBytes = 8;
constexpr std::string_view kMagic = "PAR1";

// Makes sure that there is room for the metadata of a file, which are read as a whole.
void check_room_for_metadata(PosixFile& file, const FileIdentity& identity,
                             const std::string& path) {
  char tail[kTailBytes];
  if (identity.bytes < kTailBytes) return;
  check(file.ReadAt(identity.bytes - kTailBytes, kTailBytes, tail), path);
  std::uint32_t stored;  // little-endian, as this machine is
  std::memcpy(&stored, tail, sizeof stored);
  const bool is_parquet = std::string_view(tail, kTailBytes).ends_with(kMagic);
  if (!is_parquet || stored > identity.bytes) return;  // which the library finds
  const std::int64_t bytes = kMetadataTimes * stored;
  check(pool().check_room(bytes),
        joined({path, "metadata of " + std::to_string(bytes >> 20) + " MiB in memory"}));
}

// What they take.
std::int64_t metadata_bytes(const ::parquet::FileMetaData& file) {
  return kKnownMetadataTimes * std::int64_t{file.size()} +
         kChunkBytes * file.num_columns() * file.num_row_groups();
}

// For reading only, of one column.
std::int64_t buffer_bytes(int leaves) {
  return std::clamp(kBuffersBytes / std::max(leaves, 1), kLeastBufferBytes, kMostBufferBytes);
}

// Bytes of a value in memory; 0 if they differ.
std::int64_t fixed_bytes(const ::parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case ::parquet::Type::BYTE_ARRAY:
      return 0;
    case ::parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return std::max(column.type_length(), 16);
    default:
      return 16;
  }
}

// What it takes to read a row group, and its largest row.
class ReadingBytes {
 public:
  // `pages_left`: whose headers may still be read.
  ReadingBytes(const std::string& path, std::atomic<std::uint64_t>& bytes_read,
               std::int64_t& pages_left)
      : path_(path), bytes_read_(bytes_read), pages_left_(pages_left) {}

  void add(const ::parquet::RowGroupMetaData& group) {
    bytes_ = row_bytes_ = 0;
    for (int leaf = 0; leaf < group.num_columns(); ++leaf) {
      add(*group.ColumnChunk(leaf), *group.schema()->Column(leaf), group);
    }
    most_bytes_ = std::max(most_bytes_, bytes_);
    most_row_bytes_ = std::max(most_row_bytes_, row_bytes_);
  }
  std::int64_t bytes() const { return most_bytes_; }
  std::int64_t row_bytes() const { return most_row_bytes_; }
  std::int64_t all_row_bytes() const { return all_row_bytes_; }

 private:
  // Of each column a compressed page, the page, its dictionary, and a buffer. Of large pages there
  // is the one before as well, or values that are copied out of it, and of dictionaries a copy.
  void add(const ::parquet::ColumnChunkMetaData& chunk, const ::parquet::ColumnDescriptor& column,
           const ::parquet::RowGroupMetaData& group) {
    const std::int64_t stored = std::max<std::int64_t>(chunk.total_compressed_size(), 0);
    const std::int64_t decoded = std::max<std::int64_t>(chunk.total_uncompressed_size(), 0);
    bytes_ += std::min(stored, buffer_bytes(group.num_columns()));
    std::int64_t value_bytes = value_bytes_of(decoded, chunk.num_values());
    if (std::max(stored, decoded) > kUsualPageBytes && pages_left_ > 0) {
      const PageSizes pages = page_sizes(file(), chunk);
      pages_left_ -= pages.pages;
      const bool is_stored_as_is = chunk.compression() == ::parquet::Compression::UNCOMPRESSED;
      const std::int64_t times = pages.decoded > kUsualPageBytes ? 2 : 1;
      bytes_ += (is_stored_as_is ? 0 : pages.stored) + times * pages.decoded + 2 * pages.dictionary;
      value_bytes = pages.value_bytes;
    } else {
      bytes_ += std::min(stored, kUsualPageBytes) + std::min(decoded, kUsualPageBytes);
      if (chunk.has_dictionary_page()) bytes_ += std::min(decoded, kUsualPageBytes);
    }
    if (const std::int64_t fixed = fixed_bytes(column)) value_bytes = fixed;
    if (column.max_repetition_level() > 0) {
      value_bytes = std::max(value_bytes, value_bytes_of(decoded, group.num_rows()));
    }
    row_bytes_ += value_bytes;
    // A value of a dictionary may be there many times.
    all_row_bytes_ += chunk.has_dictionary_page()
                          ? std::max(decoded, saturated_product(value_bytes, chunk.num_values()))
                          : decoded;
  }
  static std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
    std::int64_t product;
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    return __builtin_mul_overflow(a, b, &product) ? kMost : std::min(product, kMost);
  }

  PosixFile& file() {
    if (file_ == nullptr) {
      FileIdentity identity;
      const int fd = open_for_reading(path_, identity);
      file_ = std::make_unique<PosixFile>(fd, identity.bytes, path_, bytes_read_);
    }
    return *file_;
  }

  const std::string& path_;
  std::atomic<std::uint64_t>& bytes_read_;
  std::int64_t& pages_left_;
  std::unique_ptr<PosixFile> file_;
  std::int64_t bytes_ = 0, row_bytes_ = 0;  // of the row group
  std::int64_t most_bytes_ = 0, most_row_bytes_ = 0, all_row_bytes_ = 0;
};

bool has_bounds(const ::arrow::DataType& type) {
  using ::arrow::Type;
  if (type.id() == Type::DICTIONARY) {
    return has_bounds(*static_cast<const ::arrow::DictionaryType&>(type).value_type());
  }
  if (type.id() == Type::EXTENSION) {
    return has_bounds(*static_cast<const ::arrow::ExtensionType&>(type).storage_type());
  }
  return ::arrow::is_integer(type.id()) || ::arrow::is_base_binary_like(type.id()) ||
         ::arrow::is_decimal(type.id()) || type.id() == Type::BOOL || type.id() == Type::DATE32 ||
         type.id() == Type::DATE64 || type.id() == Type::TIME32 || type.id() == Type::TIME64 ||
         type.id() == Type::TIMESTAMP || type.id() == Type::DURATION ||
         type.id() == Type::FIXED_SIZE_BINARY;
}

// How values of a column are stored, which says in what order its bounds are.
class StoredType {
 public:
  explicit StoredType(const ::parquet::ColumnDescriptor& column)
      : logical_(column.logical_type()),
        physical_(column.physical_type()),
        converted_(column.converted_type()) {}

  bool operator==(const StoredType& other) const {
    const bool same = (logical_ == nullptr) == (other.logical_ == nullptr) &&
                      (logical_ == nullptr || logical_->Equals(*other.logical_));
    return same && physical_ == other.physical_ && converted_ == other.converted_;
  }

 private:
  std::shared_ptr<const ::parquet::LogicalType> logical_;
  ::parquet::Type::type physical_;
  ::parquet::ConvertedType::type converted_;
};

void decode(::parquet::arrow::SchemaField& field) {
  field.field = decoded(field.field);
  for (::parquet::arrow::SchemaField& child : field.children) decode(child);
}

// From now on the reader gives dictionaries as values. The library has no option for that, as it
// does as the metadata of the file say; but readers of columns are made of this description.
void decode_dictionaries(const ::parquet::arrow::FileReader& reader) {
  auto& manifest = const_cast<::parquet::arrow::SchemaManifest&>(reader.manifest());
  for (::parquet::arrow::SchemaField& field : manifest.schema_fields) decode(field);
}

// What step() returns; what Parquet throws is said of `path`.
template <class Step>
auto of_file(const std::string& path, Step&& step) {
  try {
    return step();
  } catch (const ::parquet::ParquetException& error) {
    throw Failed(ErrorCode::bad_input, joined({path, error.what()}));
  }
}

}  // namespace

ParquetSource::ParquetSource(const std::vector<std::string>& paths, unsigned threads)
    : threads_(threads) {
  examine(paths);
  if (int96_.unit() == int96_unit_) return;
  int96_unit_ = int96_.unit();
  examine(paths);
}

std::unique_ptr<::parquet::arrow::FileReader> ParquetSource::open(const std::string& path,
                                                                  FileIdentity& identity,
                                                                  bool is_examined) {
  const int fd = open_for_reading(path, identity);
  if (!identity.regular) {
    close(fd);
    throw Failed(ErrorCode::usage,
                 joined({path,
                         "is a pipe or a device: a Parquet file is read from its end, so "
                         "that it must be a file"}));
  }
  ::parquet::arrow::FileReaderBuilder builder;
  ::parquet::ReaderProperties properties(&pool());
  properties.enable_buffered_stream();
  properties.set_page_checksum_verification(true);
  auto file = std::make_shared<PosixFile>(fd, identity.bytes, path, bytes_read_);
  if (!is_examined) check_room_for_metadata(*file, identity, path);
  return of_file(path, [&] {
    check(builder.Open(file, properties), path);
    const int leaves = builder.raw_reader()->metadata()->num_columns();
    if (buffer_bytes(leaves) != properties.buffer_size()) {
      // The size of buffers must be known before the reader is made.
      properties.set_buffer_size(buffer_bytes(leaves));
      auto metadata = builder.raw_reader()->metadata();
      builder = {};
      check(builder.Open(file, properties, std::move(metadata)), path);
    }
    ::parquet::ArrowReaderProperties arrow_properties(threads_ > 1);
    arrow_properties.set_pre_buffer(false);
    arrow_properties.set_coerce_int96_timestamp_unit(int96_unit_);
    auto reader = check(builder.memory_pool(&pool())->properties(arrow_properties)->Build(), path);
    decode_dictionaries(*reader);
    return reader;
  });
}

void ParquetSource::examine(const std::vector<std::string>& paths) {
  files_.clear();
  examined_.all_row_bytes = 0;
  set_schema(nullptr);
  for (const std::string& path : paths) {
    of_file(path, [&] { examine(path); });
  }
  set_schema(with_no_orders(*schema(), no_orders_));
}

void ParquetSource::examine(const std::string& path) {
  InputFile file{.path = path, .identity = {}, .groups = {}};
  const auto reader = open(path, file.identity, false);
  std::shared_ptr<::arrow::Schema> schema;
  check(reader->GetSchema(&schema), path);
  const auto metadata = reader->parquet_reader()->metadata();
  add_schema(path, with_kept_types(*decoded(*schema), *metadata->schema()));
  check_types(path, *metadata->schema());
  note_orders(*reader);
  if (int96_unit_ == ::arrow::TimeUnit::NANO) int96_.look_at(*reader->parquet_reader(), path);
  const auto raise = [](std::uint64_t& most, std::int64_t value) {
    most = std::max(most, static_cast<std::uint64_t>(value));
  };
  raise(examined_.metadata_bytes, metadata_bytes(*metadata));
  examined_.columns = static_cast<std::uint64_t>(metadata->num_columns());
  std::int64_t pages_left = kMostPages;
  ReadingBytes reading(path, bytes_read_, pages_left);
  for (int i = 0; i < metadata->num_row_groups(); ++i) {
    const auto group = metadata->RowGroup(i);
    const std::int64_t rows = group->num_rows();
    if (rows < 0) throw Failed(ErrorCode::bad_input, joined({path, "a row group has no size"}));
    const double row_bytes = static_cast<double>(group->total_byte_size()) /
                             static_cast<double>(std::max<std::int64_t>(rows, 1));
    file.groups.push_back({rows, row_bytes, 0, rows});
    reading.add(*group);
  }
  raise(examined_.reading_bytes, reading.bytes());
  raise(examined_.row_bytes, reading.row_bytes());
  examined_.all_row_bytes += static_cast<std::uint64_t>(reading.all_row_bytes());
  files_.push_back(std::move(file));
}

// Types that Arrow's do not tell are those of all files, too.
void ParquetSource::check_types(const std::string& path,
                                const ::parquet::SchemaDescriptor& columns) {
  std::vector<std::string> types = untold_types(columns);
  if (files_.empty()) untold_types_ = types;
  for (std::size_t leaf = 0; leaf < types.size(); ++leaf) {
    if (types[leaf] == untold_types_[leaf]) continue;
    const auto name = [](const std::string& type) { return type.empty() ? "without one" : type; };
    throw Failed(
        ErrorCode::bad_input,
        joined({path, "column '" + columns.Column(static_cast<int>(leaf))->path()->ToDotString() +
                          "' has the logical type " + name(types[leaf]) + ", not " +
                          name(untold_types_[leaf]) + ": all files must have the columns of " +
                          first_path()}));
  }
}

void ParquetSource::note_orders(const ::parquet::arrow::FileReader& reader) {
  const auto metadata = reader.parquet_reader()->metadata();
  for (const ::parquet::arrow::SchemaField& column : reader.manifest().schema_fields) {
    if (!column.is_leaf()) continue;
    const std::string why = why_no_order(*column.field, *metadata, column.column_index);
    if (!why.empty()) no_orders_[column.field->name()] = why;
  }
}

std::unique_ptr<::parquet::arrow::FileReader> ParquetSource::open_again(const InputFile& file) {
  FileIdentity identity;
  auto reader = open(file.path, identity, true);
  if (identity != file.identity ||
      reader->num_row_groups() != static_cast<int>(file.groups.size())) {
    throw Failed(ErrorCode::bad_input, joined({file.path, "was changed or replaced meanwhile"}));
  }
  return reader;
}

// The leaf that is the column `column`, if statistics say something of it; -1 if not.
int ParquetSource::leaf_with_bounds(const std::string& column) const {
  const int index = schema()->GetFieldIndex(column);
  if (index < 0 || is_ordered(*schema()->field(index)) ||
      !has_bounds(*schema()->field(index)->type())) {
    return -1;
  }
  return index;
}

void ParquetSource::leave_out(const module_table::FirstRows& first) {
  const int index = leaf_with_bounds(first.column);
  if (index < 0 || first.limit == 0) return;
  std::vector<RowGroupBounds> bounds;
  std::optional<StoredType> type;
  const auto add_bounds = [&](const InputFile& file) {
    const auto reader = open_again(file);
    const int leaf = reader->manifest().schema_fields.at(index).column_index;
    if (leaf < 0) return false;
    const auto metadata = reader->parquet_reader()->metadata();
    const StoredType own(*metadata->schema()->Column(leaf));
    if (!type) type = own;
    if (own != *type) return false;
    for (int i = 0; i < metadata->num_row_groups(); ++i) {
      bounds.push_back(bounds_of(*metadata->RowGroup(i), leaf));
    }
    return true;
  };
  for (const InputFile& file : files_) {
    if (!of_file(file.path, [&] { return add_bounds(file); })) return;
  }
  const std::vector<bool> left_out = row_groups_to_leave_out(bounds, first);
  auto flag = left_out.begin();
  for (InputFile& file : files_) {
    for (RowGroup& group : file.groups) {
      if (*flag++) group.last = group.first;
    }
  }
}

void ParquetSource::take_share(const module_table::Share& share) {
  std::int64_t rows = 0;
  for (const InputFile& file : files_) {
    for (const RowGroup& group : file.groups) rows += group.read();
  }
  const auto start = [&](std::uint64_t index) {
    return static_cast<std::int64_t>(
        start_of_share(static_cast<std::uint64_t>(rows), index, share.count));
  };
  const std::int64_t begin = start(share.index), end = start(share.index + 1);
  std::int64_t at = 0;
  for (InputFile& file : files_) {
    for (RowGroup& group : file.groups) {
      const std::int64_t first = group.first, count = group.read();
      group.first = first + std::clamp<std::int64_t>(begin - at, 0, count);
      group.last = first + std::clamp<std::int64_t>(end - at, 0, count);
      at += count;
    }
  }
}

module_table::SourceFacts ParquetSource::facts() const {
  module_table::SourceFacts facts = examined_;
  facts.rows_known = 1;
  facts.bytes_read = bytes_read_;
  facts.rows_read = rows_read_;
  for (const InputFile& file : files_) {
    facts.file_bytes += static_cast<std::uint64_t>(file.identity.bytes);
    for (const RowGroup& group : file.groups) {
      facts.rows += static_cast<std::uint64_t>(group.rows);
      ++facts.row_groups;
      facts.rows_left_out += static_cast<std::uint64_t>(group.rows - group.read());
      if (group.read() == 0 && group.rows > 0) ++facts.row_groups_left_out;
    }
  }
  return facts;
}

std::string ParquetSource::place() const {
  return joined({files_[file_].path, "row group " + std::to_string(group_)});
}

// After an error in the row group: the column that has it, found by reading each alone.
std::string ParquetSource::failing_column() {
  const auto metadata = reader_->parquet_reader()->metadata();
  for (int leaf = 0; leaf < metadata->num_columns(); ++leaf) {
    auto batches = reader_->GetRecordBatchReader({static_cast<int>(group_)}, {leaf});
    std::shared_ptr<::arrow::RecordBatch> batch;
    ::arrow::Status status = batches.status();
    do {
      if (status.ok()) status = (*batches)->ReadNext(&batch);
    } while (status.ok() && batch != nullptr);
    if (!status.ok()) return "column " + metadata->schema()->Column(leaf)->path()->ToDotString();
  }
  return "";
}

// Goes on to the next row group that is to be read; false if there is none.
bool ParquetSource::begin_row_group(std::uint64_t wanted_bytes) {
  for (; file_ < files_.size(); ++file_, group_ = 0, reader_.reset()) {
    const InputFile& file = files_[file_];
    const auto is_read = [](const RowGroup& group) { return group.read() > 0; };
    const auto next = std::find_if(file.groups.begin() + static_cast<std::ptrdiff_t>(group_),
                                   file.groups.end(), is_read);
    if (next == file.groups.end()) continue;
    group_ = static_cast<std::size_t>(next - file.groups.begin());
    if (reader_ == nullptr) reader_ = open_again(file);
    batches_ = check(reader_->GetRecordBatchReader({static_cast<int>(group_)}), place());
    batch_rows_.begin_part(next->row_bytes, wanted_bytes);
    group_rows_read_ = 0;
    return true;
  }
  return false;
}

void ParquetSource::check_row_group() const {
  const std::int64_t rows = files_[file_].groups[group_].rows;
  if (group_rows_read_ != rows) {
    throw Failed(ErrorCode::bad_input,
                 joined({place(), "has " + std::to_string(group_rows_read_) + " rows, not the " +
                                      std::to_string(rows) + " that its metadata tell"}));
  }
}

void ParquetSource::end_row_group() {
  batches_.reset();
  ++group_;
}

void ParquetSource::restart() {
  file_ = 0;
  group_ = 0;
  batches_.reset();
  reader_.reset();
  rows_read_ = 0;
}

// Of the next batch of the row group, those that are read. What follows the last of them is not.
std::shared_ptr<::arrow::RecordBatch> ParquetSource::wanted_rows(
    const std::shared_ptr<::arrow::RecordBatch>& batch) {
  const RowGroup& group = files_[file_].groups[group_];
  const std::int64_t count = batch->num_rows();
  const std::int64_t first = std::clamp<std::int64_t>(group.first - group_rows_read_, 0, count);
  const std::int64_t last = std::clamp<std::int64_t>(group.last - group_rows_read_, 0, count);
  group_rows_read_ += count;
  if (group.last < group.rows && group_rows_read_ >= group.last) end_row_group();
  return batch->Slice(first, last - first);
}

std::shared_ptr<::arrow::RecordBatch> ParquetSource::next(std::uint64_t wanted_bytes) {
  for (;;) {
    if (batches_ == nullptr && !begin_row_group(wanted_bytes)) return nullptr;
    reader_->set_batch_size(batch_rows_.rows());
    std::shared_ptr<::arrow::RecordBatch> batch;
    const ::arrow::Status status = batches_->ReadNext(&batch);
    if (!status.ok()) check(status, joined({place(), failing_column()}));
    if (batch == nullptr) {
      check_row_group();
      end_row_group();
      continue;
    }
    batch_rows_.observe(batch->num_rows(), bytes_of(*batch), wanted_bytes);
    batch = wanted_rows(batch);
    if (batch->num_rows() == 0) continue;
    rows_read_ += static_cast<std::uint64_t>(batch->num_rows());
    return batch;
  }
}

}  // namespace xxl::arrow_module
