// A file of columns that is written batch by batch: what Parquet and IPC have in common.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>

#include "columns/files/module_table.h"

namespace xxl::arrow_module {

class BatchTarget {
 public:
  virtual ~BatchTarget() = default;

  virtual void write(const ::arrow::RecordBatch& batch) = 0;
  // Writes the end of the file. Throws Failed, as write().
  virtual void finish() = 0;
  // Rows that have been written, and as how many bytes.
  struct Written {
    std::int64_t rows = 0;
    std::int64_t bytes = 0;
  };
  virtual Written written() const = 0;
  // Memory of the others, which wait, encoded, to be written.
  virtual std::int64_t waiting_bytes() const { return 0; }
  const module_table::TargetFacts& facts() const { return facts_; }

 protected:
  module_table::TargetFacts facts_{};
};

// `options` must outlive the target. Throws Failed.
std::unique_ptr<BatchTarget> make_parquet_target(const module_table::TargetOptions& options,
                                                 const std::shared_ptr<::arrow::Schema>& schema);
std::unique_ptr<BatchTarget> make_ipc_target(const module_table::TargetOptions& options,
                                             const std::shared_ptr<::arrow::Schema>& schema);

}  // namespace xxl::arrow_module
