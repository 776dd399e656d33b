// Fields of lines and keys made of them, as join(1) compares them.
#include "record/field_keys.h"

#include <gtest/gtest.h>

#include <clocale>
#include <string>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

using Fields = std::vector<std::string>;

Fields fields_of(std::string_view line, std::optional<char> separator) {
  LineFields fields({separator}, current_byte_classes());
  fields.parse(line);
  Fields found;
  for (std::size_t i = 0; i < fields.size(); ++i) found.emplace_back(fields[i]);
  return found;
}

TEST(LineFields, blanks_separate_and_those_in_front_do_not_count) {
  EXPECT_EQ(fields_of("  ab \t c", std::nullopt), (Fields{"ab", "c"}));
  EXPECT_EQ(fields_of("ab ", std::nullopt), (Fields{"ab", ""}));
  EXPECT_EQ(fields_of("   ", std::nullopt), Fields{});
  EXPECT_EQ(fields_of("", std::nullopt), Fields{});
}

TEST(LineFields, a_separator_stands_between_two_fields) {
  EXPECT_EQ(fields_of(":a::b:", ':'), (Fields{"", "a", "", "b", ""}));
  EXPECT_EQ(fields_of("", ':'), Fields{});
  EXPECT_EQ(fields_of(" a b ", '\n'), Fields{" a b "});
}

std::string key_of_fields(std::string_view line, const FieldKeySpec& spec) {
  std::string key;
  make_field_keys(spec)->append_key(line, KeyExtractor::kWholeKey, key);
  return key;
}

TEST(FieldKeys, equal_fields_have_equal_keys_wherever_they_stand) {
  const FieldKeySpec second{.syntax = {}, .fields = {1}};
  const FieldKeySpec first{.syntax = {':'}, .fields = {0}};
  EXPECT_EQ(key_of_fields("a  xy z", second), key_of_fields("xy:z", first));
  EXPECT_EQ(key_of_fields("a", second), key_of_fields("", first));
  EXPECT_NE(key_of_fields("a xy", second), key_of_fields("x:y", first));
}

TEST(FieldKeys, several_fields_do_not_run_into_each_other) {
  const FieldKeySpec both{.syntax = {':'}, .fields = {1, 0}};
  EXPECT_NE(key_of_fields("a:bc", both), key_of_fields("ca:b", both));
  EXPECT_LT(key_of_fields("z:b", both), key_of_fields("a:bc", both));
  EXPECT_LT(key_of_fields("a:b", both), key_of_fields("b:b", both));
}

TEST(FieldKeys, case_is_ignored_when_asked_for) {
  const FieldKeySpec spec{.syntax = {}, .fields = {0}, .ignore_case = true};
  EXPECT_EQ(key_of_fields("aB", spec), key_of_fields("Ab", spec));
  EXPECT_LT(key_of_fields("a", spec), key_of_fields("B", spec));
}

int sign(int order) {
  return (order > 0) - (order < 0);
}

void compare_random_fields(bool ignore_case) {
  const FieldKeySpec spec{.syntax = {'\n'}, .fields = {0}, .ignore_case = ignore_case};
  const auto keys = make_field_keys(spec);
  const FieldComparison comparison(ignore_case);
  Random random(5);
  const std::string letters = "abABzZ019 -._";
  for (int trial = 0; trial < 5000; ++trial) {
    std::string texts[2], made[2];
    for (int i = 0; i < 2; ++i) {
      for (std::uint64_t n = random.below(5); n > 0; --n) {
        texts[i].push_back(letters[random.below(letters.size())]);
      }
      keys->append_key(texts[i], KeyExtractor::kWholeKey, made[i]);
    }
    EXPECT_EQ(sign(comparison.compare(texts[0], texts[1])), sign(made[0].compare(made[1])))
        << texts[0] << " and " << texts[1];
  }
}

TEST(FieldComparison, is_that_of_keys) {
  compare_random_fields(false);
  compare_random_fields(true);
}

TEST(FieldComparison, is_that_of_keys_in_a_locale_with_rules) {
  if (std::setlocale(LC_ALL, "en_US.UTF-8") == nullptr) GTEST_SKIP() << "no locale en_US.UTF-8";
  compare_random_fields(false);
  compare_random_fields(true);
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace xxl
