#include "base/units.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/error.h"

namespace xxl {
namespace {

TEST(ParseSize, KnowsPowersOf1024AndOf1000) {
  const auto size = [](std::string_view text) { return parse_size(text, "-S", 1000); };
  EXPECT_EQ(size("3"), 3 * kKiB);
  EXPECT_EQ(size("3b"), 3u);
  EXPECT_EQ(size("512M"), 512 * kMiB);
  EXPECT_EQ(size("512m"), 512 * kMiB);
  EXPECT_EQ(size("2MiB"), 2 * kMiB);
  EXPECT_EQ(size("1GiB"), kGiB);
  EXPECT_EQ(size("1GB"), 1'000'000'000u);
  EXPECT_EQ(size("2kB"), 2000u);
  EXPECT_EQ(size("15P"), 15 * 1024 * 1024 * kGiB);
  EXPECT_EQ(size("50%"), 500u);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* const text :
       {"", "G", "-1", "1.5G", "1X", "1bB", "1Gi", "1GiBs", "1%%", "101%", "16777216P"}) {
    EXPECT_THROW(parse_size(text, "-S", 1000), Error) << text;
  }
  EXPECT_THROW(parse_size("1%", "--part-bytes", 0), Error);
}

TEST(ParseCount, KnowsPowersOf1000) {
  EXPECT_EQ(parse_count("10k", "-n"), 10'000u);
  EXPECT_EQ(parse_count("2M", "-n"), 2'000'000u);
  EXPECT_THROW(parse_count("1x", "-n"), Error);
}

}  // namespace
}  // namespace xxl
