// The key of an order (xxl/order.h), as the library says it.
#pragma once

#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "record/record_format.h"
#include "xxl/order.h"

namespace xxl::detail {

inline KeyType key_type(const KeyPart& part) {
  constexpr KeyType kUnsigned[] = {KeyType::u8, KeyType::u16, KeyType::u32, KeyType::u64};
  constexpr KeyType kSigned[] = {KeyType::i8, KeyType::i16, KeyType::i32, KeyType::i64};
  const auto log2 = static_cast<std::size_t>(std::countr_zero(part.bytes));
  switch (part.kind) {
    case KeyPartKind::unsigned_integer:
      return kUnsigned[log2];
    case KeyPartKind::signed_integer:
      return kSigned[log2];
    case KeyPartKind::floating:
      return part.bytes == sizeof(float) ? KeyType::f32 : KeyType::f64;
    case KeyPartKind::bytes:
      break;
  }
  return KeyType::bytes;
}

inline std::vector<KeyField> key_fields(std::span<const KeyPart> parts) {
  std::vector<KeyField> fields;
  for (const KeyPart& part : parts) {
    fields.push_back({.offset = part.offset,
                      .length = part.bytes,
                      .type = key_type(part),
                      .descending = part.descending});
  }
  return fields;
}

}  // namespace xxl::detail
