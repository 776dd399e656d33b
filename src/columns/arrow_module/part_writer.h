// Rows become one file, or one after the other, where PartRules cut them.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "columns/arrow_module/batch_target.h"
#include "columns/files/module_table.h"

namespace xxl::arrow_module {

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

}  // namespace xxl::arrow_module
