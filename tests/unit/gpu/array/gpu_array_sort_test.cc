// Arrays on simulated devices: every record format and strategy, compared with std::stable_sort.
#include "gpu/array/array_sort.h"

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

class EveryFormat : public testing::TestWithParam<Case> {
 protected:
  RecordFormat format() const { return make_format(GetParam().record, GetParam().keys); }
};

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, testing::ValuesIn(kFormats));

std::unique_ptr<ArraySorter> tight_sorter(const Devices& gpus, const KeyLayout& layout,
                                          std::uint64_t most_bytes, ArraySortOptions options) {
  for (options.memory_bytes = kMiB + 64 * kKiB;;
       options.memory_bytes += options.memory_bytes / 32) {
    try {
      return std::make_unique<ArraySorter>(gpus.all, layout, most_bytes, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space || options.memory_bytes > 64 * kMiB) throw;
    }
  }
}

TEST_P(EveryFormat, is_sorted_stably_on_any_number_of_devices) {
  const KeyLayout layout(format());
  for (const Keys keys : kAllKeys) {
    const Bytes records = make_records(20000, layout, keys, 1);
    const Bytes expected = sorted_copy(records, layout);
    for (const std::size_t devices : {1, 2, 3, 5, 8}) {
      for (const MultiGpu strategy : kStrategies) {
        Devices gpus(devices, {.memory_bytes = 64 * kMiB});
        Bytes sorted(records.size());
        const auto sorter = tight_sorter(gpus, layout, records.size(), {.strategy = strategy});
        const SortedArray array{records, sorted};
        sorter->sort({&array, 1});
        ASSERT_TRUE(sorted == expected) << devices << " devices, keys " << static_cast<int>(keys)
                                        << ", " << static_cast<int>(strategy);
      }
    }
  }
}

TEST_P(EveryFormat, is_sorted_in_a_stream_of_arrays) {
  const KeyLayout layout(format());
  for (const MultiGpu strategy : kStrategies) {
    Devices gpus(3, {.memory_bytes = 64 * kMiB});
    std::vector<Bytes> records, sorted;
    std::vector<SortedArray> arrays;
    for (const std::size_t count : {5000, 0, 20000, 1, 17000, 3, 20000}) {
      records.push_back(make_records(count, layout, Keys::few, count));
      sorted.emplace_back(records.back().size());
    }
    for (std::size_t i = 0; i < records.size(); ++i) arrays.push_back({records[i], sorted[i]});
    const auto sorter = tight_sorter(gpus, layout, 20000 * layout.record_bytes(),
                                     {.strategy = strategy, .chunks = 2});
    for (int repeat = 0; repeat < 2; ++repeat) {
      sorter->sort(arrays);
      for (std::size_t i = 0; i < records.size(); ++i) {
        ASSERT_TRUE(sorted[i] == sorted_copy(records[i], layout)) << "array " << i;
      }
    }
  }
}

// With memory for all of it, a device's part of each array is one piece.
TEST_P(EveryFormat, is_sorted_in_a_stream_of_whole_pieces) {
  const KeyLayout layout(format());
  for (const MultiGpu strategy : kStrategies) {
    for (const std::size_t devices : {1, 3}) {
      std::atomic<int> copies = 0;
      SimulatedOptions options{.memory_bytes = kGiB};
      options.before = [&](const char* operation) {
        if (operation == std::string_view("copy in")) ++copies;
      };
      Devices gpus(devices, options);
      std::vector<Bytes> records, sorted;
      std::vector<SortedArray> arrays;
      for (const std::size_t count : {20000, 300, 20000, 19999, 2, 20000}) {
        records.push_back(make_records(count, layout, Keys::few, count));
        sorted.emplace_back(records.back().size());
      }
      for (std::size_t i = 0; i < records.size(); ++i) arrays.push_back({records[i], sorted[i]});
      ArraySorter sorter(gpus.all, layout, 20000 * layout.record_bytes(),
                         {.strategy = strategy, .chunks = 3});
      copies = 0;  // of tables
      sorter.sort(arrays);
      for (std::size_t i = 0; i < records.size(); ++i) {
        ASSERT_TRUE(sorted[i] == sorted_copy(records[i], layout)) << "array " << i;
      }
      EXPECT_LE(copies, static_cast<int>(arrays.size() * devices));
    }
  }
}

// Pieces of a MiB and more, the last ones smaller, so that devices get unequal parts.
TEST(ArraySorter, sorts_what_arrives_in_pieces_that_taper_off) {
  const KeyLayout layout(make_format("u64"));
  Bytes records = make_records(1'200'000, layout, Keys::uniform, 1);
  const Bytes expected = sorted_copy(records, layout);
  for (const MultiGpu strategy : kStrategies) {
    for (const std::size_t devices : {1, 3}) {
      std::atomic<int> pieces = 0;
      SimulatedOptions options{.memory_bytes = 128 * kMiB};
      options.before = [&](const char* operation) {
        if (operation == std::string_view("copy in")) ++pieces;
      };
      Devices gpus(devices, options);
      ArraySorter sorter(gpus.all, layout, records.size(), {.strategy = strategy});
      Bytes sorted(records.size());
      const SortedArray array{records, sorted};
      pieces = 0;  // tables
      sorter.sort({&array, 1});
      EXPECT_TRUE(sorted == expected);
      EXPECT_GT(pieces, 10);  // of 1 MiB there would be ten
    }
  }
}

