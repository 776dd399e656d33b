// Reads Parquet files with bounded memory: row groups in order, each in slices.
//
// Of a row group there is in memory, for each column, a page, its dictionary and a buffer; and the
// batch that is being made. How large the row group is does not matter. The metadata of a file are
// in memory as a whole: about a KiB for each column of each row group.
#pragma once

#include <parquet/arrow/reader.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "columns/arrow_module/batch_source.h"
#include "columns/arrow_module/int96.h"
#include "columns/arrow_module/posix_files.h"

namespace xxl::arrow_module {

class ParquetSource : public BatchSource {
 public:
  // Examines the files, one after the other; none stays open. Throws Failed.
  ParquetSource(const std::vector<std::string>& paths, unsigned threads);

  void leave_out(const module_table::FirstRows& first) override;
  void take_share(const module_table::Share& share) override;
  void restart() override;
  std::shared_ptr<::arrow::RecordBatch> next(std::uint64_t wanted_bytes) override;
  // Not where a row may take more than batches.
  bool reads_ahead() const override { return examined_.row_bytes <= kMostAheadRowBytes; }
  module_table::SourceFacts facts() const override;

 private:
  struct RowGroup {
    std::int64_t rows;
    double row_bytes;          // encoded, not compressed
    std::int64_t first, last;  // of its rows, [first, last) are read

    std::int64_t read() const { return last - first; }
  };
  struct InputFile {
    std::string path;
    FileIdentity identity;
    std::vector<RowGroup> groups;
  };

  void examine(const std::vector<std::string>& paths);
  void examine(const std::string& path);
  void check_types(const std::string& path, const ::parquet::SchemaDescriptor& columns);
  void note_orders(const ::parquet::arrow::FileReader& reader);
  std::unique_ptr<::parquet::arrow::FileReader> open(const std::string& path,
                                                     FileIdentity& identity, bool is_examined);
  std::unique_ptr<::parquet::arrow::FileReader> open_again(const InputFile& file);
  int leaf_with_bounds(const std::string& column) const;
  bool begin_row_group(std::uint64_t wanted_bytes);
  void check_row_group() const;
  void end_row_group();
  std::shared_ptr<::arrow::RecordBatch> wanted_rows(
      const std::shared_ptr<::arrow::RecordBatch>& batch);
  std::string place() const;
  std::string failing_column();

  static constexpr std::uint64_t kMostAheadRowBytes = std::uint64_t{4} << 20;

  const unsigned threads_;
  ::arrow::TimeUnit::type int96_unit_ = ::arrow::TimeUnit::NANO;
  Int96Unit int96_;  // of what was looked at
  std::vector<InputFile> files_;
  std::vector<std::string> untold_types_;         // of the leaves of all files
  std::map<std::string, std::string> no_orders_;  // columns that have no order, and why
  module_table::SourceFacts examined_{};          // what memory depends on

  // Where reading is.
  std::size_t file_ = 0;
  std::size_t group_ = 0;
  std::unique_ptr<::parquet::arrow::FileReader> reader_;  // of files_[file_]; or null
  std::unique_ptr<::arrow::RecordBatchReader> batches_;   // of that row group; or null
  std::int64_t group_rows_read_ = 0;
  BatchRows batch_rows_;
};

}  // namespace xxl::arrow_module
