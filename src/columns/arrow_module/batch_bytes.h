#pragma once

#include <arrow/record_batch.h>

#include <cstdint>

namespace xxl::arrow_module {

// Bytes of memory that the rows of a batch take; of a slice, its part. Dictionaries do not count:
// batches share them, however few rows these have.
std::int64_t bytes_of(const ::arrow::RecordBatch& batch);

}  // namespace xxl::arrow_module
