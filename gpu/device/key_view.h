// Keys as they are read in device memory.
//
// An item is a key word and a value. Records of at most 16 bytes with one numeric key in front are
// items themselves: the key, made unsigned, and the bytes after it. For all others the value is the
// address of the record in device memory, and the key word is the first word of its key; where
// words tie, the next ones are read from the records (KeyView::word). So sorting moves 16 bytes for
// a record, and each record once, at the end.
//
// Records of text lie in device memory as entries, aligned to 8 bytes:
//
//     [u32 key bytes | u32 record bytes][key, padded to 8 bytes][record, padded to 8 bytes]
//
// with kKeyIsRecord instead of the key bytes, and no key, where the record is its own key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device/host_device.h"
#include "record/key_layout.h"

namespace xxl::gpu {

inline constexpr std::uint32_t kKeyIsRecord = ~std::uint32_t{0};
inline constexpr std::size_t kEntryHeaderBytes = 8;

// Head of an entry of text.
struct EntryHeader {
  std::uint32_t key_bytes;
  std::uint32_t record_bytes;
};

inline constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

// Bytes of text in a key word; the last byte of the word says how many of them are there, or that
// the key continues after them. So "a" comes before "a\0", and a word shows whether it is the last.
inline constexpr unsigned kTextWordBytes = 7;
inline constexpr std::uint64_t kTextGoesOn = 8;

// Word of a key of text: `left` bytes of it remain, from `bytes` on.
XXL_HOST_DEVICE inline std::uint64_t text_word(const unsigned char* bytes, std::size_t left) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < kTextWordBytes; ++i) {
    word = word << 8 | (i < left ? bytes[i] : 0);
  }
  return word << 8 | (left > kTextWordBytes ? kTextGoesOn : left);
}

// How the keys of records are read. The arrays are in memory of the device that reads them.
struct KeyView {
  // Part of a numeric field or byte string in a word: KeyLayout::WordPart.
  const KeyLayout::WordPart* segments = nullptr;
  const std::uint32_t* first_segment = nullptr;  // of each word, and of one more
  std::uint32_t words = 1;
  bool text = false;
  bool descending = false;  // text: larger keys first

  // Word `index` of the key of the record at `address`; for text only if the word before went on.
  XXL_HOST_DEVICE std::uint64_t word(std::uint64_t address, std::uint32_t index) const {
    return text ? text_word_of(address, index) : fixed_word_of(address, index);
  }
  // True if keys that agree in all words up to `word`, which is the one of `index`, are equal.
  XXL_HOST_DEVICE bool is_last(std::uint64_t word, std::uint32_t index) const {
    if (!text) return index + 1 >= words;
    return ((descending ? ~word : word) & 0xff) != kTextGoesOn;
  }
  // Three-way comparison of keys whose first words, `first`, are equal.
  XXL_HOST_DEVICE int compare_rest(std::uint64_t first, std::uint64_t a, std::uint64_t b) const {
    if (a == b) return 0;
    std::uint64_t word = first;
    for (std::uint32_t index = 0; !is_last(word, index); ++index) {
      word = this->word(a, index + 1);
      const std::uint64_t other = this->word(b, index + 1);
      if (word != other) return word < other ? -1 : 1;
    }
    return 0;
  }

 private:
  XXL_HOST_DEVICE static std::uint64_t load(const unsigned char* from, unsigned bytes,
                                            bool big_endian) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      value |= static_cast<std::uint64_t>(from[i]) << (8 * (big_endian ? bytes - 1 - i : i));
    }
    return value;
  }

  XXL_HOST_DEVICE std::uint64_t fixed_word_of(std::uint64_t address, std::uint32_t index) const {
    const auto* record = reinterpret_cast<const unsigned char*>(address);
    std::uint64_t result = 0;
    for (std::uint32_t i = first_segment[index]; i < first_segment[index + 1]; ++i) {
      const KeyLayout::WordPart& s = segments[i];
      std::uint64_t value = load(record + s.offset, s.bytes, s.big_endian);
      if (s.is_float) value = order_float(value, s.bytes);
      value ^= s.flip;
      result |= ((value >> s.right_shift) & s.mask) << s.left_shift;
    }
    return result;
  }

  XXL_HOST_DEVICE std::uint64_t text_word_of(std::uint64_t address, std::uint32_t index) const {
    const auto* header = reinterpret_cast<const EntryHeader*>(address);
    const std::uint32_t bytes =
        header->key_bytes == kKeyIsRecord ? header->record_bytes : header->key_bytes;
    const std::size_t done = std::size_t{kTextWordBytes} * index;
    const auto* key = reinterpret_cast<const unsigned char*>(header + 1);
    const std::uint64_t word = text_word(key + done, bytes - done);
    return descending ? ~word : word;
  }

 public:
  // IEEE floats as unsigned numbers of totalOrder.
  XXL_HOST_DEVICE static std::uint64_t order_float(std::uint64_t value, unsigned bytes) {
    const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
    const std::uint64_t all = sign | (sign - 1);
    return (value & sign) != 0 ? ~value & all : value | sign;
  }
  // The inverse.
  XXL_HOST_DEVICE static std::uint64_t restore_float(std::uint64_t value, unsigned bytes) {
    const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
    const std::uint64_t all = sign | (sign - 1);
    return (value & sign) != 0 ? value ^ sign : ~value & all;
  }
};

}  // namespace xxl::gpu
