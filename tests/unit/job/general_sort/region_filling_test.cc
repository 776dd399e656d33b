#include "job/general_sort/region_filling.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "sort/string_sort.h"

namespace xxl {
namespace {

GeneralGeometry geometry_of(std::size_t region_bytes) {
  GeneralGeometry geometry;
  geometry.region_bytes = geometry.chunk_bytes = region_bytes;
  geometry.item_capacity = region_bytes / sizeof(StringItem);
  return geometry;
}

TEST(RegionFilling, leaves_room_for_the_items_and_tags_of_records_like_those_before) {
  constexpr std::size_t kHeadroom = 2 * kSectorBytes;
  for (const std::size_t region : {64 * kKiB, 1 * kMiB, 32 * kMiB}) {
    for (const std::uint64_t record : {1u, 2u, 24u, 100u, 5000u}) {
      for (const std::size_t growth : {0u, 4u, 7u, 8u}) {
        const auto filling =
            fill_region(geometry_of(region), growth, kHeadroom, 0, {1000, 1000 * record});
        // Tags that do not make records longer need room in front of the first one.
        EXPECT_GT(filling.free_bytes, 0u);
        const std::uint64_t records = filling.data_bytes / record;
        EXPECT_EQ(filling.free_bytes % kSectorBytes, 0u);
        EXPECT_EQ(filling.data_bytes % kSectorBytes, 0u);
        EXPECT_LE(filling.free_bytes, region / 8 + kSectorBytes);
        EXPECT_LE(filling.free_bytes + kHeadroom + filling.data_bytes, region);
        if (filling.data_bytes > kSectorBytes) {  // which is the least
          EXPECT_LE(kHeadroom + filling.data_bytes + records * sizeof(StringItem) * 95 / 100,
                    region);
        }
        if (filling.free_bytes < region / 8) {
          EXPECT_GE(filling.free_bytes + kSectorBytes, records * growth * 95 / 100);
        }
      }
    }
  }
}

TEST(RegionFilling, reads_as_much_more_of_a_long_record_as_there_is) {
  const std::size_t carried = 300 * kKiB;
  const auto filling = fill_region(geometry_of(kMiB), 7, 304 * kKiB, carried, {1000, 2000});
  EXPECT_EQ(filling.free_bytes, kSectorBytes);
  EXPECT_GE(filling.data_bytes, 2 * carried);
}

TEST(RegionFilling, is_a_sector_at_least) {
  EXPECT_EQ(fill_region(geometry_of(64 * kKiB), {}, 64 * kKiB, 0, {}).data_bytes, kSectorBytes);
  EXPECT_EQ(fill_region(geometry_of(kMiB), {}, 0, 0, {}).free_bytes, 0u);
}

}  // namespace
}  // namespace xxl
