#include "record/key_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>

#include "record/field_value.h"

namespace xxl {
namespace {

template <class Number>
std::string number_text(Number number) {
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
  if (field.type == KeyType::bytes) return hexadecimal(record.substr(field.offset, field.length));
  const auto* const bytes = reinterpret_cast<const std::byte*>(record.data());
  if (field.type == KeyType::f32) return number_text(static_cast<float>(real_of(field, bytes)));
  if (field.type == KeyType::f64) return number_text(real_of(field, bytes));
  const __int128 value = integer_of(field, bytes);
  return is_signed(field) ? number_text(static_cast<std::int64_t>(value))
                          : number_text(static_cast<std::uint64_t>(value));
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
