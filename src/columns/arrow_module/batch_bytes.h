#pragma once

#include <arrow/record_batch.h>

#include <cstdint>

namespace xxl::arrow_module {

// Bytes of memory that the rows of a batch take; of a slice, its part. Dictionaries do not count:
// batches share them, however few rows these have.
std::int64_t bytes_of(const ::arrow::RecordBatch& batch);

// The same with the objects that each column consists of, and what buffers waste.
inline std::int64_t held_bytes(const ::arrow::RecordBatch& batch) {
  constexpr std::int64_t kColumnBytes = 2048;
  return bytes_of(batch) + kColumnBytes * batch.num_columns();
}

}  // namespace xxl::arrow_module
