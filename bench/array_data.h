// Records for an array made of memory: made in it, and checked where a sort has written them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory_files.h"
#include "record/record_format.h"
#include "testdata/record_checksum.h"

namespace xxl::bench {

struct ArrayData {
  // "gensort", "u64", or "lines" of 100 bytes. Throws Error{usage} for others.
  ArrayData(const std::string& kind, std::uint64_t bytes);

  bool is_text() const { return kind == "lines"; }
  std::uint64_t bytes() const { return records * format.record_bytes; }

  std::string kind;
  RecordFormat format;  // of lines: their bytes, but for the newline, are the key
  std::uint64_t records = 0;
};

// Writes the records to `file`, by `threads` threads. Returns the sum of their CRCs. Throws
// Error{no_space} where the pool of the file is too small.
Sum128 make_records(const ArrayData& data, MemoryFile& file, unsigned threads);

// Whether `file` has as many records, in order, with this sum of CRCs.
bool check_records(const ArrayData& data, Sum128 checksum, MemoryFile& file, unsigned threads);

}  // namespace xxl::bench
