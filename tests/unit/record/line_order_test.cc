#include <gtest/gtest.h>

#include "line_order_test_support.h"
#include "record/byte_classes.h"
#include "record/key_span.h"
#include "record/line_order.h"

namespace xxl {
namespace {

using test::line_order_of;
using test::run_sort;
using test::ScopedLocale;

// The message of the error that `action` throws, as the program would print it; empty if none.
template <typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return "sort: " + std::string(error.what()) + "\n";
  }
  return {};
}

void expect_same_message(const char* locale, const std::vector<std::string>& options) {
  const auto expected = run_sort(locale, options, "a\n");
  std::string all;
  for (const auto& option : options) all += " " + option;
  EXPECT_EQ(message_of([&] { make_line_keys(line_order_of(options)); }), expected.errors)
      << "sort" << all << " in " << locale;
}

TEST(LineOrder, malformed_keys_are_refused_with_the_words_of_sort) {
  if (!test::sort_is_the_model()) GTEST_SKIP() << "sort(1) of this machine is not GNU sort";
  for (const char* locale : {"C", "C.UTF-8"}) {
    const ScopedLocale scope(locale);
    for (const char* key : {"x",
                            "0",
                            "1x",
                            "1.",
                            "1.0",
                            "1.x",
                            "1,",
                            "1,0",
                            "1,x",
                            "1,2.",
                            "1.0b",
                            "1,2.0",
                            "99999999999999999999999",
                            "1.99999999999999999999999",
                            "1,99999999999999999999999x",
                            "1,2,3",
                            "1,2n3",
                            "-1",
                            "+1",
                            " 1",
                            "\n1",
                            "1 ",
                            "1b,2b",
                            "1bb",
                            "1.1.1",
                            "1.1nx",
                            "1,2.3x",
                            "1,2.1.",
                            "0,1",
                            "1,1.0x",
                            "1.,2",
                            "1n,",
                            "1n,b",
                            "1\n",
                            "1'",
                            "1\\",
                            "1\a\t",
                            "1\xff",
                            "1é",
                            "1‘’\"?",
                            "1\x7f",
                            "1gn",
                            "1Mh",
                            "1i,1n",
                            "1n,1n",
                            "1d,2iR",
                            "1VR"}) {
      expect_same_message(locale, {std::string("-k") + key});
    }
  }
}

TEST(LineOrder, options_that_exclude_each_other_are_refused_with_the_words_of_sort) {
  if (!test::sort_is_the_model()) GTEST_SKIP() << "sort(1) of this machine is not GNU sort";
  const ScopedLocale scope("C");
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> options;
    const auto letters = [&] {
      std::string text;
      for (std::size_t n = random() % 4; n != 0; --n) text += "bdfghiMnRrV"[random() % 11];
      return text;
    };
    if (const auto text = letters(); !text.empty()) options.push_back("-" + text);
    for (std::size_t n = random() % 3; n != 0; --n) {
      options.push_back("-k1" + letters() + ",2" + letters());
    }
    expect_same_message("C", options);
  }
}

TEST(LineOrder, separators_are_one_byte) {
  if (!test::sort_is_the_model()) GTEST_SKIP() << "sort(1) of this machine is not GNU sort";
  const ScopedLocale scope("C");
  for (const char* separator : {"", "ab", "\\0", "\\", "\\\\", "x", "é", "\xff"}) {
    // An empty -t would take the next word.
    const auto expected = run_sort("C", {"-t", separator}, "a\n");
    EXPECT_EQ(message_of([&] { parse_line_separator(separator); }), expected.errors);
  }
  EXPECT_EQ(parse_line_separator("\\0"), '\0');
}

TEST(LineOrder, words_of_sort_may_be_shortened) {
  EXPECT_EQ(line_sort_letter("general-numeric"), 'g');
  EXPECT_EQ(line_sort_letter("n"), 'n');
  EXPECT_EQ(line_sort_letter("hum"), 'h');
  EXPECT_EQ(line_sort_letter("month"), 'M');
  EXPECT_EQ(line_sort_letter("ran"), 'R');
  EXPECT_EQ(line_sort_letter("v"), 'V');
  if (!test::sort_is_the_model()) GTEST_SKIP() << "sort(1) of this machine is not GNU sort";
  const ScopedLocale scope("C");
  for (const char* word : {"x", "", "nx", "numericc"}) {
    const auto expected = run_sort("C", {std::string("--sort=") + word}, "");
    EXPECT_EQ(
        message_of([&] { line_sort_letter(word); }) + "Try 'sort --help' for more information.\n",
        expected.errors);
  }
}

