// Chunks on simulated devices: every record format and strategy, compared with std::stable_sort.
#include "gpu/array_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "gpu/simulated_device.h"

namespace xxl::gpu {
namespace {

using Bytes = std::vector<std::byte>;

struct Devices {
  std::vector<std::unique_ptr<SimulatedDevice>> owned;
  std::vector<Device*> all;

  Devices(std::size_t count, const SimulatedOptions& options) {
    for (std::size_t i = 0; i < count; ++i) {
      owned.push_back(std::make_unique<SimulatedDevice>(static_cast<int>(i), options));
      all.push_back(owned.back().get());
    }
  }
};

enum class Keys { uniform, few, equal, sorted, reverse, shared_prefix };

Bytes make_records(std::size_t count, std::size_t record_bytes, Keys keys, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes records(count * record_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const record = records.data() + i * record_bytes;
    for (std::size_t b = 0; b < record_bytes; ++b) record[b] = static_cast<std::byte>(random());
    const std::size_t front = std::min<std::size_t>(record_bytes, 8);
    std::uint64_t value = random();
    switch (keys) {
      case Keys::uniform:
        continue;
      case Keys::few:
        value %= 7;
        break;
      case Keys::equal:
        value = 42;
        break;
      case Keys::sorted:
        value = i;
        break;
      case Keys::reverse:
        value = count - i;
        break;
      case Keys::shared_prefix:
        std::memset(record, 'x', std::min<std::size_t>(record_bytes - 1, 9));
        continue;
    }
    std::memcpy(record, &value, record_bytes < 16 ? std::min<std::size_t>(front, 4) : front);
  }
  return records;
}

Bytes sorted_copy(const Bytes& records, const KeyLayout& layout) {
  const std::size_t size = layout.record_bytes();
  std::vector<std::size_t> order(records.size() / size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return layout.compare(records.data() + a * size, records.data() + b * size) < 0;
  });
  Bytes sorted;
  for (const std::size_t i : order) {
    sorted.insert(sorted.end(), records.begin() + static_cast<std::ptrdiff_t>(i * size),
                  records.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
  }
  return sorted;
}

struct Case {
  std::string record;
  std::vector<std::string> keys;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  out << c.record;
  for (const auto& key : c.keys) out << " " << key;
  return out;
}

RecordFormat make_format(const std::string& record, const std::vector<std::string>& keys = {}) {
  RecordFormat format = parse_record_format(record);
  if (!keys.empty()) format.key.clear();
  for (const std::string& key : keys) format.key.push_back(parse_key_field(key, format));
  return format;
}

class EveryFormat : public testing::TestWithParam<Case> {
 protected:
  RecordFormat format() const { return make_format(GetParam().record, GetParam().keys); }
};

INSTANTIATE_TEST_SUITE_P(
    Formats, EveryFormat,
    testing::Values(Case{"u32", {}}, Case{"u64", {}}, Case{"i64", {}}, Case{"f64", {}},
                    Case{"f32", {}}, Case{"kv32", {}}, Case{"kv64", {}}, Case{"gensort", {}},
                    Case{"fixed:8", {"0:i64:desc"}}, Case{"fixed:13", {"3:bytes9"}},
                    Case{"fixed:40", {"8:bytes20:desc", "0:u16be"}},
                    Case{"fixed:24", {"0:f64:desc", "16:i32"}}));

TEST_P(EveryFormat, is_sorted_stably_on_any_number_of_devices) {
  const KeyLayout layout(format());
  for (const std::size_t devices : {1, 2, 3, 8}) {
    for (const Keys keys : {Keys::uniform, Keys::few, Keys::equal, Keys::sorted, Keys::reverse,
                            Keys::shared_prefix}) {
      Devices gpus(devices, {.memory_bytes = 48 * kMiB});
      const Bytes records = make_records(30000, layout.record_bytes(), keys, devices);
      Bytes sorted(records.size());
      ArraySorter sorter(gpus.all, layout, records.size(), {.memory_bytes = 24 * kMiB});
      const SortedArray array{records, sorted};
      sorter.sort({&array, 1});
      ASSERT_TRUE(sorted == sorted_copy(records, layout))
          << devices << " devices, keys " << static_cast<int>(keys);
    }
  }
}

TEST_P(EveryFormat, is_sorted_in_a_stream_of_arrays) {
  const KeyLayout layout(format());
  for (const MultiGpu strategy : {MultiGpu::partition, MultiGpu::independent}) {
    Devices gpus(3, {.memory_bytes = 48 * kMiB});
    std::vector<Bytes> records, sorted;
    std::vector<SortedArray> arrays;
    for (const std::size_t count : {5000, 0, 20000, 1, 17000, 3, 20000}) {
      records.push_back(make_records(count, layout.record_bytes(), Keys::few, count));
      sorted.emplace_back(records.back().size());
    }
    for (std::size_t i = 0; i < records.size(); ++i) arrays.push_back({records[i], sorted[i]});
    ArraySorter sorter(gpus.all, layout, 20000 * layout.record_bytes(),
                       {.strategy = strategy, .memory_bytes = 24 * kMiB, .chunks = 2});
    for (int repeat = 0; repeat < 2; ++repeat) {
      sorter.sort(arrays);
      for (std::size_t i = 0; i < records.size(); ++i) {
        ASSERT_TRUE(sorted[i] == sorted_copy(records[i], layout)) << "array " << i;
      }
    }
  }
}

TEST(ArraySorter, may_sort_in_place) {
  const KeyLayout layout(make_format("u64"));
  Devices gpus(2, {.memory_bytes = 32 * kMiB});
  Bytes records = make_records(100000, 8, Keys::uniform, 1);
  const Bytes expected = sorted_copy(records, layout);
  ArraySorter sorter(gpus.all, layout, records.size(), {});
  const SortedArray array{records, records};
  sorter.sort({&array, 1});
  EXPECT_TRUE(records == expected);
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
  const Bytes records = make_records(20000, 100, Keys::uniform, 1);
  Bytes sorted(records.size());
  for (const std::string failing :
       {"copy in", "load", "sort", "refine", "cut", "concatenate", "store", "copy out"}) {
    for (const int nth : {1, 5}) {
      std::atomic<int> calls = 0;
      bool failed = false;
      SimulatedOptions options{.memory_bytes = 64 * kMiB};
      options.before = [&](const char* operation) {
        if (operation == failing && ++calls >= nth) {
          throw Error(ErrorCode::device, "it fails: " + failing);
        }
      };
      Devices gpus(2, options);
      try {
        ArraySorter sorter(gpus.all, layout, records.size(), {.memory_bytes = 16 * kMiB});
        const SortedArray array{records, sorted};
        sorter.sort({&array, 1});
      } catch (const Error& error) {
        failed = true;
        EXPECT_NE(std::string(error.what()).find("it fails"), std::string::npos);
      }
      EXPECT_TRUE(failed || calls < nth) << failing;
    }
  }
}

}  // namespace
}  // namespace xxl::gpu
