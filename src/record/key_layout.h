// Keys as order-preserving words.
//
// Every key is, in concept, one byte string whose memcmp order is the key order: sign bit flipped,
// IEEE floats flipped, little-endian reversed, everything inverted for descending fields, fields
// concatenated. The string is never stored: KeyLayout computes its 8-byte words on demand as
// big-endian numbers. Word 0 is the record's prefix; ties are refined by word 1, 2, ...
//
//   --key=4:u16 --key=0:i32:desc     word 0 = [u16 hi lo][~(i32 ^ 0x80000000)][0 0]
//
// A comparator has no such string: its one word is that of key_labels.h, which is not all of the
// key.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "record/key_labels.h"
#include "record/record_format.h"

namespace xxl {

// How the inner loops hold records of a format.
enum class RecordKind {
  key32,    // 4 bytes, all of it a native-endian numeric key: sorted directly
  key64,    // 8 bytes, likewise
  pair32,   // 8 bytes: a 4-byte numeric key in front, 4 bytes of value: sorted directly
  pair64,   // 16 bytes: an 8-byte numeric key in front, 8 bytes of value: sorted directly
  generic,  // anything: (prefix, pointer) pairs are sorted, records move once
};

// Turns a native numeric key into an unsigned number of the same order, and back.
struct KeyTransform {
  bool is_float = false;
  std::uint64_t flip = 0;  // bits to invert (sign bit of integers; all bits again for descending)
};

class KeyLayout {
 public:
  // A part of a field that lies in one word.
  struct WordPart {
    std::size_t offset;  // of the field in the record (for bytes: of this part)
    unsigned bytes;      // to load: the whole numeric field, or this part of a byte string
    bool big_endian;     // byte strings are big-endian numbers
    bool is_float;
    std::uint64_t flip;    // on the loaded value
    unsigned right_shift;  // drops what belongs to the next word
    unsigned left_shift;   // moves the rest to its place in the word
    std::uint64_t mask;    // what of the value (after right_shift) belongs to this word
  };

  explicit KeyLayout(const RecordFormat& format);

  std::size_t record_bytes() const { return record_bytes_; }
  RecordKind kind() const { return kind_; }
  // For the kinds other than generic.
  KeyTransform transform() const { return transform_; }
  // Number of words of the key, at least 1; the last one is padded with zero bits.
  std::size_t words() const { return words_.size(); }
  // If a comparator is the key, otherwise null.
  KeyLabels* labels() const { return labels_.get(); }
  // Records with equal words have equal keys.
  bool words_are_key() const { return labels_ == nullptr; }
  bool has_key_of_one_word() const { return words() == 1 && words_are_key(); }

  // Word `index` of the key of the record at `record`.
  std::uint64_t word(const std::byte* record, std::size_t index) const {
    const Word& w = words_[index];
    if (w.load <= Load::labels) return slow_word(record, w);
    if (w.load == Load::number32) {
      std::uint32_t half;
      std::memcpy(&half, record + w.offset, sizeof half);
      return (std::uint64_t{half} << 32) ^ w.flip;
    }
    std::uint64_t raw;
    std::memcpy(&raw, record + w.offset, sizeof raw);
    return (w.load == Load::big_endian ? __builtin_bswap64(raw) : raw) ^ w.flip;
  }

  // What word `index` is made of.
  const std::vector<WordPart>& segments(std::size_t index) const { return words_[index].segments; }

  // Three-way comparison of keys: negative, 0 or positive.
  int compare(const std::byte* a, const std::byte* b) const {
    if (!words_are_key()) return labels_->order().compare(a, b);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t x = word(a, i), y = word(b, i);
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  }

 private:
  // A word that is 8 bytes of a byte string, or one whole integer, is loaded at once; so is one
  // that is nothing but an integer of 4 bytes, little-endian.
  enum class Load : std::uint8_t { slow, labels, big_endian, little_endian, number32 };
  struct Word {
    Load load = Load::slow;
    std::size_t offset = 0;
    std::uint64_t flip = 0;
    std::vector<WordPart> segments;
  };

  std::uint64_t slow_word(const std::byte* record, const Word& word) const;

  std::size_t record_bytes_;
  RecordKind kind_ = RecordKind::generic;
  KeyTransform transform_;
  std::vector<Word> words_;
  std::shared_ptr<KeyLabels> labels_;
};

}  // namespace xxl
