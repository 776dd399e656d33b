#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "line_order_test_support.h"
#include "record/byte_classes.h"
#include "record/byte_string_key.h"
#include "record/descending_record.h"
#include "record/numeric_key.h"
#include "record/version_key.h"

namespace xxl {
namespace {

using test::line_order_of;
using test::locale_test_name;
using test::run_sort;
using test::ScopedLocale;

std::string key_of(const KeyExtractor& keys, std::string_view line) {
  std::string key;
  keys.append_key(line, KeyExtractor::kWholeKey, key);
  return key;
}

// Order of two lines with options: -1, 0 or 1.
int compare(const std::vector<std::string>& options, std::string_view a, std::string_view b) {
  const auto keys = make_line_keys(line_order_of(options));
  const int order = key_of(*keys, a).compare(key_of(*keys, b)) * (keys->is_descending() ? -1 : 1);
  return order < 0 ? -1 : order > 0;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
    out += two;
  }
  return out;
}

// What sort(1) would print: the lines in the order of their keys.
std::string sorted_by_keys(const LineOrder& order, const std::vector<std::string>& lines,
                           char terminator) {
  const auto keys = make_line_keys(order);
  std::vector<std::pair<std::string, const std::string*>> items;
  for (const std::string& line : lines) items.emplace_back(key_of(*keys, line), &line);
  const bool descending = keys->is_descending();
  std::stable_sort(items.begin(), items.end(), [&](const auto& a, const auto& b) {
    return descending ? b.first < a.first : a.first < b.first;
  });
  std::string out;
  const std::string* last_key = nullptr;
  for (const auto& [key, line] : items) {
    if (order.unique && last_key && *last_key == key) continue;
    last_key = &key;
    out += *line;
    out += terminator;
  }
  return out;
}

using Generator = std::mt19937_64;

const char* pick(Generator& random, std::initializer_list<const char*> words) {
  return words.begin()[random() % words.size()];
}

// Bytes of all kinds, many of them special.
std::string any_text(Generator& random, char terminator) {
  std::string text;
  for (std::size_t i = random() % 12; i != 0; --i) {
    switch (random() % 8) {
      case 0:
        text += static_cast<char>(random() % 256);
        break;
      case 1:
        text += static_cast<char>(random() % 4);
        break;
      case 2:
        text += pick(random, {" ", "  ", "\t", "\n", ",", ":", "\v"});
        break;
      case 3:
        text += pick(random, {"é", "ß", "Ä", "中", "\xff", "\xfe", "\xc3", "\u00a0", "\u202f"});
        break;
      default:
        text += "abABzZ019_-.~"[random() % 13];
    }
  }
  std::erase(text, terminator);
  return text;
}

// Letters, digits and signs of several scripts, and bytes that are no characters.
std::string mixed_text(Generator& random, char terminator) {
  std::string text;
  for (std::size_t i = random() % 12; i != 0; --i) {
    text +=
        pick(random, {"a",  "A",    "b",      "B",    "z",   "ch", "Ch",      "0",      "9",
                      "_",  "-",    ".",      " ",    "\v",  "\2", "é",       "É",      "ß",
                      "ñ",  "«",    "\u00a0", "α",    "ж",   "“",  "—",       "€",      "₫",
                      "中", "ｱ",    "ש",      "ก",    "เ",   "ệ",  "e\u0301", "\u0301", "\u200d",
                      "😀",  "\xff", "\xc3",   "\xe4", "\xf6"});
    if (random() % 60 == 0) text += '\0';
  }
  std::erase(text, terminator);
  return text;
}

// Numbers, and what nearly is one. No NaN: sort(1) compares those by bytes of memory that it does
// not set, so that they may differ from themselves.
std::string number_text(Generator& random, char terminator) {
  std::string text = pick(random, {"", "", "", " ", "\t ", "\n", "x", ",", "\v"});
  text += pick(random, {"", "", "", "-", "+", "--", "- "});
  text += pick(random, {"", "", "", "0", "00", ".", ",", ",,", "0x", "\xff"});
  const std::size_t digits = random() % 40 == 0 ? random() % 400 : random() % 6;
  for (std::size_t i = 0; i < digits; ++i) {
    text += static_cast<char>('0' + (random() % 3 ? random() % 10 : 0));
    if (random() % 8 == 0) text += pick(random, {",", ",,", ".", "\xff", "\x80"});
  }
  text += pick(random, {"", "", "", ".", ",", "..", ".0", ".00"});
  for (std::size_t i = random() % 4; i != 0; --i) {
    text += static_cast<char>('0' + (random() % 2 ? random() % 10 : 0));
  }
  text += pick(random, {"",     "",  "",  "k",  "K",  "M",  "m",   "G",   "T",     "P",
                        "E",    "Z", "Y", "R",  "Q",  "Ki", "e3",  "e-3", "E+2",   "e30",
                        "e-40", "e", "x", ",K", ".K", "p1", "inf", "na",  "e5000", "e-5000"});
  if (random() % 16 == 0) {
    text = pick(random, {"inf", "-inf", "+Infinity", "infi", "-0", "+0", "0x1p3", "-0x.8", "1e",
                         "1e+", "1e400", "-1e400", "1e5000"});
  }
  if (random() % 16 == 0) text += std::string(1, '\0') + "5";
  std::erase(text, terminator);
  return text;
}

std::string version_text(Generator& random, char terminator) {
  std::string text;
  for (std::size_t i = random() % 7; i != 0; --i) {
    text += pick(random, {".",  ".",  "~",  "a",  "b",   "A",    "0",      "00",     "1",  "2",
                          "10", "01", "-",  "_",  " ",   ".tar", ".gz",    "~",      ".~", ".a1",
                          "é",  "\v", "..", ".1", "1.2", "123",  "123456", "000123", "x",  "\xff"});
    if (random() % 40 == 0) text += std::string(1, '\0');
    if (random() % 60 == 0) text += std::string(random() % 300, '7');
  }
  std::erase(text, terminator);
  return text;
}

std::string month_text(Generator& random, char terminator) {
  std::string text = pick(random, {"", "", " ", "\t", "x"});
  text += pick(random, {"jan", "JAN", "Feb", "mar", "mär", "mrz", "Apr",  "may", "MAI",
                        "jun", "jul", "aug", "sep", "okt", "oct", "nov",  "dec", "dez",
                        "",    "ja",  "m",   "Mai", "Mär", "déc", "août", "fév", "juin"});
  text += pick(random, {"", "", "1", " 2", "uary", "x"});
  std::erase(text, terminator);
  return text;
}

using TextMaker = std::string (*)(Generator&, char);

std::string fields_of(Generator& random, TextMaker make, char terminator) {
  std::string line;
  for (std::size_t i = random() % 4; i != 0; --i) {
    line += make(random, terminator);
    line += pick(random, {" ", "\t", ":", ":", "  ", ": "});
  }
  line += make(random, terminator);
  std::erase(line, terminator);
  return line;
}

// Sorts random lines both ways, with each of the sets of options, plainly and with -s, -u, -zr.
void expect_order_of_sort(const char* locale, TextMaker make,
                          const std::vector<std::vector<std::string>>& option_sets) {
  if (!test::sort_is_the_model()) GTEST_SKIP() << "sort(1) of this machine is not GNU sort";
  const ScopedLocale scope(locale);
  if (!scope.ok()) GTEST_SKIP() << "locale " << locale << " is not installed";
  Generator random(7);
  for (const auto& set : option_sets) {
    for (const char* further : {"", "-s", "-u", "-zr"}) {
      auto options = set;
      if (*further) options.emplace_back(further);
      const char terminator = std::strchr(further, 'z') ? '\0' : '\n';
      std::vector<std::string> lines;
      std::string input;
      for (int i = 0; i < 300; ++i) {
        lines.push_back(random() % 2 ? make(random, terminator)
                                     : fields_of(random, make, terminator));
        if (random() % 16 == 0) lines.back() = lines[random() % lines.size()];
        input += lines.back() + terminator;
      }
      const auto expected = run_sort(locale, options, input);
      ASSERT_EQ(expected.status, 0) << expected.errors;
      const std::string found = sorted_by_keys(line_order_of(options), lines, terminator);
      if (found == expected.output) continue;
      std::string all;
      for (const auto& option : options) all += " " + option;
      const auto difference =
          std::mismatch(found.begin(), found.end(), expected.output.begin(), expected.output.end());
      const auto at = static_cast<std::size_t>(difference.first - found.begin());
      const std::size_t line = found.rfind(terminator, at ? at - 1 : 0) + 1;
      ADD_FAILURE() << "sort" << all << " in " << locale << " differs at byte " << at
                    << "\n found    " << ::testing::PrintToString(found.substr(line, 80))
                    << "\n expected " << ::testing::PrintToString(expected.output.substr(line, 80));
    }
  }
}

const std::vector<std::vector<std::string>> kTextOptions = {
    {},
    {"-k1"},
    {"-k2"},
    {"-k2,2"},
    {"-k2b,2"},
    {"-b", "-k2,3"},
    {"-k1.2,1.4"},
    {"-k2.2b,3.1b"},
    {"-k1.2b,2.2"},
    {"-k2.3,2.1"},
    {"-k3,1"},
    {"-k2,2r", "-k1,1"},
    {"-k1,1", "-k2r"},
    {"-t:", "-k2,2"},
    {"-t:", "-k2.2,2.3"},
    {"-t:", "-k2b,2.3b"},
    {"-t:", "-k2,1.1"},
    {"-t:", "-k2,2.0", "-k1"},
    {"-t ", "-k2,2"},
    {"-ta", "-k2"},
    {"-t\\0", "-k2,3r"},
    {"-t\xff", "-k2,2"},
    {"-f"},
    {"-d"},
    {"-i"},
    {"-b"},
    {"-df"},
    {"-if"},
    {"-bf", "-k2,2", "-k1,1i"},
    {"-t:", "-k2,2fr", "-k1d,1"},
    {"-k2df,3", "-k1,1r"},
};

TEST(LineKeys, text_is_ordered_as_by_sort) {
  expect_order_of_sort("C", any_text, kTextOptions);
}

TEST(LineKeys, text_in_a_locale_of_bytes_is_ordered_as_by_sort) {
  expect_order_of_sort("C.UTF-8", any_text, kTextOptions);
}

class Collated : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Locales, Collated,
                         ::testing::Values("en_US.UTF-8", "de_DE.UTF-8", "es_ES.UTF-8",
                                           "cs_CZ.UTF-8", "ja_JP.UTF-8", "th_TH.UTF-8",
                                           "en_US.ISO-8859-1", "cs_CZ.ISO-8859-2"),
                         locale_test_name);

