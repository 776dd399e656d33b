// Records of the sort benchmark whose numbers have more than 64 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "testdata/gensort.h"

namespace xxl {
namespace {

std::vector<std::byte> records(GensortKind kind, RecordNumber first, std::size_t count) {
  std::vector<std::byte> bytes(count * kGensortRecordBytes);
  make_gensort_records(kind, first, count, bytes.data());
  return bytes;
}

TEST(GensortNumbers, records_beyond_64_bits_depend_on_their_number_alone) {
  const RecordNumber first = ~std::uint64_t{0} - 1;
  for (const bool ascii : {false, true}) {
    const auto together = records({.ascii = ascii}, first, 4);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto alone = records({.ascii = ascii}, first + i, 1);
      EXPECT_TRUE(
          std::equal(alone.begin(), alone.end(),
                     together.begin() + static_cast<std::ptrdiff_t>(i * kGensortRecordBytes)));
    }
  }
}

// The generator starts with 0, which comes back after 2^128 numbers. Record n has number n + 1.
TEST(GensortNumbers, the_last_one_is_the_last_of_the_generators_period) {
  const auto last = records({}, ~RecordNumber{0}, 1);
  EXPECT_EQ(std::count(last.begin(), last.begin() + 10, std::byte{0}), 10);
}

}  // namespace
}  // namespace xxl
