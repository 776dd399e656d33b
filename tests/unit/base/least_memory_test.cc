#include "base/least_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace xxl {
namespace {

TEST(LeastMemory, is_the_least_that_is_accepted) {
  for (const std::uint64_t needed :
       {std::uint64_t{1}, kMiB, kMiB + 1, 7 * kMiB, 1000 * kMiB - 1, 33 * kGiB}) {
    for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{1}, 4 * kMiB, 500 * kMiB}) {
      const auto found = least_memory(from, [&](std::uint64_t memory) { return memory >= needed; });
      ASSERT_TRUE(found);
      EXPECT_GE(*found, needed);
      EXPECT_GE(*found, from);
      EXPECT_TRUE(*found < needed + kMiB || *found < from + kMiB) << needed << " " << from;
      EXPECT_EQ(*found % kMiB, 0);
    }
  }
}

TEST(LeastMemory, is_accepted_where_more_is_not) {
  // Accepted: 5 MiB, and from 9 MiB on.
  const auto accepts = [](std::uint64_t memory) {
    return memory == 5 * kMiB || memory >= 9 * kMiB;
  };
  for (std::uint64_t from = 0; from < 12 * kMiB; from += kMiB / 2) {
    const auto found = least_memory(from, accepts);
    ASSERT_TRUE(found);
    EXPECT_TRUE(accepts(*found)) << from;
    EXPECT_GE(*found, from);
  }
}

TEST(LeastMemory, may_not_exist) {
  EXPECT_EQ(least_memory(kMiB, [](std::uint64_t) { return false; }), std::nullopt);
  EXPECT_EQ(memory_advice(std::nullopt), "give more");
  EXPECT_EQ(memory_advice(8 * kMiB), "give at least memory_bytes = 8388608");
}

}  // namespace
}  // namespace xxl