TEST(LineKeys, text_in_a_locale_with_collation_is_ordered_as_by_sort) {
  expect_order_of_sort("en_US.UTF-8", any_text, kTextOptions);
}

// Several options in one set, as this is for all locales.
const std::vector<std::vector<std::string>> kFewTextOptions = {
    {}, {"-k2b,3", "-k1f"}, {"-t:", "-k2,2dfr", "-k1"}, {"-k2,2i", "-k1.2,1.4"}};

TEST_P(Collated, any_bytes_are_ordered_as_by_sort) {
  expect_order_of_sort(GetParam(), any_text, kFewTextOptions);
}

TEST_P(Collated, any_characters_are_ordered_as_by_sort) {
  expect_order_of_sort(GetParam(), mixed_text, kFewTextOptions);
}

class LineKeysIn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Locales, LineKeysIn,
                         ::testing::Values("C", "C.UTF-8", "en_US.UTF-8", "de_DE.UTF-8"),
                         locale_test_name);

TEST_P(LineKeysIn, numbers_are_ordered_as_by_sort) {
  expect_order_of_sort(
      GetParam(), number_text,
      {{"-n"}, {"-k2,2n"}, {"-t:", "-k2n"}, {"-t:", "-k2nr", "-k1n"}, {"-nf"}, {"-k1,1n", "-k2"}});
}

