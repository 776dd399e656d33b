// What tests of arrays and chunks on simulated devices share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "gpu/simulated/simulated_device.h"
#include "record/key_layout.h"
#include "record/record_format.h"

namespace xxl::gpu::test {

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

inline Bytes make_records(std::size_t count, const KeyLayout& layout, Keys keys,
                          std::uint64_t seed) {
  const std::size_t record_bytes = layout.record_bytes();
  // What is not the key stays random, to tell equal keys apart.
  const std::size_t front = record_bytes >= 16 || layout.kind() == RecordKind::key64 ? 8 : 4;
  std::mt19937_64 random(seed);
  Bytes records(count * record_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const record = records.data() + i * record_bytes;
    for (std::size_t b = 0; b < record_bytes; ++b) record[b] = static_cast<std::byte>(random());
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
    std::memcpy(record, &value, front);
  }
  return records;
}

inline Bytes sorted_copy(const Bytes& records, const KeyLayout& layout) {
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

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  out << c.record;
  for (const auto& key : c.keys) out << " " << key;
  return out;
}

inline RecordFormat make_format(const std::string& record,
                                const std::vector<std::string>& keys = {}) {
  RecordFormat format = parse_record_format(record);
  if (!keys.empty()) format.key.clear();
  for (const std::string& key : keys) format.key.push_back(parse_key_field(key, format));
  return format;
}

inline const Case kFormats[] = {{"u32", {}},
                                {"u64", {}},
                                {"i64", {}},
                                {"f64", {}},
                                {"f32", {}},
                                {"kv32", {}},
                                {"kv64", {}},
                                {"gensort", {}},
                                {"fixed:8", {"0:i64:desc"}},
                                {"fixed:13", {"3:bytes9"}},
                                {"fixed:40", {"8:bytes20:desc", "0:u16be"}},
                                {"fixed:24", {"0:f64:desc", "16:i32"}}};

constexpr MultiGpu kStrategies[] = {MultiGpu::partition, MultiGpu::independent,
                                    MultiGpu::p2p_merge};
constexpr Keys kAllKeys[] = {Keys::uniform, Keys::few,     Keys::equal,
                             Keys::sorted,  Keys::reverse, Keys::shared_prefix};

// Devices on which the operation `failing` fails from the `nth` time on, on all together. `calls`
// counts it.
inline SimulatedOptions failing_at(const std::string& failing, int nth, std::atomic<int>& calls) {
  SimulatedOptions options{.memory_bytes = 64 * kMiB};
  options.before = [failing, nth, &calls](const char* operation) {
    if (operation == failing && ++calls >= nth) {
      throw Error(ErrorCode::device, "it fails: " + failing);
    }
  };
  return options;
}

// Runs `work` on devices of which `failing` fails: it does, and says so, if it gets that far.
template <class Work>
void expect_to_fail(std::size_t devices, const std::string& failing, int nth, Work work) {
  std::atomic<int> calls = 0;
  bool failed = false;
  Devices gpus(devices, failing_at(failing, nth, calls));
  try {
    work(gpus);
  } catch (const Error& error) {
    failed = true;
    EXPECT_NE(std::string(error.what()).find("it fails"), std::string::npos) << error.what();
  }
  EXPECT_GE(calls, 1) << failing;
  EXPECT_TRUE(failed || calls < nth) << failing;
}

}  // namespace xxl::gpu::test
