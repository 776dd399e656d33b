// Rows of all batches of a stream, as records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "columns/column_memory.h"
#include "columns/column_stream.h"
#include "columns/dictionary_table.h"
#include "columns/row_format.h"
#include "xxl/job.h"
#include "xxl/resources.h"

namespace xxl {

// As of column_sort_options.
struct PushOptions {
  bool in_memory;
  std::function<void(std::uint64_t rows)> on_batch;
  Progress* progress;
  std::uint64_t expected_rows;
};

class RowPusher {
 public:
  // Reads the first batch, which tells how memory is divided. `numbers`: of the values of
  // dictionaries in rows. The references must outlive it.
  RowPusher(BatchReader& reader, const RowFormat& format, PushOptions options,
            const resources& shared, DictionaryNumbers numbers = {});

  const ColumnMemory& memory() const { return memory_; }
  // The rows of the batch that next() is at, from the first one that has not been given; none at
  // the end. What is done with them otherwise is to be skipped, with the bytes of that.
  struct Rest {
    const ColumnView* batch;
    std::size_t first, rows;
  };
  Rest rest();
  void skip(std::size_t rows, std::uint64_t bytes);
  // Some of the next rows, until the next call; none at the end.
  std::span<const std::byte> next();
  // Gives all rows to `put`, some at a time.
  void push(const std::function<void(std::span<const std::byte> records)>& put);
  // From now on next() is called when what on_batch refers to may be gone.
  void tell_no_more() { options_.on_batch = {}; }
  // Once all are pushed.
  DictionaryTables take_dictionaries() { return std::move(dictionaries_); }

 private:
  BatchReader& reader_;
  PushOptions options_;
  bool any_;               // the reader has a batch
  std::size_t first_ = 0;  // of its rows, the next one
  std::uint64_t given_rows_ = 0, given_bytes_ = 0;
  ColumnMemory memory_;
  DictionaryTables dictionaries_;
  RowWriter writer_;
};

}  // namespace xxl