TEST_P(LineKeysIn, numbers_with_units_are_ordered_as_by_sort) {
  expect_order_of_sort(GetParam(), number_text,
                       {{"-h"}, {"-k2,2h"}, {"-t:", "-k2hr", "-k1n"}, {"-hf"}});
}

TEST_P(LineKeysIn, floating_point_numbers_are_ordered_as_by_sort) {
  expect_order_of_sort(GetParam(), number_text,
                       {{"-g"}, {"-k2,2g"}, {"-t:", "-k2gr", "-k1n"}, {"-gf"}});
}

TEST_P(LineKeysIn, months_are_ordered_as_by_sort) {
  expect_order_of_sort(GetParam(), month_text, {{"-M"}, {"-k2,2M"}, {"-t:", "-k2Mr", "-k1f"}});
}

TEST_P(LineKeysIn, versions_are_ordered_as_by_sort) {
  expect_order_of_sort(GetParam(), version_text,
                       {{"-V"}, {"-Vf"}, {"-Vd"}, {"-Vi"}, {"-k2,2V"}, {"-t:", "-k2Vr", "-k1V"}});
}

TEST_P(LineKeysIn, any_bytes_in_any_kind_are_ordered_as_by_sort) {
  expect_order_of_sort(GetParam(), any_text,
                       {{"-n"}, {"-g"}, {"-h"}, {"-M"}, {"-V"}, {"-k1.2V,2"}, {"-k2n", "-k1V"}});
}

