#include "record/key_layout.h"

#include <algorithm>

#include "base/error.h"
#include "record/field_value.h"

namespace xxl {
namespace {

constexpr std::uint64_t low_bits(std::size_t bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

// The transformation of the field's bits into an unsigned number of the same order.
KeyTransform transform_of(const KeyField& field) {
  KeyTransform transform;
  const std::size_t bits = 8 * std::min<std::size_t>(field.length, 8);
  if (is_signed(field)) transform.flip = std::uint64_t{1} << (bits - 1);
  transform.is_float = is_float(field);
  if (field.descending) transform.flip ^= low_bits(bits);
  return transform;
}

std::uint64_t load(const std::byte* from, unsigned bytes, bool big_endian) {
  std::uint64_t value = 0;
  switch (bytes) {  // a copy of known size is one instruction
    case 8:
      std::memcpy(&value, from, 8);
      break;
    case 4:
      std::memcpy(&value, from, 4);
      break;
    default:
      std::memcpy(&value, from, bytes);
  }
  return big_endian ? __builtin_bswap64(value) >> (64 - 8 * bytes) : value;
}

// IEEE floats as unsigned numbers of totalOrder: negative ones inverted, positive ones above them.
std::uint64_t order_float(std::uint64_t value, unsigned bytes) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  return (value & sign) != 0 ? ~value & low_bits(8 * bytes) : value | sign;
}

RecordKind kind_of(const RecordFormat& format) {
  if (format.key.size() != 1) return RecordKind::generic;
  const KeyField& field = format.key.front();
  if (field.type == KeyType::bytes || field.big_endian || field.offset != 0) {
    return RecordKind::generic;
  }
  if (field.length == 4 && format.record_bytes == 4) return RecordKind::key32;
  if (field.length == 8 && format.record_bytes == 8) return RecordKind::key64;
  if (field.length == 4 && format.record_bytes == 8) return RecordKind::pair32;
  if (field.length == 8 && format.record_bytes == 16) return RecordKind::pair64;
  return RecordKind::generic;
}

}  // namespace

KeyLayout::KeyLayout(const RecordFormat& format)
    : record_bytes_(format.record_bytes), kind_(kind_of(format)), labels_(format.labels) {
  if (labels_ != nullptr) {
    words_.emplace_back().load = Load::labels;
    return;
  }
  XXL_CHECK(!format.key.empty());
  if (kind_ != RecordKind::generic) transform_ = transform_of(format.key.front());
  const std::size_t key_bytes = format.key_bytes();
  words_.resize((key_bytes + 7) / 8);
  std::size_t position = 0;  // of the field in the key's byte string
  for (const KeyField& field : format.key) {
    const KeyTransform transform = transform_of(field);
    for (std::size_t done = 0; done < field.length;) {
      Word& word = words_[(position + done) / 8];
      const std::size_t place = (position + done) % 8;
      const std::size_t part = std::min(field.length - done, 8 - place);
      const auto left_shift = static_cast<unsigned>(8 * (8 - place - part));
      if (field.type == KeyType::bytes) {
        const std::uint64_t flip = field.descending ? low_bits(8 * part) : 0;
        word.segments.push_back({field.offset + done, static_cast<unsigned>(part), true, false,
                                 flip, 0, left_shift, low_bits(8 * part)});
      } else {
        const auto right_shift = static_cast<unsigned>(8 * (field.length - done - part));
        word.segments.push_back({field.offset, static_cast<unsigned>(field.length),
                                 field.big_endian, transform.is_float, transform.flip, right_shift,
                                 left_shift, low_bits(8 * part)});
      }
      done += part;
    }
    position += field.length;
  }
  for (Word& word : words_) {
    const WordPart& only = word.segments.front();
    if (word.segments.size() == 1 && only.bytes == 8 && !only.is_float && only.right_shift == 0 &&
        only.left_shift == 0) {
      word.load = only.big_endian ? Load::big_endian : Load::little_endian;
      word.offset = only.offset;
      word.flip = only.flip;
    } else if (word.segments.size() == 1 && only.bytes == 4 && !only.big_endian && !only.is_float &&
               only.right_shift == 0 && only.left_shift == 32) {
      word.load = Load::number32;
      word.offset = only.offset;
      word.flip = only.flip << 32;
    }
  }
}

std::uint64_t KeyLayout::slow_word(const std::byte* record, const Word& word) const {
  if (word.load == Load::labels) return labels_->word(record);
  std::uint64_t result = 0;
  for (const WordPart& s : word.segments) {
    std::uint64_t value = load(record + s.offset, s.bytes, s.big_endian);
    if (s.is_float) value = order_float(value, s.bytes);
    value ^= s.flip;
    result |= ((value >> s.right_shift) & s.mask) << s.left_shift;
  }
  return result;
}

}  // namespace xxl
