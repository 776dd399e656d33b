// Rows of all batches of a stream, as records.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "columns/column_memory.h"
#include "columns/column_stream.h"
#include "columns/dictionary_table.h"
#include "columns/row_format.h"
#include "xxl/columns.h"

namespace xxl {

class RowPusher {
 public:
  // Reads the first batch, which tells how memory is divided. The references must outlive it.
  RowPusher(BatchReader& reader, const RowFormat& format, const column_options& options,
            const resources& shared);

  const ColumnMemory& memory() const { return memory_; }
  // Gives the rows to `put`, some at a time, to the last batch.
  void push(const std::function<void(std::span<const std::byte> records)>& put);
  // Once all are pushed.
  DictionaryTables take_dictionaries() { return std::move(dictionaries_); }

 private:
  void push_batch(const std::function<void(std::span<const std::byte> records)>& put);

  BatchReader& reader_;
  const column_options& options_;
  bool any_;  // the reader has a batch
  ColumnMemory memory_;
  DictionaryTables dictionaries_;
  RowWriter writer_;
};

}  // namespace xxl
