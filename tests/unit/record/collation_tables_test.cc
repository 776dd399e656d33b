#include "record/collation_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "line_order_test_support.h"

namespace xxl {
namespace {

constexpr std::size_t kWholeKey = ~std::size_t{0};

using Generator = std::mt19937_64;

struct NamedLocale {
  explicit NamedLocale(const char* name) : handle(newlocale(LC_ALL_MASK, name, nullptr)) {}
  ~NamedLocale() {
    if (handle) freelocale(handle);
  }
  NamedLocale(const NamedLocale&) = delete;
  NamedLocale& operator=(const NamedLocale&) = delete;

  locale_t handle;
};

std::string key_of(const CollationTables& tables, std::string_view text) {
  std::string key;
  tables.append(text, key);
  return key;
}

std::string utf8_of(char32_t c) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f))};
  if (c < 0x10000) {
    return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
  }
  return {byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f)), byte(0x80 | (c >> 6 & 0x3f)),
          byte(0x80 | (c & 0x3f))};
}

// A character of one of many scripts, or a byte that may be none; half of them ASCII.
std::string any_character(Generator& random) {
  static constexpr std::pair<char32_t, char32_t> kBlocks[] = {
      {0x80, 0x17f},     {0x250, 0x2af},   {0x300, 0x36f},     {0x370, 0x3ff},
      {0x400, 0x4ff},    {0x590, 0x5ff},   {0x600, 0x6ff},     {0x900, 0x97f},
      {0xe00, 0xe7f},    {0x1100, 0x11ff}, {0x1e00, 0x1eff},   {0x2000, 0x206f},
      {0x20a0, 0x20cf},  {0x2150, 0x218f}, {0x2460, 0x24ff},   {0x3000, 0x30ff},
      {0x3300, 0x33ff},  {0x4e00, 0x9fff}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
      {0xfb00, 0xfdff},  {0xff00, 0xffef}, {0x1d400, 0x1d4ff}, {0x1f300, 0x1f64f},
      {0x20000, 0x2a6ff}};
  switch (random() % 8) {
    case 0:
      return std::string(1, static_cast<char>(1 + random() % 255));
    case 1:
    case 2:
    case 3: {
      const auto [first, last] = kBlocks[random() % std::size(kBlocks)];
      return utf8_of(static_cast<char32_t>(first + random() % (last - first + 1)));
    }
    case 4:
      return std::string(1, " -.,_0123456789\t"[random() % 16]);
    default:
      return std::string(1, "aAbBcChHlLnNsSzZeE"[random() % 18]);
  }
}

// Two texts of few different characters, that differ in some, so that every level decides at times.
std::pair<std::string, std::string> alike_texts(Generator& random) {
  std::vector<std::string> some(2 + random() % 5);
  for (std::string& character : some) character = any_character(random);
  std::pair<std::string, std::string> texts;
  for (std::size_t i = 1 + random() % 9; i != 0; --i) {
    const std::string& common = some[random() % some.size()];
    texts.first += random() % 4 ? common : some[random() % some.size()];
    texts.second += random() % 4 ? common : some[random() % some.size()];
  }
  return texts;
}

class CollationIn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Locales, CollationIn,
                         ::testing::Values("en_US.UTF-8", "de_DE.UTF-8", "es_ES.UTF-8",
                                           "cs_CZ.UTF-8", "ja_JP.UTF-8", "th_TH.UTF-8",
                                           "en_US.ISO-8859-1", "cs_CZ.ISO-8859-2"),
                         test::locale_test_name);

TEST_P(CollationIn, keys_are_in_the_order_of_strcoll) {
  const NamedLocale locale(GetParam());
  if (!locale.handle) GTEST_SKIP() << "locale " << GetParam() << " is not installed";
  const CollationTables tables(locale.handle);
  Generator random(11);
  for (int i = 0; i < 40000; ++i) {
    const auto [a, b] = alike_texts(random);
    const int expected = strcoll_l(a.c_str(), b.c_str(), locale.handle);
    const int found = key_of(tables, a).compare(key_of(tables, b));
    ASSERT_EQ(found < 0, expected < 0)
        << ::testing::PrintToString(a) << ' ' << ::testing::PrintToString(b);
    ASSERT_EQ(found > 0, expected > 0)
        << ::testing::PrintToString(a) << ' ' << ::testing::PrintToString(b);
  }
}

TEST_P(CollationIn, keys_do_not_depend_on_the_limit_but_for_their_end) {
  const NamedLocale locale(GetParam());
  if (!locale.handle) GTEST_SKIP() << "locale " << GetParam() << " is not installed";
  const CollationTables tables(locale.handle);
  Generator random(3);
  for (int i = 0; i < 300; ++i) {
    const std::string text = alike_texts(random).first;
    const std::string whole = key_of(tables, text);
    EXPECT_EQ(whole.find('\0'), whole.npos);
    for (std::size_t limit = 0; limit < whole.size() + 3; ++limit) {
      std::string key = "front";
      CollationTables::KeyReader reader;
      reader.start(tables, text, nullptr);
      while (key.size() - 5 < limit && reader.read(limit - (key.size() - 5), key)) continue;
      ASSERT_GE(key.size() - 5, std::min(limit, whole.size()));
      ASSERT_EQ(key, "front" + whole.substr(0, key.size() - 5));
    }
  }
}

