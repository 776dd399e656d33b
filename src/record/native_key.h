// Keys that are one native number, as unsigned numbers of the same order.
#pragma once

#include <cstddef>

#include "base/load.h"
#include "record/key_layout.h"

namespace xxl {

// Whether records of a kind begin with such a number of 4 bytes, or of 8.
constexpr bool is_native32(RecordKind kind) {
  return kind == RecordKind::key32 || kind == RecordKind::pair32;
}
constexpr bool is_native64(RecordKind kind) {
  return kind == RecordKind::key64 || kind == RecordKind::pair64;
}

// The key at the start of `record`, for layouts of the kinds other than generic; `Word` is an
// unsigned type of the key's size, `transform` that of the layout.
template <class Word>
Word native_key(const std::byte* record, KeyTransform transform) {
  Word key = load<Word>(record);
  if (transform.is_float) {
    constexpr Word kSign = Word{1} << (8 * sizeof(Word) - 1);
    key = (key & kSign) != 0 ? ~key : key | kSign;
  }
  return key ^ static_cast<Word>(transform.flip);
}

}  // namespace xxl
