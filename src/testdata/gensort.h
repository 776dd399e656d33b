// The records of the sort benchmark (sortbenchmark.org), byte for byte as its gensort makes them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace xxl {

inline constexpr std::size_t kGensortRecordBytes = 100;

// gensort counts records with 128 bits.
__extension__ using RecordNumber = unsigned __int128;

struct GensortKind {
  bool ascii = false;   // printable records that end in CR LF, instead of binary ones
  bool skewed = false;  // three quarters of the keys begin with 1 or more bits (binary) or bytes
                        // (ASCII) that they share with the keys of neighbouring record numbers
};

// Writes records first .. first + count - 1 to `out` (count * kGensortRecordBytes bytes). A record
// depends on its number alone. The numbers must not pass 2^128, of skewed records 2^64.
void make_gensort_records(GensortKind kind, RecordNumber first, std::size_t count, std::byte* out);

}  // namespace xxl