// Rows of signs and digits (compared backward), contractions, characters without weights: whatever
// straddles a block.
TEST_P(CollationIn, keys_do_not_depend_on_the_size_of_blocks) {
  const NamedLocale locale(GetParam());
  if (!locale.handle) GTEST_SKIP() << "locale " << GetParam() << " is not installed";
  const CollationTables tables(locale.handle);
  Generator random(17);
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (std::size_t parts = random() % 6; parts != 0; --parts) {
      switch (random() % 4) {
        case 0:
          text += std::string(random() % 40, "1-\x02. "[random() % 5]);
          break;
        case 1:
          for (std::size_t n = random() % 5; n != 0; --n) text += random() % 3 ? "ch" : "Ccs";
          break;
        default:
          text += alike_texts(random).first;
      }
    }
    const std::string whole = key_of(tables, text);
    for (const std::size_t block : {1, 2, 3, 7, 16}) {
      CollationTables::KeyReader reader(block);
      for (const std::size_t wanted : {std::size_t{1}, kWholeKey}) {
        std::string key;
        reader.start(tables, text, nullptr);
        while (reader.read(wanted, key)) continue;
        ASSERT_EQ(key, whole) << ::testing::PrintToString(text) << ' ' << block;
      }
    }
  }
}

TEST_P(CollationIn, a_filter_makes_the_key_of_what_it_leaves) {
  const NamedLocale locale(GetParam());
  if (!locale.handle) GTEST_SKIP() << "locale " << GetParam() << " is not installed";
  const CollationTables tables(locale.handle);
  std::array<bool, 256> dropped{};
  std::array<unsigned char, 256> mapped{};
  for (const unsigned char c : {'\0', '-', '.', '\x02', 'z'}) dropped[c] = true;
  for (std::size_t c = 0; c < 256; ++c) {
    mapped[c] = static_cast<unsigned char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  }
  const ByteFilter filter{dropped.data(), mapped.data()};
  Generator random(19);
  for (int i = 0; i < 2000; ++i) {
    std::string text, filtered;
    for (const char c : alike_texts(random).first) {
      text += c;
      if (random() % 3 == 0) text += "-.\x02z"[random() % 4];
    }
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (!dropped[byte]) filtered += static_cast<char>(mapped[byte]);
    }
    CollationTables::KeyReader reader(3);
    std::string key;
    reader.start(tables, text, &filter);
    while (reader.read(kWholeKey, key)) continue;
    ASSERT_EQ(key, key_of(tables, filtered)) << ::testing::PrintToString(text);
  }
}

TEST_P(CollationIn, many_characters_without_weight_count) {
  const NamedLocale locale(GetParam());
  if (!locale.handle) GTEST_SKIP() << "locale " << GetParam() << " is not installed";
  const CollationTables tables(locale.handle);
  for (const std::size_t m : {0, 1, 249, 250, 251, 252, 600, 1000}) {
    for (const std::size_t n : {1, 249, 250, 251, 252, 501, 999}) {
      std::string a(m + 2, '\x02'), b(n + 2, '\x02');
      a.front() = b.front() = 'a';
      a.back() = b.back() = 'b';
      const int expected = strcoll_l(a.c_str(), b.c_str(), locale.handle);
      const int found = key_of(tables, a).compare(key_of(tables, b));
      EXPECT_EQ(found < 0, expected < 0) << m << ' ' << n;
      EXPECT_EQ(found > 0, expected > 0) << m << ' ' << n;
    }
  }
}

TEST(CollationTables, are_missing_where_bytes_count) {
  const NamedLocale c("C"), utf8("C.UTF-8"), english("en_US.UTF-8");
  EXPECT_TRUE(CollationTables::are_missing(c.handle));
  EXPECT_TRUE(!utf8.handle || CollationTables::are_missing(utf8.handle));
  EXPECT_FALSE(english.handle && CollationTables::are_missing(english.handle));
}

TEST(CollationTables, have_the_documented_form) {
  const NamedLocale locale("en_US.UTF-8");
  if (!locale.handle) GTEST_SKIP() << "locale en_US.UTF-8 is not installed";
  const CollationTables tables(locale.handle);
  EXPECT_EQ(key_of(tables, ""), "");
  const std::string key = key_of(tables, "aB");
  EXPECT_EQ(std::count(key.begin(), key.end(), '\1'), 3);
}

}  // namespace
}  // namespace xxl
