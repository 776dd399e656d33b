// Keys of any two binary records by any fields, compared with the fields' own values.
#include <bit>
#include <compare>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "fuzz_input.h"
#include "record/format_key.h"
#include "record/key_layout.h"
#include "record/key_text.h"

namespace xxl {
namespace {

using fuzz::require;

constexpr std::size_t kMostRecordBytes = 4096;

template <class Number, class Bits>
std::strong_ordering compare_numbers(const char* a, const char* b, bool big_endian) {
  const auto load = [&](const char* from) {
    Bits bits;
    std::memcpy(&bits, from, sizeof(bits));
    if (big_endian) {
      Bits swapped = 0;
      for (std::size_t i = 0; i < sizeof(bits); ++i) {
        swapped = static_cast<Bits>(swapped << 8 | (bits >> (8 * i) & 255));
      }
      bits = swapped;
    }
    return std::bit_cast<Number>(bits);
  };
  return std::strong_order(load(a), load(b));
}

std::strong_ordering compare_fields(const KeyField& field, const char* a, const char* b) {
  const bool big = field.big_endian;
  switch (field.type) {
    case KeyType::u8:
      return compare_numbers<std::uint8_t, std::uint8_t>(a, b, big);
    case KeyType::u16:
      return compare_numbers<std::uint16_t, std::uint16_t>(a, b, big);
    case KeyType::u32:
      return compare_numbers<std::uint32_t, std::uint32_t>(a, b, big);
    case KeyType::u64:
      return compare_numbers<std::uint64_t, std::uint64_t>(a, b, big);
    case KeyType::i8:
      return compare_numbers<std::int8_t, std::uint8_t>(a, b, big);
    case KeyType::i16:
      return compare_numbers<std::int16_t, std::uint16_t>(a, b, big);
    case KeyType::i32:
      return compare_numbers<std::int32_t, std::uint32_t>(a, b, big);
    case KeyType::i64:
      return compare_numbers<std::int64_t, std::uint64_t>(a, b, big);
    case KeyType::f32:
      return compare_numbers<float, std::uint32_t>(a, b, big);
    case KeyType::f64:
      return compare_numbers<double, std::uint64_t>(a, b, big);
    case KeyType::bytes:
      return std::memcmp(a, b, field.length) <=> 0;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering compare_records(const RecordFormat& format, const std::string& a,
                                     const std::string& b) {
  for (const KeyField& field : format.key) {
    const auto order = compare_fields(field, a.data() + field.offset, b.data() + field.offset);
    if (order != 0) return field.descending ? 0 <=> order : order;
  }
  return std::strong_ordering::equal;
}

std::string key_of(const FormatKey& keys, const std::string& record) {
  std::string key;
  keys.append_key(record, KeyExtractor::kWholeKey, key);
  return key;
}

void check_records(const RecordFormat& format, const std::string& a, const std::string& b) {
  const auto expected = compare_records(format, a, b);
  const auto bytes = [](const std::string& record) { return std::as_bytes(std::span(record)); };
  require((KeyLayout(format).compare(bytes(a).data(), bytes(b).data()) <=> 0) == expected);
  const FormatKey keys(format);
  require((key_of(keys, a) <=> key_of(keys, b)) == expected);
  // Keys that people read as different ones differ.
  const auto text = key_text_of(format);
  if (expected == 0) require(text(a) == text(b));
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xxl;
  fuzz::Input input(data, size);
  const bool descending = input.choose(2) == 1;
  std::vector<std::string> keys(input.choose(4));
  const std::string record(input.take_until('\x1f'));
  for (std::string& key : keys) key = input.take_until('\x1f');
  RecordFormat format;
  try {
    format = parse_record_format(record, keys, descending, "");
  } catch (const Error& error) {
    fuzz::require(error.code() == ErrorCode::usage);
    return 0;
  }
  if (format.record_bytes > kMostRecordBytes) return 0;
  std::string a(input.rest().substr(0, format.record_bytes));
  std::string b(input.rest().substr(a.size(), format.record_bytes));
  a.resize(format.record_bytes, '\0');
  b.resize(format.record_bytes, '\0');
  check_records(format, a, b);
  return 0;
}
