// A table in files, batch by batch: what Parquet and IPC have in common.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "columns/files/module_table.h"

namespace xxl::arrow_module {

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // That of all files.
  const std::shared_ptr<::arrow::Schema>& schema() const { return schema_; }
  // As ExaminedFiles::leave_out of the table.
  virtual void leave_out(const module_table::FirstRows& /*first*/) {}
  // As ExaminedFiles::take_share of the table. Throws Failed.
  virtual void take_share(const module_table::Share& share) = 0;
  // From the first batch on again. What is no regular file cannot be read again.
  virtual void restart() = 0;
  // The next batch, of about `bytes` where that can be chosen; null at the end. Throws Failed.
  virtual std::shared_ptr<::arrow::RecordBatch> next(std::uint64_t bytes) = 0;
  // Whether batches may be read while those before them are used, which takes more memory.
  virtual bool reads_ahead() const = 0;
  virtual module_table::SourceFacts facts() const = 0;
  // As ExaminedFiles::largest_batch of the table. Throws Failed.
  virtual std::uint64_t largest_batch() const { return 0; }

 protected:
  // Takes the schema of the first file, and compares those of the others with it. Throws Failed
  // that names the column.
  void add_schema(const std::string& path, const std::shared_ptr<::arrow::Schema>& schema);
  // With other metadata, or none, so that the next file is the first one.
  void set_schema(std::shared_ptr<::arrow::Schema> schema) { schema_ = std::move(schema); }
  const std::string& first_path() const { return first_path_; }

  std::atomic<std::uint64_t> bytes_read_ = 0;  // each time
  std::atomic<std::uint64_t> rows_read_ = 0;   // ahead as well

 private:
  std::string first_path_;
  std::shared_ptr<::arrow::Schema> schema_;
};

// Where the share `index` begins, of `units` of anything.
inline std::uint64_t start_of_share(std::uint64_t units, std::uint64_t index, std::uint64_t count) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(units) * index / count);
}

// How many rows make a batch of about so many bytes, from the batches before. Starts small and
// grows slowly: what a row takes once it is decoded is not known beforehand.
class BatchRows {
 public:
  // Before a part of the input whose rows take about `row_bytes` encoded.
  void begin_part(double row_bytes, std::uint64_t wanted_bytes);
  // After a batch.
  void observe(std::int64_t rows, std::int64_t bytes, std::uint64_t wanted_bytes);
  std::int64_t rows() const { return rows_; }

 private:
  static constexpr std::int64_t kFirstRows = 1024;
  static constexpr std::int64_t kMostRows = std::int64_t{1} << 16;
  static constexpr std::int64_t kMostGrowth = 4;

  std::int64_t rows_ = kFirstRows;
};

// `source`, restarted, as a stream of C structures, read some batches ahead if it wants that. If
// the stream fails, `failure` says why. Both must outlive the stream.
void export_stream(BatchSource& source, const module_table::BatchSizes& sizes,
                   module_table::Failure& failure, ArrowArrayStream* out);

}  // namespace xxl::arrow_module
