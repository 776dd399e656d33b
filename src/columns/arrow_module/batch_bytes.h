#pragma once

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <cstdint>

namespace xxl::arrow_module {

// Bytes of memory that the rows of a batch take; of a slice, its part.
inline std::int64_t bytes_of(const ::arrow::RecordBatch& batch) {
  const auto bytes = ::arrow::util::ReferencedBufferSize(batch);
  return bytes.ok() ? *bytes : ::arrow::util::TotalBufferSize(batch);
}

}  // namespace xxl::arrow_module
