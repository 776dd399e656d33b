#include "record/key_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace xxl {
namespace {

template <class Number>
std::string number_text(const char* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

std::string hexadecimal(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string field_text(const KeyField& field, std::string_view record) {
  std::string bytes(record.substr(field.offset, field.length));
  if (field.type == KeyType::bytes) return hexadecimal(bytes);
  if (field.big_endian) std::reverse(bytes.begin(), bytes.end());  // (this machine is not)
  const char* at = bytes.data();
  switch (field.type) {
    case KeyType::u8:
      return number_text<std::uint8_t>(at);
    case KeyType::u16:
      return number_text<std::uint16_t>(at);
    case KeyType::u32:
      return number_text<std::uint32_t>(at);
    case KeyType::u64:
      return number_text<std::uint64_t>(at);
    case KeyType::i8:
      return number_text<std::int8_t>(at);
    case KeyType::i16:
      return number_text<std::int16_t>(at);
    case KeyType::i32:
      return number_text<std::int32_t>(at);
    case KeyType::i64:
      return number_text<std::int64_t>(at);
    case KeyType::f32:
      return number_text<float>(at);
    case KeyType::f64:
      return number_text<double>(at);
    case KeyType::bytes:
      break;
  }
  return hexadecimal(bytes);
}

}  // namespace

std::function<std::string(std::string_view record)> key_text_of(const RecordFormat& format) {
  static_assert(std::endian::native == std::endian::little);
  if (format.labels != nullptr) return {};
  return [key = format.key](std::string_view record) {
    std::string text;
    for (const KeyField& field : key) {
      if (!text.empty()) text += ',';
      text += field_text(field, record);
    }
    return text;
  };
}

}  // namespace xxl
