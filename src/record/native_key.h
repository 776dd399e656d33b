// Keys that are one native number, as unsigned numbers of the same order.
#pragma once

#include <cstddef>
#include <cstring>

#include "record/key_layout.h"

namespace xxl {

// The key at the start of `record`, for layouts of the kinds other than generic; `Word` is an
// unsigned type of the key's size, `transform` that of the layout.
template <class Word>
Word native_key(const std::byte* record, KeyTransform transform) {
  Word key;
  std::memcpy(&key, record, sizeof key);
  if (transform.is_float) {
    constexpr Word kSign = Word{1} << (8 * sizeof(Word) - 1);
    key = (key & kSign) != 0 ? ~key : key | kSign;
  }
  return key ^ static_cast<Word>(transform.flip);
}

}  // namespace xxl
