// How large the pages of a column chunk are, as their headers say.
//
// Metadata of a file do not tell: a page may be as large as its column chunk. Only headers are
// read, which lie before each page:
//
//   [ header ][ page of the dictionary ][ header ][ page ][ header ][ page ] ...
#pragma once

#include <parquet/metadata.h>

#include <cstdint>

#include "columns/arrow_module/posix_files.h"

namespace xxl::arrow_module {

struct PageSizes {
  std::int64_t pages = 0;        // of data
  std::int64_t stored = 0;       // the largest in the file
  std::int64_t decoded = 0;      // the largest of data, not compressed
  std::int64_t dictionary = 0;   // that of the dictionary, likewise
  std::int64_t value_bytes = 0;  // most that a value takes, by the values that share a page
};

// What a value may take, of `values` that take so many bytes together. Writers look at sizes of
// pages after so many values at most.
constexpr std::int64_t kValuesBetweenLooks = 1024;
inline std::int64_t value_bytes_of(std::int64_t bytes, std::int64_t values) {
  return values <= kValuesBetweenLooks ? bytes : bytes / values * kValuesBetweenLooks;
}

// Of the column chunk. Where headers make no sense, which reading will say, all of it is one page.
PageSizes page_sizes(PosixFile& file, const ::parquet::ColumnChunkMetaData& column);

}  // namespace xxl::arrow_module