TEST(ArraySorter, uses_the_links_of_idle_peers) {
  const KeyLayout layout(make_format("u64"));
  std::atomic<int> passed = 0;
  SimulatedOptions options{.memory_bytes = 128 * kMiB};
  Devices gpus(1, options);
  options.before = [&](const char* operation) {
    if (operation == std::string_view("copy")) ++passed;
  };
  Devices idle(2, options);
  Bytes records = make_records(4'000'000, layout, Keys::uniform, 1);
  const Bytes expected = sorted_copy(records, layout);
  ArraySorter sorter(gpus.all, layout, records.size(),
                     {.memory_bytes = 100 * kMiB, .idle = idle.all});
  const SortedArray array{records, records};
  sorter.sort({&array, 1});
  EXPECT_TRUE(records == expected);
  EXPECT_GT(passed, 0);

  options.peers = false;
  Devices strangers(1, options);
  EXPECT_THROW(ArraySorter(gpus.all, layout, kMiB, {.idle = strangers.all}), Error);
}

TEST(ArraySorter, may_sort_in_place) {
  const KeyLayout layout(make_format("u64"));
  Devices gpus(2, {.memory_bytes = 32 * kMiB});
  Bytes records = make_records(100000, layout, Keys::uniform, 1);
  const Bytes expected = sorted_copy(records, layout);
  ArraySorter sorter(gpus.all, layout, records.size(), {});
  const SortedArray array{records, records};
  sorter.sort({&array, 1});
  EXPECT_TRUE(records == expected);
}

TEST(ArraySorter, deals_arrays_to_devices_that_share_nothing) {
  for (const char* const record : {"u64", "gensort"}) {
    const KeyLayout layout(make_format(record));
    for (const unsigned chunks : {1u, 2u, 3u}) {
      std::atomic<int> loads[2] = {0, 0};
      std::vector<std::unique_ptr<SimulatedDevice>> owned;
      std::vector<Device*> devices;
      for (int i = 0; i < 2; ++i) {
        SimulatedOptions options{.memory_bytes = 256 * kMiB, .peers = false};
        options.before = [&loads, i](const char* operation) {
          if (operation == std::string_view("load")) ++loads[i];
        };
        owned.push_back(std::make_unique<SimulatedDevice>(i, options));
        devices.push_back(owned.back().get());
      }
      std::vector<Bytes> records;
      std::vector<SortedArray> arrays;
      for (int i = 0; i < 4; ++i) records.push_back(make_records(40000, layout, Keys::uniform, i));
      for (Bytes& each : records) arrays.push_back({each, each});
      ArraySorter sorter(devices, layout, records.front().size(),
                         {.strategy = MultiGpu::independent, .chunks = chunks});
      sorter.sort(arrays);
      EXPECT_GT(loads[0], 0) << record << ", " << chunks;
      EXPECT_GT(loads[1], 0) << record << ", " << chunks;
    }
  }
}

TEST(ArraySorter, says_when_the_memory_is_too_small) {
  const KeyLayout layout(make_format("u64"));
  Devices gpus(1, {.memory_bytes = 16 * kMiB});
  EXPECT_THROW(ArraySorter(gpus.all, layout, 64 * kMiB, {}), Error);
  EXPECT_THROW(ArraySorter(gpus.all, layout, kMiB, {.memory_bytes = 64 * kKiB}), Error);
}

TEST(ArraySorter, needs_peers_to_share_a_chunk) {
  const KeyLayout layout(make_format("u64"));
  Devices gpus(2, {.memory_bytes = 16 * kMiB, .peers = false});
  EXPECT_THROW(ArraySorter(gpus.all, layout, kMiB, {}), Error);
  ArraySorter sorter(gpus.all, layout, kMiB, {.strategy = MultiGpu::independent});
}

TEST(ArraySorter, tells_of_any_operation_that_fails) {
  const KeyLayout layout(make_format("gensort"));
  const Bytes records = make_records(20000, layout, Keys::uniform, 1);
  Bytes sorted(records.size());
  for (const MultiGpu strategy : {MultiGpu::partition, MultiGpu::p2p_merge}) {
    for (const std::string failing :
         {"copy in", "load", "sort", "refine", "cut", "copy", "concatenate", "store", "copy out"}) {
      if (failing == "copy" && strategy == MultiGpu::partition) continue;  // it has none
      for (const int nth : {1, 2, 5}) {
        expect_to_fail(4, failing, nth, [&](const Devices& gpus) {
          const auto sorter = tight_sorter(gpus, layout, records.size(), {.strategy = strategy});
          const SortedArray array{records, sorted};
          sorter->sort({&array, 1});
        });
      }
    }
  }
}

// Sorts a chunk of records on devices that swap halves; returns how many copies that took.
int copies_to_exchange(std::size_t devices, Keys keys, const std::string& record) {
  const KeyLayout layout(make_format(record));
  std::atomic<int> copies = 0;
  SimulatedOptions options{.memory_bytes = 64 * kMiB};
  options.before = [&](const char* operation) {
    if (operation == std::string_view("copy")) ++copies;
  };
  Devices gpus(devices, options);
  const Bytes records = make_records(20000, layout, keys, 1);
  Bytes sorted(records.size());
  const auto sorter = tight_sorter(gpus, layout, records.size(), {.strategy = MultiGpu::p2p_merge});
  const SortedArray array{records, sorted};
  sorter->sort({&array, 1});
  EXPECT_TRUE(sorted == sorted_copy(records, layout));
  return copies;
}

TEST(ArraySorter, swaps_between_devices_only_what_must_be) {
  EXPECT_EQ(copies_to_exchange(1, Keys::uniform, "u64"), 0);
  EXPECT_GT(copies_to_exchange(2, Keys::uniform, "u64"), 0);
  // Keys alone, all equal, are the same wherever they lie; with values they are not.
  EXPECT_EQ(copies_to_exchange(4, Keys::equal, "u64"), 0);
  EXPECT_GT(copies_to_exchange(4, Keys::equal, "kv64"), 0);
}

}  // namespace
}  // namespace xxl::gpu