TEST_P(LineKeysIn, hashes_are_those_of_sort) {
  if (!test::sort_is_the_model()) GTEST_SKIP() << "sort(1) of this machine is not GNU sort";
  const ScopedLocale scope(GetParam());
  if (!scope.ok()) GTEST_SKIP() << "locale " << GetParam() << " is not installed";
  char source[] = "/tmp/xxl_random_source_XXXXXX";
  const int fd = mkstemp(source);
  ASSERT_GE(fd, 0);
  std::array<std::uint8_t, 16> salt;
  for (std::size_t i = 0; i < salt.size(); ++i) salt[i] = static_cast<std::uint8_t>(37 * i + 11);
  ASSERT_EQ(write(fd, salt.data(), salt.size()), static_cast<ssize_t>(salt.size()));
  close(fd);
  Generator random(3);
  for (const std::vector<std::string>& options : {std::vector<std::string>{"-R"},
                                                  {"-Rr"},
                                                  {"-Rf"},
                                                  {"-Rd"},
                                                  {"-Ru"},
                                                  {"-k2,2R", "-k1R"},
                                                  {"-t:", "-k2,2Rr"},
                                                  {"-VR"},
                                                  {"-Rs"}}) {
    std::vector<std::string> lines;
    std::string input;
    for (int i = 0; i < 500; ++i) {
      lines.push_back(fields_of(random, any_text, '\n'));
      input += lines.back() + '\n';
    }
    auto with_source = options;
    with_source.push_back(std::string("--random-source=") + source);
    const auto expected = run_sort(GetParam(), with_source, input);
    ASSERT_EQ(expected.status, 0) << expected.errors;
    LineOrder order = line_order_of(options);
    order.random_salt = salt;
    EXPECT_EQ(sorted_by_keys(order, lines, '\n'), expected.output) << options.back();
  }
  unlink(source);
}

TEST_P(LineKeysIn, keys_do_not_depend_on_the_limit_but_for_their_end) {
  const ScopedLocale scope(GetParam());
  if (!scope.ok()) GTEST_SKIP() << "locale " << GetParam() << " is not installed";
  Generator random(5);
  std::vector<std::vector<std::string>> sets = kTextOptions;
  for (const char* letter : {"-n", "-h", "-g", "-M", "-V", "-R", "-r", "-fr"}) {
    sets.push_back({letter});
    sets.push_back({"-k2,2", "-k1,1r", letter});
  }
  for (const auto& options : sets) {
    const auto keys = make_line_keys(line_order_of(options));
    for (int i = 0; i < 20; ++i) {
      const std::string line = fields_of(random, i % 2 ? any_text : version_text, '\n');
      const std::string whole = key_of(*keys, line);
      for (std::size_t limit = 0; limit < whole.size() + 3; limit += 1 + limit / 16) {
        std::string key = "front";
        keys->append_key(line, limit, key);
        ASSERT_EQ(key.substr(0, 5), "front");
        key.erase(0, 5);
        ASSERT_GE(key.size(), std::min(limit, whole.size()));
        ASSERT_EQ(hex(key), hex(whole.substr(0, key.size()))) << options.front() << " " << limit;
      }
    }
  }
}

