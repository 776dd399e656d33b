#include "record/format_key.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace xxl {
namespace {

std::string key_of(const FormatKey& keys, const std::string& record) {
  std::string key;
  keys.append_key(record, KeyExtractor::kWholeKey, key);
  return key;
}

TEST(FormatKey, keys_are_in_the_order_of_the_fields) {
  const std::vector<std::string> specs{"4:f32:desc", "0:i32"};
  const FormatKey keys(parse_record_format("fixed:8", specs, false, ""));
  const auto record = [](std::int32_t integer, float real) {
    std::string bytes(8, ' ');
    std::memcpy(bytes.data(), &integer, 4);
    std::memcpy(bytes.data() + 4, &real, 4);
    return bytes;
  };
  const std::string ordered[] = {record(5, 2.5F), record(-3, -1), record(4, -1), record(-9, -7)};
  for (std::size_t i = 1; i < std::size(ordered); ++i) {
    EXPECT_LT(key_of(keys, ordered[i - 1]), key_of(keys, ordered[i])) << i;
  }
}

TEST(FormatKey, any_part_is_that_of_the_whole) {
  const std::vector<std::string> specs{"3:bytes13", "0:u16"};
  const FormatKey keys(parse_record_format("fixed:20", specs, false, ""));
  const std::string record = "abcdefghijklmnopqrst";
  const std::string whole = key_of(keys, record);
  EXPECT_TRUE(whole.starts_with("defghijklmnop"));
  for (std::size_t from = 0; from <= whole.size() + 1; ++from) {
    for (std::size_t limit = 0; limit <= whole.size() + 1; ++limit) {
      std::string part = "x";
      keys.append_key_part(record, from, limit, part);
      EXPECT_EQ(part, "x" + (from < whole.size() ? whole.substr(from, limit) : ""));
    }
  }
}

TEST(FormatKey, ascending_bytes_are_their_own_key) {
  const auto keys_of = [](const std::vector<std::string>& specs) {
    return FormatKey(parse_record_format("fixed:20", specs, false, ""));
  };
  const FormatKey bytes = keys_of({"3:bytes13"});
  EXPECT_TRUE(bytes.is_in_record());
  EXPECT_EQ(bytes.key_in("abcdefghijklmnopqrst"), "defghijklmnop");
  EXPECT_EQ(key_of(bytes, "abcdefghijklmnopqrst"), "defghijklmnop");
  for (const std::vector<std::string>& specs :
       {std::vector<std::string>{"3:bytes13:desc"}, {"3:u32be"}, {"3:bytes2", "0:bytes1"}}) {
    EXPECT_FALSE(keys_of(specs).is_in_record());
  }
}

}  // namespace
}  // namespace xxl
