#include "record/record_tags.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {
namespace {

RecordTags random_tags(std::uint64_t seed) {
  return {.kind = RecordTags::Kind::random, .key = {seed, 0}};
}

// The places of `count` records of `bytes` each, in the order of their tags.
template <std::size_t kCount>
std::array<unsigned, kCount> shuffled(const RecordTags& tags, std::uint64_t bytes) {
  std::array<unsigned, kCount> order{};
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](unsigned a, unsigned b) { return tags.of(a * bytes) < tags.of(b * bytes); });
  return order;
}

// How far a chi square is from its mean, as a normal variable (Wilson and Hilferty 1931).
double deviation(double chi_square, double degrees) {
  const double variance = 2 / (9 * degrees);
  return (std::cbrt(chi_square / degrees) - (1 - variance)) / std::sqrt(variance);
}

TEST(RecordTags, as_keys_they_compare_as_numbers) {
  char low[kTagBytes], high[kTagBytes];
  put_tag(low, 0x00ff);
  put_tag(high, 0x0100);
  EXPECT_LT(std::string_view(low, kTagBytes), std::string_view(high, kTagBytes));
}

TEST(RecordTags, of_inputs_take_as_few_bytes_as_tell_them_apart) {
  for (const auto& [last, bytes] : std::map<std::uint32_t, std::size_t>{
           {0, 1}, {1, 1}, {255, 1}, {256, 2}, {65535, 2}, {65536, 3}, {~0u, 4}}) {
    const RecordTags tags{.kind = RecordTags::Kind::input, .inputs = {0, 0, last}};
    ASSERT_EQ(tags.bytes(), bytes) << last;
    EXPECT_EQ(tags.of(12345, 1), 0u);
    std::string record = "____record";
    put_tag(record.data() + 4 - bytes, tags.of(12345, 2), bytes);
    EXPECT_EQ(tag_of(std::string_view(record).substr(4 - bytes), bytes), last);
    EXPECT_EQ(record.substr(0, 4 - bytes), std::string(4 - bytes, '_'));
    EXPECT_EQ(record.substr(4), "record");
  }
}

TEST(RecordTags, by_random_ones_all_permutations_are_equally_likely) {
  constexpr unsigned kSeeds = 240000;
  for (const std::uint64_t bytes : {1, 8, 101}) {
    std::map<std::array<unsigned, 5>, unsigned> counts;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      ++counts[shuffled<5>(random_tags(seed), bytes)];
    }
    ASSERT_EQ(counts.size(), 120u);
    constexpr double kExpected = kSeeds / 120.0;
    double chi_square = 0;
    for (const auto& [order, count] : counts) {
      chi_square += (count - kExpected) * (count - kExpected) / kExpected;
    }
    EXPECT_LT(std::abs(deviation(chi_square, 119)), 4.9) << bytes;
  }
}

TEST(RecordTags, those_of_neighbours_have_nothing_to_do_with_each_other) {
  // The leading and the trailing bits of the tags of two records, one after the other.
  constexpr unsigned kRecords = 1u << 20;
  for (const unsigned shift : {60u, 0u}) {
    std::vector<unsigned> counts(256);
    const RecordTags tags = random_tags(7);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      const auto bits = [&](std::uint64_t place) { return tags.of(place) >> shift & 15; };
      ++counts[bits(100 * i) << 4 | bits(100 * i + 100)];
    }
    constexpr double kExpected = kRecords / 256.0;
    double chi_square = 0;
    for (const unsigned count : counts) {
      chi_square += (count - kExpected) * (count - kExpected) / kExpected;
    }
    EXPECT_LT(std::abs(deviation(chi_square, 255)), 4.9) << shift;
  }
}

}  // namespace
}  // namespace xxl