TEST_P(LineKeysIn, parts_of_keys_are_those_of_the_whole_key) {
  const ScopedLocale scope(GetParam());
  if (!scope.ok()) GTEST_SKIP() << "locale " << GetParam() << " is not installed";
  Generator random(6);
  std::string digits(150'000, '7'), text;
  while (text.size() < 150'000) text += any_text(random, '\n');
  const std::string lines[] = {digits + "." + digits,
                               "-" + digits,
                               "a" + digits + "b",
                               text,
                               "ab 12.5 x",
                               std::string(70'000, '\1') + digits,
                               ""};
  for (const char* options : {"-n", "-h", "-V", "-f", "-d", "-fr", "-k1,1", "-r", "-Vr", "-nr"}) {
    const auto keys = sorting_keys(make_line_keys(line_order_of({options})));
    for (const std::string& line : lines) {
      const std::string whole = key_of(*keys, line);
      for (const std::size_t from : {0u, 1u, 9u, 4096u, 65'536u, 75'010u, 120'001u, 400'000u}) {
        for (const std::size_t limit : {0u, 1u, 8u, 1000u, 70'000u, 1'000'000u}) {
          std::string key = "front";
          keys->append_key_part(line, from, limit, key);
          const std::string expected =
              from < whole.size() ? whole.substr(from, limit) : std::string();
          ASSERT_EQ(key.substr(0, 5), "front");
          key.erase(0, 5);
          ASSERT_TRUE(std::string_view(key).substr(0, limit) == expected)
              << options << " " << line.substr(0, 9) << " " << from << " " << limit;
        }
      }
      std::string read;
      const auto reader = keys->read_key(line);
      while (reader->read(1000, read)) continue;
      ASSERT_TRUE(read == whole) << options << " " << line.substr(0, 9);
    }
  }
}

TEST_P(LineKeysIn, a_window_of_a_long_key_takes_little_memory) {
  const ScopedLocale scope(GetParam());
  if (!scope.ok()) GTEST_SKIP() << "locale " << GetParam() << " is not installed";
  const std::string line(8'000'000, 'a');
  for (const char* options : {"-k1,1", "-f", "-d", "-r"}) {
    const auto keys = sorting_keys(make_line_keys(line_order_of({options})));
    if (keys->is_whole_record()) continue;
    std::string key;
    keys->append_key_part(line, 7'000'000, 1000, key);
    EXPECT_GE(key.size(), 1000) << options;
    EXPECT_LT(key.capacity(), 1'000'000) << options;
  }
}

TEST(LineKeys, lines_in_the_order_of_bytes_are_their_own_keys) {
  EXPECT_TRUE(make_line_keys({})->is_whole_record());
  EXPECT_FALSE(make_line_keys({})->is_descending());
  EXPECT_TRUE(make_line_keys(line_order_of({"-r"}))->is_descending());
  EXPECT_TRUE(make_line_keys(line_order_of({"-s"}))->is_whole_record());
  EXPECT_TRUE(make_line_keys(line_order_of({"-k1r"}))->is_descending());
  EXPECT_TRUE(make_line_keys(line_order_of({"-k1"}))->is_whole_record());
  EXPECT_FALSE(make_line_keys(line_order_of({"-f"}))->is_whole_record());
  EXPECT_FALSE(make_line_keys(line_order_of({"-k1,1"}))->is_whole_record());
  EXPECT_FALSE(make_line_keys(line_order_of({"-b"}))->is_whole_record());
}

TEST(LineKeys, keys_of_the_c_locale_are_not_costly_in_full) {
  EXPECT_FALSE(make_line_keys(line_order_of({"-n"}))->is_costly_in_full());
  EXPECT_FALSE(make_line_keys(line_order_of({"-k2,2V"}))->is_costly_in_full());
}

TEST(LineKeys, nan_is_between_what_is_no_number_and_numbers) {
  EXPECT_EQ(compare({"-gs"}, "x", "nan"), -1);
  EXPECT_EQ(compare({"-gs"}, "nan", "-inf"), -1);
  EXPECT_EQ(compare({"-gs"}, "nan", " NaN x"), 0);
  EXPECT_EQ(compare({"-gs"}, "nan", "-nan"), -1);
}

TEST(LineKeys, unique_and_stable_leave_the_last_resort_out) {
  EXPECT_NE(compare({"-n"}, "1", "01"), 0);
  EXPECT_EQ(compare({"-ns"}, "1", "01"), 0);
  EXPECT_EQ(compare({"-nu"}, "1", "01"), 0);
  EXPECT_EQ(compare({"-k2,2"}, "a x", "b x"), -1);
  EXPECT_EQ(compare({"-k2,2", "-r"}, "a x", "b x"), 1);
  EXPECT_EQ(compare({"-k2,2r"}, "a x", "b x"), -1);
}

TEST(LineKeys, the_locale_is_that_of_the_time_they_are_made) {
  std::shared_ptr<const KeyExtractor> keys;
  {
    const ScopedLocale scope("en_US.UTF-8");
    if (!scope.ok()) GTEST_SKIP() << "locale en_US.UTF-8 is not installed";
    keys = make_line_keys({});
    EXPECT_TRUE(keys->is_costly_in_full());
  }
  EXPECT_LT(key_of(*keys, "a"), key_of(*keys, "B"));
  EXPECT_LT(key_of(*keys, "é"), key_of(*keys, "F"));
}

TEST(NumericKey, has_the_documented_form) {
  const ByteClasses classes = current_byte_classes();
  const auto encoded = [&](std::string_view text) {
    std::string key;
    KeyStretch stretch(key, 0, KeyExtractor::kWholeKey);
    append_numeric_key(text, classes, stretch);
    return hex(key);
  };
  EXPECT_EQ(encoded("0"), "80");
  EXPECT_EQ(encoded("-0.00"), "80");
  EXPECT_EQ(encoded("abc"), "80");
  EXPECT_EQ(encoded("12.5"), "a21964");
  EXPECT_EQ(encoded("-12.5"), "5de69b");
  EXPECT_EQ(encoded(" 0012.500"), "a21964");
}

TEST(VersionKey, its_start_is_a_start_wherever_a_piece_of_it_ends) {
  for (std::size_t letters = 490; letters < 520; ++letters) {
    const std::string text = std::string(letters, 'x') + "1234567.8b9c" + std::string(600, 'y');
    std::string key, start;
    KeyStretch whole(key, 0, KeyExtractor::kWholeKey), stretch(start, 0, 35);
    append_version_key(text, whole);
    append_version_key(text, stretch);
    EXPECT_GE(start.size(), 35);
    EXPECT_TRUE(key.starts_with(start)) << letters;
  }
}

TEST(VersionKey, zero_at_the_end_is_no_difference) {
  const auto encoded = [](std::string_view text) {
    std::string key;
    KeyStretch stretch(key, 0, KeyExtractor::kWholeKey);
    append_version_key(text, stretch);
    return key;
  };
  EXPECT_EQ(hex(encoded("a2")), "04200501140303");
  EXPECT_EQ(encoded("a"), encoded("a0"));
  EXPECT_LT(encoded("a0~"), encoded("a"));
  EXPECT_LT(encoded("a"), encoded("a0b"));
  EXPECT_LT(encoded("a2.txt"), encoded("a10.txt"));
}

TEST(ByteStringKey, ends_before_every_continuation) {
  const auto encoded = [](std::string text) {
    delimit_byte_string(text, 0);
    return hex(text);
  };
  EXPECT_EQ(encoded("a"), "6100");
  EXPECT_EQ(encoded(std::string("a\0", 2)), "61010100");
  EXPECT_EQ(encoded("a\1"), "61010200");
  EXPECT_EQ(encoded("a\2"), "610200");
}

}  // namespace
}  // namespace xxl