TEST(LineOrder, obsolescent_keys_count_from_zero) {
  const auto key = [](const char* start, std::optional<std::string_view> end) {
    return parse_obsolescent_line_key(start, end);
  };
  EXPECT_EQ(key("+1", "-2"), parse_line_key("2,2"));
  EXPECT_EQ(key("+1", std::nullopt), parse_line_key("2"));
  EXPECT_EQ(key("+0.2", "-1.1"), parse_line_key("1.3,2.1"));
  EXPECT_EQ(key("+1n", "-3.0b"), parse_line_key("2n,3b"));
  EXPECT_EQ(key("+1x", std::nullopt), std::nullopt);
  EXPECT_EQ(key("+x", "-1x"), std::nullopt);
  EXPECT_EQ(key("+1.", "-2"), std::nullopt);
  EXPECT_EQ(key("file", std::nullopt), std::nullopt);
  if (!test::sort_is_the_model()) GTEST_SKIP() << "sort(1) of this machine is not GNU sort";
  const ScopedLocale scope("C");
  for (const char* end : {"-2x", "-2.", "-2.3x", "-0"}) {
    const auto expected = run_sort("C", {"+1", end}, "");
    EXPECT_EQ(message_of([&] { key("+1", end); }), expected.errors) << end;
  }
}

TEST(LineOrder, obsolescent_keys_order_as_by_sort) {
  if (!test::sort_is_the_model()) GTEST_SKIP() << "sort(1) of this machine is not GNU sort";
  const ScopedLocale scope("C");
  std::mt19937 random(6);
  for (const auto& [start, end] : std::vector<std::pair<const char*, const char*>>{{"+0", "-0"},
                                                                                   {"+0", "-1"},
                                                                                   {"+1", "-2.1"},
                                                                                   {"+0.1", "-1.2"},
                                                                                   {"+1b", "-1.3b"},
                                                                                   {"+1.1r", "-3"},
                                                                                   {"+2", "-1"}}) {
    std::string input, found;
    std::vector<std::string> lines;
    for (int i = 0; i < 200; ++i) {
      std::string line;
      for (std::size_t n = random() % 10; n != 0; --n) line += "ab  c"[random() % 5];
      lines.push_back(line);
      input += line + "\n";
    }
    LineOrder order;
    order.fields.push_back(parse_obsolescent_line_key(start, end).value());
    const auto keys = make_line_keys(order);
    std::stable_sort(lines.begin(), lines.end(), [&](const auto& a, const auto& b) {
      std::string key_a, key_b;
      keys->append_key(a, KeyExtractor::kWholeKey, key_a);
      keys->append_key(b, KeyExtractor::kWholeKey, key_b);
      return key_a < key_b;
    });
    for (const auto& line : lines) found += line + "\n";
    EXPECT_EQ(found, run_sort("C", {start, end}, input).output) << start << " " << end;
  }
}

TEST(LineOrder, keys_without_options_inherit_the_global_ones) {
  const auto keys = resolved_line_keys(line_order_of({"-nr", "-k1", "-k2b", "-k3r"}));
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_TRUE(keys[0].flags.numeric && keys[0].flags.reverse);
  EXPECT_FALSE(keys[1].flags.numeric || keys[1].flags.reverse);
  EXPECT_TRUE(keys[2].flags.reverse && !keys[2].flags.numeric);
  EXPECT_TRUE(resolved_line_keys(line_order_of({"-r"})).empty());
  EXPECT_EQ(resolved_line_keys(line_order_of({"-f"})).size(), 1u);
}

TEST(KeySpan, is_where_sort_finds_the_key) {
  const ScopedLocale scope("C");
  const ByteClasses classes = current_byte_classes();
  const auto span = [&](std::string_view line, const char* key,
                        std::optional<char> separator = {}) {
    return std::string(key_span(line, parse_line_key(key), separator, classes));
  };
  EXPECT_EQ(span("  ab c", "1,1"), "  ab");
  EXPECT_EQ(span("  ab c", "2,2"), " c");
  EXPECT_EQ(span("  ab c", "2b,2"), "c");
  EXPECT_EQ(span("  ab c", "1.2,1.3"), " a");
  EXPECT_EQ(span("  ab c", "1.2b,1.3b"), "b ");
  EXPECT_EQ(span("  ab c", "1.1b,1.3"), "a");
  EXPECT_EQ(span("  ab c", "3"), "");
  EXPECT_EQ(span("  ab c", "2,1"), "");
  EXPECT_EQ(span("a::b", "2,2", ':'), "");
  EXPECT_EQ(span("a::b", "2", ':'), ":b");
  EXPECT_EQ(span("a::b", "3,3", ':'), "b");
  EXPECT_EQ(span("a::b", "1,2.0", ':'), "a:");
  EXPECT_EQ(span(std::string_view("a\0b", 3), "2", '\0'), "b");
  EXPECT_EQ(span("a\nb", "2"), "\nb");
  EXPECT_EQ(span("", "1,1"), "");
  EXPECT_EQ(span("abc", "1.2,1.9"), "bc");
  // Longer than a vector.
  EXPECT_EQ(span(std::string(50, 'x') + "\t" + std::string(40, 'y') + " z", "2,2"),
            "\t" + std::string(40, 'y'));
}

}  // namespace
}  // namespace xxl
