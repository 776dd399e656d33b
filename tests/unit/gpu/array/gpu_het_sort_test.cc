// Arrays that simulated devices sort in parts and processors merge.
#include "gpu/array/het_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "gpu/array/gpu_array_test_support.h"
#include "gpu/simulated/simulated_device.h"
#include "watchdog.h"

namespace xxl::gpu {
namespace {

using namespace test;

class EveryFormatByHet : public testing::TestWithParam<Case> {
 protected:
  RecordFormat format() const { return make_format(GetParam().record, GetParam().keys); }
};

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormatByHet, testing::ValuesIn(kFormats));

// As few bytes of each device as will do, so that there are many groups of chunks; then some more;
// then enough for all at once.
TEST_P(EveryFormatByHet, is_sorted_by_devices_and_merged_by_processors) {
  const KeyLayout layout(format());
  for (const Keys keys : kAllKeys) {
    const Bytes records = make_records(20000, layout, keys, 1);
    const Bytes expected = sorted_copy(records, layout);
    for (const std::size_t devices : {1, 2, 3, 5}) {
      for (std::uint64_t memory : {kMiB, 2 * kMiB, 64 * kMiB}) {
        const xxl::test::Watchdog watchdog;
        Devices gpus(devices, {.memory_bytes = 64 * kMiB, .peers = false});
        std::unique_ptr<HetSorter> sorter;
        for (; sorter == nullptr; memory += memory / 8) {
          try {
            sorter = std::make_unique<HetSorter>(gpus.all, layout, records.size(), memory, 3);
          } catch (const Error& error) {
            ASSERT_EQ(error.code(), ErrorCode::no_space);
            ASSERT_LT(memory, 64 * kMiB);
          }
        }
        Bytes sorted(records.size());
        sorter->sort({records, sorted});
        ASSERT_TRUE(sorted == expected)
            << devices << " devices, " << memory << " bytes, keys " << static_cast<int>(keys);
        Bytes in_place = records;
        sorter->sort({in_place, in_place});
        ASSERT_TRUE(in_place == expected);
        for (const std::size_t count : {0, 1, 2, 7}) {  // fewer than devices
          const Bytes few = make_records(count, layout, keys, count);
          sorted.assign(few.size(), {});
          sorter->sort({few, sorted});
          ASSERT_TRUE(sorted == sorted_copy(few, layout)) << count;
        }
      }
    }
  }
}

// Many slices and rounds: more than there are slots for.
TEST(HetSorter, merges_while_slices_arrive) {
  const xxl::test::Watchdog watchdog;
  const KeyLayout layout(make_format("kv64"));
  for (const Keys keys : {Keys::uniform, Keys::few, Keys::sorted}) {
    for (const bool pinned : {true, false}) {
      const Bytes records = make_records(800'000, layout, keys, 1);
      Devices gpus(2, {.memory_bytes = 256 * kMiB, .peers = false, .host_is_pinned = pinned});
      HetSorter sorter(gpus.all, layout, records.size(), 64 * kMiB, 2);
      Bytes sorted(records.size());
      sorter.sort({records, sorted});
      ASSERT_TRUE(sorted == sorted_copy(records, layout));
    }
  }
}

TEST(HetSorter, tells_of_any_operation_that_fails) {
  const KeyLayout layout(make_format("gensort"));
  const Bytes records = make_records(20000, layout, Keys::uniform, 1);
  Bytes sorted(records.size());
  for (const std::string failing :
       {"copy in", "load", "sort", "refine", "cut", "concatenate", "store", "copy out"}) {
    for (const int nth : {1, 2, 5}) {
      const xxl::test::Watchdog watchdog;
      expect_to_fail(3, failing, nth, [&](const Devices& gpus) {
        HetSorter sorter(gpus.all, layout, records.size(), 8 * kMiB, 2);
        sorter.sort({records, sorted});
      });
    }
  }
}

// While rounds are merged, and while others wait for their turn.
TEST(HetSorter, ends_in_the_middle_of_a_merge) {
  const KeyLayout layout(make_format("kv64"));
  const Bytes records = make_records(400'000, layout, Keys::uniform, 1);
  Bytes sorted(records.size());
  for (const std::uint64_t memory : {2 * kMiB, 32 * kMiB}) {
    for (int nth = 1; nth < 80; nth += 6) {
      const xxl::test::Watchdog watchdog;
      expect_to_fail(2, "copy out", nth, [&](const Devices& gpus) {
        HetSorter sorter(gpus.all, layout, records.size(), memory, 2);
        sorter.sort({records, sorted});
      });
    }
  }
}

TEST(HetSorter, says_when_the_memory_is_too_small) {
  const KeyLayout layout(make_format("u64"));
  Devices gpus(1, {.memory_bytes = 16 * kMiB});
  EXPECT_THROW(HetSorter(gpus.all, layout, kMiB, 64 * kKiB, 1), Error);
}

}  // namespace
}  // namespace xxl::gpu
