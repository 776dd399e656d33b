// The value of a field of a record of a fixed size.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "record/record_format.h"

namespace xxl {

inline bool is_float(const KeyField& field) {
  return field.type == KeyType::f32 || field.type == KeyType::f64;
}

inline bool is_signed(const KeyField& field) {
  return field.type == KeyType::i8 || field.type == KeyType::i16 || field.type == KeyType::i32 ||
         field.type == KeyType::i64;
}

// The bits of a number, as a register has them.
inline std::uint64_t load_bits(const KeyField& field, const std::byte* record) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, record + field.offset, field.length);
  return field.big_endian ? __builtin_bswap64(bits) >> (64 - 8 * field.length) : bits;
}

inline __int128 integer_of(const KeyField& field, const std::byte* record) {
  const std::uint64_t bits = load_bits(field, record);
  if (!is_signed(field)) return bits;
  const auto unused = static_cast<int>(64 - 8 * field.length);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

inline double real_of(const KeyField& field, const std::byte* record) {
  const std::uint64_t bits = load_bits(field, record);
  if (field.type == KeyType::f64) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

}  // namespace xxl
