// Chunks on simulated devices: every record format and strategy, compared with std::stable_sort.
#include "gpu/array/array_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "gpu/array/het_sort.h"
#include "gpu/simulated/simulated_device.h"
#include "watchdog.h"

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

Bytes make_records(std::size_t count, const KeyLayout& layout, Keys keys, std::uint64_t seed) {
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

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat,
                         testing::Values(Case{"u32", {}}, Case{"u64", {}}, Case{"i64", {}},
                                         Case{"f64", {}}, Case{"f32", {}}, Case{"kv32", {}},
                                         Case{"kv64", {}}, Case{"gensort", {}},
                                         Case{"fixed:8", {"0:i64:desc"}},
                                         Case{"fixed:13", {"3:bytes9"}},
                                         Case{"fixed:40", {"8:bytes20:desc", "0:u16be"}},
                                         Case{"fixed:24", {"0:f64:desc", "16:i32"}}));

// With as little memory as will do: the array arrives in many pieces and leaves in many batches.
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

constexpr MultiGpu kStrategies[] = {MultiGpu::partition, MultiGpu::independent,
                                    MultiGpu::p2p_merge};

TEST_P(EveryFormat, is_sorted_stably_on_any_number_of_devices) {
  const KeyLayout layout(format());
  for (const Keys keys :
       {Keys::uniform, Keys::few, Keys::equal, Keys::sorted, Keys::reverse, Keys::shared_prefix}) {
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

// As few bytes of each device as will do, so that there are many groups of chunks; then some more;
// then enough for all at once.
TEST_P(EveryFormat, is_sorted_by_devices_and_merged_by_processors) {
  const KeyLayout layout(format());
  for (const Keys keys :
       {Keys::uniform, Keys::few, Keys::equal, Keys::sorted, Keys::reverse, Keys::shared_prefix}) {
    const Bytes records = make_records(20000, layout, keys, 1);
    const Bytes expected = sorted_copy(records, layout);
    for (const std::size_t devices : {1, 2, 3, 5}) {
      for (std::uint64_t memory : {kMiB, 2 * kMiB, 64 * kMiB}) {
        const test::Watchdog watchdog;
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
  const test::Watchdog watchdog;
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
  for (const std::string failing :
       {"copy in", "load", "sort", "refine", "cut", "concatenate", "store", "copy out"}) {
    for (const int nth : {1, 2, 5}) {
      const test::Watchdog watchdog;
      std::atomic<int> calls = 0;
      bool failed = false;
      SimulatedOptions options{.memory_bytes = 64 * kMiB};
      options.before = [&](const char* operation) {
        if (operation == failing && ++calls >= nth) {
          throw Error(ErrorCode::device, "it fails: " + failing);
        }
      };
      Devices gpus(3, options);
      Bytes sorted(records.size());
      try {
        HetSorter sorter(gpus.all, layout, records.size(), 8 * kMiB, 2);
        sorter.sort({records, sorted});
      } catch (const Error& error) {
        failed = true;
        EXPECT_NE(std::string(error.what()).find("it fails"), std::string::npos);
      }
      EXPECT_TRUE(failed || calls < nth) << failing;
    }
  }
}

// While rounds are merged, and while others wait for their turn.
TEST(HetSorter, ends_in_the_middle_of_a_merge) {
  const KeyLayout layout(make_format("kv64"));
  const Bytes records = make_records(400'000, layout, Keys::uniform, 1);
  for (const std::uint64_t memory : {2 * kMiB, 64 * kMiB}) {
    for (int nth = 1; nth < 80; nth += 6) {
      const test::Watchdog watchdog;
      std::atomic<int> calls = 0;
      SimulatedOptions options{.memory_bytes = 128 * kMiB};
      options.before = [&](const char* operation) {
        if (operation == std::string_view("copy out") && ++calls >= nth) {
          throw Error(ErrorCode::device, "it fails");
        }
      };
      Devices gpus(2, options);
      Bytes sorted(records.size());
      HetSorter sorter(gpus.all, layout, records.size(), memory, 2);
      EXPECT_THROW(sorter.sort({records, sorted}), Error);
    }
  }
}

TEST(HetSorter, says_when_the_memory_is_too_small) {
  const KeyLayout layout(make_format("u64"));
  Devices gpus(1, {.memory_bytes = 16 * kMiB});
  EXPECT_THROW(HetSorter(gpus.all, layout, kMiB, 64 * kKiB, 1), Error);
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
        std::atomic<int> calls = 0;
        bool failed = false;
        SimulatedOptions options{.memory_bytes = 64 * kMiB};
        options.before = [&](const char* operation) {
          if (operation == failing && ++calls >= nth) {
            throw Error(ErrorCode::device, "it fails: " + failing);
          }
        };
        Devices gpus(4, options);
        try {
          const auto sorter = tight_sorter(gpus, layout, records.size(), {.strategy = strategy});
          const SortedArray array{records, sorted};
          sorter->sort({&array, 1});
        } catch (const Error& error) {
          failed = true;
          EXPECT_NE(std::string(error.what()).find("it fails"), std::string::npos);
        }
        EXPECT_GE(calls, 1) << failing;
        EXPECT_TRUE(failed || calls < nth) << failing;
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

// Chunks that leave in order while the next ones arrive, as slices of runs do: sends chunks of so
// many records of 16 bytes through an engine with pieces and batches of 100 and slices of 30, and
// compares what comes out.
void expect_chunks_in_order(const std::vector<Device*>& devices, MultiGpu strategy, unsigned chunks,
                            const std::vector<std::size_t>& counts) {
  const test::Watchdog watchdog;
  const KeyLayout layout(make_format("kv64"));
  const ChunkFormat format = ChunkFormat::of(layout);
  constexpr std::size_t kPieceItems = 100;
  ChunkGeometry geometry;
  geometry.piece_items = geometry.batch_items = kPieceItems;
  geometry.piece_bytes = kPieceItems * 16;
  geometry.slice_bytes = 30 * 16;
  geometry.chunks = chunks;
  geometry.landing_slots = 8;
  geometry.arena_bytes = 40 * geometry.arena_piece_bytes(format);
  std::vector<Bytes> records, sorted;
  for (const std::size_t count : counts) {
    records.push_back(make_records(count, layout, Keys::few, count));
    sorted.emplace_back(records.back().size());
  }
  Mailbox mailbox;
  ChunkEngine engine(devices, format, geometry, strategy, mailbox, nullptr);
  std::size_t feeding = 0, fed = 0, leaving = 0, left = 0, copying = 0;
  while (leaving < records.size() || copying > 0) {
    while (feeding < records.size()) {
      ChunkEngine::DevicePiece* const piece = engine.open_piece();
      if (piece == nullptr) break;
      const std::size_t bytes = std::min(kPieceItems * 16, records[feeding].size() - fed);
      engine.copy_in(*piece, piece->records, records[feeding].data() + fed, bytes, [] {});
      engine.close_piece(piece, bytes / 16, bytes);
      fed += bytes;
      if (fed == records[feeding].size()) {
        engine.seal();
        ++feeding;
        fed = 0;
      }
    }
    while (const auto slice = engine.next_slice()) {
      ASSERT_EQ(slice->chunk, leaving);
      ASSERT_EQ(slice->first * 16, left);
      ++copying;
      engine.copy_out(*slice, sorted[leaving].data() + left, [&copying] { --copying; });
      left += slice->bytes;
      if (left == records[leaving].size()) {
        ++leaving;
        left = 0;
      }
    }
    if (leaving < records.size() || copying > 0) mailbox.wait_and_run();
  }
  EXPECT_TRUE(engine.empty());
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_TRUE(sorted[i] == sorted_copy(records[i], layout)) << "chunk " << i;
  }
}

TEST(ChunkEngine, begins_with_small_batches_where_nothing_else_leaves) {
  for (const unsigned chunks : {1u, 2u}) {
    const test::Watchdog watchdog;
    const KeyLayout layout(make_format("u64"));
    const ChunkFormat format = ChunkFormat::of(layout);
    ChunkGeometry geometry;
    geometry.piece_items = geometry.batch_items = 160;
    geometry.piece_bytes = geometry.slice_bytes = 160 * 8;
    geometry.chunks = chunks;
    geometry.arena_bytes = 8 * geometry.arena_piece_bytes(format);
    const Bytes records = make_records(320, layout, Keys::uniform, 1);
    const Devices gpus(1, {});
    Mailbox mailbox;
    ChunkEngine engine(gpus.all, format, geometry, MultiGpu::partition, mailbox, nullptr);
    for (const std::size_t first : {0, 160}) {
      ChunkEngine::DevicePiece* const piece = engine.open_piece();
      engine.copy_in(*piece, piece->records, records.data() + first * 8, 160 * 8, [] {});
      engine.close_piece(piece, 160, 160 * 8);
    }
    engine.seal();
    std::vector<std::size_t> sizes;
    for (std::size_t given = 0; given < 320;) {
      mailbox.wait_and_run();
      while (const auto slice = engine.next_slice()) {
        sizes.push_back(slice->records);
        given += slice->records;
        static std::byte out[320 * 8];
        engine.copy_out(*slice, out, [] {});
      }
    }
    EXPECT_EQ(sizes, chunks == 1 ? (std::vector<std::size_t>{10, 20, 40, 80, 160, 10})
                                 : (std::vector<std::size_t>{160, 160}));
  }
}

TEST(ChunkEngine, gives_chunks_out_in_order_slice_by_slice) {
  for (const MultiGpu strategy : kStrategies) {
    for (const std::size_t devices : {1, 3}) {
      const Devices gpus(devices, {});
      expect_chunks_in_order(gpus.all, strategy, 2, {2000, 1, 3000, 50, 50, 50, 2500, 7});
    }
  }
}

// The first chunk's swap is held up until the second chunk, which has nothing to swap, is sorted:
// its slices must not take the slots that the first one needs.
TEST(ChunkEngine, keeps_chunks_in_order_while_devices_swap_halves) {
  std::atomic<int> loads = 0;
  SimulatedOptions first, second;
  first.before = [&loads](const char* operation) {
    const std::string_view name = operation;
    // The third piece of this device is loaded when the engine has been told of the second one,
    // which is the second chunk.
    if (name == "load") {
      ++loads;
      loads.notify_all();
    }
    if (name != "copy") return;
    for (int seen; (seen = loads) < 3;) loads.wait(seen);
  };
  SimulatedDevice one(0, first), two(1, second);
  expect_chunks_in_order({&one, &two}, MultiGpu::p2p_merge, 3, {200, 100, 200});
  EXPECT_EQ(loads, 3);
}

TEST(ChunkEngine, takes_no_more_pieces_than_can_be_cut) {
  Devices gpus(2, {.memory_bytes = 16 * kMiB});
  const KeyLayout layout(make_format("u64"));
  const ChunkFormat format = ChunkFormat::of(layout);
  ChunkGeometry geometry;
  geometry.piece_items = geometry.batch_items = 100;
  geometry.piece_bytes = geometry.slice_bytes = 800;
  geometry.landing_slots = 8;
  geometry.device_pieces = 3;
  geometry.arena_bytes = kMiB;
  EXPECT_LE(geometry.capacity(format, 8), 3 * geometry.piece_bytes);
  Mailbox mailbox;
  ChunkEngine engine(gpus.all, format, geometry, MultiGpu::partition, mailbox, nullptr);
  for (int piece = 0; piece < 6; ++piece) {
    EXPECT_FALSE(engine.chunk_is_full());
    EXPECT_NE(engine.open_piece(), nullptr);
  }
  EXPECT_TRUE(engine.chunk_is_full());
  EXPECT_EQ(engine.open_piece(), nullptr);
}

TEST(ChunkGeometry, holds_what_devices_have_however_small_records_are) {
  SimulatedDevice device(0, {});
  const std::uint64_t memory = 128 * kGiB;
  for (const char* record : {"u32", "kv64", "fixed:3", "gensort"}) {
    const KeyLayout layout(make_format(record));
    const ChunkFormat format = ChunkFormat::of(layout);
    const auto bytes = static_cast<double>(layout.record_bytes());
    for (const std::size_t devices : {1, 8}) {
      const ChunkGeometry geometry = ChunkGeometry::plan(device, devices, format, bytes, memory,
                                                         ~std::uint64_t{0} / 2, 4 * kMiB, 1);
      EXPECT_LE(geometry.memory_bytes(device, format), memory);
      // Items of records by address take 16 bytes each.
      const double share = format.shape.by_address ? bytes / (bytes + 16) : 1;
      EXPECT_GT(static_cast<double>(geometry.capacity(format, bytes)),
                0.8 * share * static_cast<double>(memory))
          << record << " on " << devices;
    }
  }
}

TEST(ChunkGeometry, says_so_where_no_memory_would_do) {
  SimulatedDevice device(0, {});
  const KeyLayout layout(make_format("u64"));
  const ChunkFormat format = ChunkFormat::of(layout);
  try {
    ChunkGeometry::plan(device, 1, format, 8, kGiB, kGiB, std::size_t{1} << 50, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no GPU has enough"), std::string::npos);
  }
}

// The first chunk's piece on the second device is held up until the second chunk, which is on the
// first device alone, is sorted.
TEST(ChunkEngine, keeps_chunks_in_order_when_a_later_one_is_sorted_first) {
  for (const MultiGpu strategy : {MultiGpu::partition, MultiGpu::p2p_merge}) {
    std::atomic<int> loads = 0;
    SimulatedOptions first, second;
    first.before = [&loads](const char* operation) {
      if (std::string_view(operation) != "load") return;
      ++loads;
      loads.notify_all();
    };
    second.before = [&loads](const char* operation) {
      if (std::string_view(operation) != "load") return;
      for (int seen; (seen = loads) < 3;) loads.wait(seen);
    };
    SimulatedDevice one(0, first), two(1, second);
    expect_chunks_in_order({&one, &two}, strategy, 3, {200, 100, 200});
    EXPECT_EQ(loads, 3);
  }
}

}  // namespace
}  // namespace xxl::gpu
