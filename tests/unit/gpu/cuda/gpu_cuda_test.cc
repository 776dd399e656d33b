// Operations of real GPUs, compared with those of simulated devices; skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "gpu/array/array_sort.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/join/array_hash_join.h"
#include "gpu/join/array_join.h"
#include "gpu/simulated/simulated_device.h"
#include "sort_test_support.h"

namespace xxl::gpu {
namespace {

using test::Bytes;
using test::format_of;

// What the operations under test are run on, with memory that host bytes are copied to and from.
class Bench {
 public:
  explicit Bench(Device& device) : device_(device), stream_(device.make_stream()) {}

  Stream& stream() { return *stream_; }
  Device& device() { return device_; }
  std::byte* memory(std::size_t bytes) {
    held_.emplace_back(device_, bytes);
    return held_.back().data();
  }
  std::span<std::byte> scratch(std::size_t bytes) { return {memory(bytes), bytes}; }
  std::byte* put(const void* from, std::size_t bytes) {
    std::byte* const to = memory(bytes);
    stream_->copy_in(to, static_cast<const std::byte*>(from), bytes);
    return to;
  }
  Bytes get(const std::byte* from, std::size_t bytes) {
    Bytes to(bytes);
    stream_->copy_out(to.data(), from, bytes);
    stream_->finish();
    return to;
  }
  // Room for items.
  Items items(const ItemShape& shape, std::size_t count) {
    std::byte* const keys = memory(count * shape.key_bytes);
    return {keys, shape.value_bytes == 0 ? nullptr : memory(count * shape.value_bytes), count};
  }
  // Keys and values, one array behind the other.
  Bytes get(const ItemShape& shape, const Items& items) {
    Bytes all = get(items.keys, items.count * shape.key_bytes);
    if (shape.value_bytes != 0) {
      const Bytes values = get(items.values, items.count * shape.value_bytes);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  Items put(const ItemShape& shape, const Bytes& keys, const Bytes& values) {
    return {put(keys.data(), keys.size()),
            shape.value_bytes == 0 ? nullptr : put(values.data(), values.size()),
            keys.size() / shape.key_bytes};
  }
  KeyView view(const KeyLayout& layout) {
    std::vector<KeyLayout::WordPart> segments;
    std::vector<std::uint32_t> first;
    for (std::size_t word = 0; word < layout.words(); ++word) {
      first.push_back(static_cast<std::uint32_t>(segments.size()));
      const auto& parts = layout.segments(word);
      segments.insert(segments.end(), parts.begin(), parts.end());
    }
    first.push_back(static_cast<std::uint32_t>(segments.size()));
    KeyView view;
    view.words = static_cast<std::uint32_t>(layout.words());
    view.first_segment =
        reinterpret_cast<const std::uint32_t*>(put(first.data(), first.size() * sizeof first[0]));
    view.segments = reinterpret_cast<const KeyLayout::WordPart*>(
        put(segments.data(), segments.size() * sizeof segments[0]));
    stream_->finish();
    return view;
  }

 private:
  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::vector<DeviceMemory> held_;
};

// Pins arrays while it lives.
class Pinned {
 public:
  Pinned(Device& device, std::initializer_list<std::span<const std::byte>> arrays)
      : device_(device) {
    for (const auto& array : arrays) {
      if (array.empty()) continue;
      arrays_.emplace_back(const_cast<std::byte*>(array.data()), array.size());
      device_.pin(arrays_.back());
    }
  }
  ~Pinned() {
    for (const auto& array : arrays_) device_.unpin(array);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  Device& device_;
  std::vector<std::span<std::byte>> arrays_;
};

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    devices_ = cuda_devices(reason);
    if (devices_.empty()) GTEST_SKIP() << "NOT TESTED: no GPU: " << reason;
  }

  Bytes random(std::size_t bytes) { return test::random_bytes(bytes, random_); }
  // Words of `bytes` bytes with few different values.
  Bytes few(std::size_t count, unsigned bytes) {
    Bytes words(count * bytes);
    for (std::size_t i = 0; i < count; ++i) {
      words[i * bytes + bytes - 1] = static_cast<std::byte>(random_() % 5);
    }
    return words;
  }

  std::vector<std::unique_ptr<Device>> devices_;
  SimulatedDevice simulated_{0, {.memory_bytes = 8 * kGiB}};
  Random random_{7};
};

TEST_F(Cuda, sorts_items_as_simulated) {
  for (const ItemShape shape : {ItemShape{4, 0}, {8, 0}, {4, 4}, {8, 8}}) {
    for (const std::size_t count : {1, 2, 255, 5000, 300001}) {
      for (const bool equal : {false, true}) {
        const Bytes keys = equal ? few(count, shape.key_bytes) : random(count * shape.key_bytes);
        const Bytes values = random(count * shape.value_bytes);
        Bytes results[2];
        for (Device* device : {static_cast<Device*>(&simulated_), devices_[0].get()}) {
          Bench bench(*device);
          const Items from = bench.put(shape, keys, values);
          const Items to = bench.items(shape, count);
          bench.stream().sort(shape, from, to,
                              bench.scratch(device->sort_scratch_bytes(shape, count)));
          results[device == &simulated_] = bench.get(shape, to);
        }
        ASSERT_TRUE(results[0] == results[1]) << shape.key_bytes << " " << count;
      }
    }
  }
}

TEST_F(Cuda, makes_items_and_records_as_simulated) {
  for (const auto& [record, key] : {std::pair("u32", ""),
                                    {"i32", ""},
                                    {"f32", ""},
                                    {"u64", ""},
                                    {"f64", ""},
                                    {"kv32", ""},
                                    {"kv64", ""},
                                    {"fixed:8", "0:i64:desc"},
                                    {"fixed:16", "0:f64:desc"}}) {
    const KeyLayout layout(*key == 0 ? format_of(record) : format_of(record, {key}));
    const RecordShape shape = ChunkFormat::of(layout).shape;
    const std::size_t count = 70001;
    const Bytes records = random(count * shape.record_bytes);
    Bytes results[2];
    for (Device* device : {static_cast<Device*>(&simulated_), devices_[0].get()}) {
      Bench bench(*device);
      const Items items = bench.items(shape.item, count);
      bench.stream().load(shape, {}, bench.put(records.data(), records.size()), items);
      results[device == &simulated_] = bench.get(shape.item, items);
      std::byte* const back = bench.memory(records.size());
      bench.stream().store(shape, items, back);
      EXPECT_TRUE(bench.get(back, records.size()) == records) << record;
    }
    EXPECT_TRUE(results[0] == results[1]) << record;
  }
}

TEST_F(Cuda, refines_and_gathers_records_as_simulated) {
  for (const auto& [record, key] : {std::pair("gensort", ""),
                                    {"fixed:40", "1:bytes37"},
                                    {"fixed:40", "3:bytes30:desc"},
                                    {"fixed:33", ""},
                                    {"fixed:48", ""}}) {
    const KeyLayout layout(*key == 0 ? format_of(record) : format_of(record, {key}));
    const RecordShape shape = ChunkFormat::of(layout).shape;
    const std::size_t count = 30001, bytes = shape.record_bytes;
    for (const int common : {0, 20, 40}) {
      // Keys that share their start, differ late, or are equal.
      Bytes records(count * bytes, std::byte{7});
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t b = static_cast<std::size_t>(common); b < bytes; ++b) {
          records[i * bytes + b] = static_cast<std::byte>(random_() % 3);
        }
      }
      Bytes results[2];
      for (Device* device : {static_cast<Device*>(&simulated_), devices_[0].get()}) {
        Bench bench(*device);
        const KeyView view = bench.view(layout);
        const Items from = bench.items(shape.item, count), to = bench.items(shape.item, count);
        Stream& stream = bench.stream();
        stream.load(shape, view, bench.put(records.data(), records.size()), from);
        stream.sort(shape.item, from, to,
                    bench.scratch(device->sort_scratch_bytes(shape.item, count)));
        stream.refine(view, to, bench.scratch(device->refine_scratch_bytes(count)));
        std::byte* const out = bench.memory(records.size());
        stream.store(shape, to, out);
        results[device == &simulated_] = bench.get(out, records.size());
      }
      ASSERT_TRUE(results[0] == results[1]) << record << " " << key << " common " << common;
    }
  }
}

TEST_F(Cuda, cuts_and_concatenates_as_simulated) {
  for (const ItemShape shape : {ItemShape{4, 0}, {8, 0}, {4, 4}, {8, 8}}) {
    for (const bool equal : {false, true}) {
      const std::vector<std::size_t> counts = {1000, 1, 0, 7777, 300, 20000, 5};
      std::vector<std::uint64_t> ranks;
      for (std::uint64_t rank = 1; rank < 29083; rank += 977) ranks.push_back(rank);
      std::vector<Bytes> keys, values;
      for (const std::size_t count : counts) {
        keys.push_back(equal ? few(count, shape.key_bytes) : random(count * shape.key_bytes));
        values.push_back(random(count * shape.value_bytes));
      }
      std::vector<std::uint64_t> cuts[2];
      Bytes results[2];
      for (Device* device : {static_cast<Device*>(&simulated_), devices_[0].get()}) {
        Bench bench(*device);
        std::vector<Items> sequences;
        for (std::size_t s = 0; s < counts.size(); ++s) {
          if (counts[s] == 0) {
            sequences.push_back({nullptr, nullptr, 0});
            continue;
          }
          const Items from = bench.put(shape, keys[s], values[s]);
          sequences.push_back(bench.items(shape, counts[s]));
          bench.stream().sort(shape, from, sequences.back(),
                              bench.scratch(device->sort_scratch_bytes(shape, counts[s])));
        }
        const int which = device == &simulated_;
        cuts[which] = bench.stream().cut(shape, {}, false, sequences, ranks);
        const Items all =
            bench.items(shape, std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
        bench.stream().concatenate(shape, sequences, all);
        results[which] = bench.get(shape, all);
      }
      EXPECT_TRUE(cuts[0] == cuts[1]) << shape.key_bytes;
      EXPECT_TRUE(results[0] == results[1]) << shape.key_bytes;
    }
  }
}

TEST_F(Cuda, matches_sorted_keys_as_simulated) {
  for (const unsigned key_bytes : {4u, 8u}) {
    const ItemShape shape{key_bytes, 0};
    for (const std::size_t distinct : {1, 7, 3000, 1'000'000}) {
      for (const auto& [r_count, s_count] : {std::pair<std::size_t, std::size_t>{1, 1},
                                             {5000, 1},
                                             {1, 100000},
                                             {100000, 300000},
                                             {300000, 9000},
                                             {kMatchTile, kMatchTile}}) {
        Bytes keys[2];
        for (Bytes* side : {&keys[0], &keys[1]}) {
          std::vector<std::uint64_t> words(side == &keys[0] ? r_count : s_count);
          for (std::uint64_t& word : words) word = random_.below(distinct) << 9;
          std::sort(words.begin(), words.end());
          for (const std::uint64_t word : words) {
            const auto* const from = reinterpret_cast<const std::byte*>(&word);
            side->insert(side->end(), from, from + key_bytes);
          }
        }
        Bytes ranges[2], totals[2], totals_alone[2];
        const std::size_t tiles = (r_count + kMatchTile - 1) / kMatchTile;
        for (Device* device : {static_cast<Device*>(&simulated_), devices_[0].get()}) {
          Bench bench(*device);
          const Items r = bench.put(shape, keys[0], {}), s = bench.put(shape, keys[1], {});
          std::byte* const range = bench.memory(r_count * sizeof(MatchRange));
          std::byte* const total = bench.memory(tiles * sizeof(TileTotals));
          const int which = device == &simulated_;
          const auto match = [&](MatchRange* to) {
            bench.stream().match(key_bytes, r, s, to, reinterpret_cast<TileTotals*>(total));
            return bench.get(total, tiles * sizeof(TileTotals));
          };
          totals[which] = match(reinterpret_cast<MatchRange*>(range));
          ranges[which] = bench.get(range, r_count * sizeof(MatchRange));
          totals_alone[which] = match(nullptr);
        }
        EXPECT_TRUE(totals[0] == totals[1]) << key_bytes << " " << distinct << " " << r_count;
        EXPECT_TRUE(totals[0] == totals_alone[0]) << key_bytes << " " << distinct;
        EXPECT_TRUE(ranges[0] == ranges[1]) << key_bytes << " " << distinct << " " << r_count;
      }
    }
  }
}

TEST_F(Cuda, joins_arrays_on_all_gpus_as_simulated) {
  for (const auto& [r_record, s_record] :
       {std::pair("kv32", "kv32"), {"kv64", "kv64"}, {"u64", "kv64"}, {"kv32", "u32"}}) {
    const RecordFormat r_format = format_of(r_record), s_format = format_of(s_record);
    const KeyLayout r_layout(r_format), s_layout(s_format);
    const Bytes r =
        test::sorted_records(r_format, test::few_distinct_records(r_format, 50000, 20000, random_));
    Bytes s = test::few_distinct_records(s_format, 90000, 20000, random_);
    // Partners: keys of R, every other one.
    for (std::size_t i = 0; i < 90000; i += 2) {
      std::memcpy(s.data() + i * s_format.record_bytes,
                  r.data() + random_.below(50000) * r_format.record_bytes, r_format.key_bytes());
    }
    s = test::sorted_records(s_format, s);
    for (const WantedRows& wanted :
         {kInnerJoin, kLeftJoin, kRightJoin, kFullJoin, kSemiJoin, kAntiJoin}) {
      ArrayJoiner reference({&simulated_}, r_layout, s_layout, {.part_records = 9000});
      const std::size_t bytes = reference.count(r, s).rows(wanted) * reference.row_bytes(wanted);
      Bytes expected(bytes);
      reference.join(r, s, wanted, expected);
      for (std::size_t count = 1; count <= devices_.size(); ++count) {
        std::vector<Device*> devices;
        for (std::size_t i = 0; i < count; ++i) devices.push_back(devices_[i].get());
        for (const bool host_rows : {false, true}) {
          ArrayJoiner joiner(devices, r_layout, s_layout,
                             {.part_records = 9000, .host_rows = host_rows});
          Bytes rows(bytes);
          const Pinned pinned(*devices.front(), {r, s, rows});
          EXPECT_EQ(joiner.join(r, s, wanted, rows).rows(wanted) * joiner.row_bytes(wanted), bytes);
          EXPECT_TRUE(rows == expected) << r_record << " on " << count;
        }
      }
    }
  }
}

// Rows of joins by hash, sorted: batches and partners may come in any order.
TEST_F(Cuda, joins_by_hash_on_all_gpus_as_simulated) {
  for (const auto& [probe_record, build_record] :
       {std::pair("kv32", "kv32"), {"kv64", "kv64"}, {"u64", "kv64"}, {"kv32", "u32"}}) {
    const RecordFormat probe_format = format_of(probe_record),
                       build_format = format_of(build_record);
    const KeyLayout probe_layout(probe_format), build_layout(build_format);
    for (const std::size_t distinct : {20000, 300}) {
      const Bytes build = test::few_distinct_records(build_format, 30000, distinct, random_);
      Bytes probe = test::few_distinct_records(probe_format, 90000, distinct, random_);
      for (std::size_t i = 0; i < 90000; i += distinct < 1000 ? 50 : 2) {
        std::memcpy(probe.data() + i * probe_format.record_bytes,
                    build.data() + random_.below(30000) * build_format.record_bytes,
                    probe_format.key_bytes());
      }
      for (const WantedRows& wanted : {kInnerJoin, kLeftJoin, kSemiJoin, kAntiJoin}) {
        const auto rows_of = [&](const std::vector<Device*>& devices, std::uint64_t memory) {
          HashJoiner joiner(devices, probe_layout, build_layout, 30000,
                            {.memory_bytes = memory, .batch_records = 8192, .threads = 2});
          const std::size_t row_bytes = joiner.row_bytes(wanted);
          const Pinned pinned_input(*devices.front(), {probe, build});
          Bytes rows(joiner.count(probe, build).rows(wanted) * row_bytes);
          const Pinned pinned_rows(*devices.front(), {rows});
          joiner.join(probe, build, wanted, rows);
          EXPECT_EQ(joiner.near_part() < 1, memory != 0);
          std::vector<std::string> sorted;
          for (std::size_t at = 0; at < rows.size(); at += row_bytes) {
            sorted.emplace_back(reinterpret_cast<const char*>(rows.data()) + at, row_bytes);
          }
          std::sort(sorted.begin(), sorted.end());
          return sorted;
        };
        const auto expected = rows_of({&simulated_}, 0);
        // Room for a part of the table.
        const std::size_t build_bytes = build_format.record_bytes;
        const HashJoinShape part{.build_records = 12000,
                                 .build_record_bytes = build_bytes,
                                 .batch = {.records = 4096,
                                           .record_bytes = probe_format.record_bytes,
                                           .row_bytes = probe_format.record_bytes + build_bytes -
                                                        build_format.key_bytes()}};
        std::vector<Device*> devices;
        for (const auto& device : devices_) {
          devices.push_back(device.get());
          EXPECT_TRUE(rows_of(devices, 0) == expected) << probe_record;
          EXPECT_TRUE(rows_of(devices, part.bytes()) == expected) << probe_record;
        }
      }
    }
  }
}

TEST_F(Cuda, sorts_and_gathers_text_as_simulated) {
  const std::vector<std::string> starts = {"", "a", "https://example.org/a/long/path?",
                                           std::string(3000, 'x'), std::string(40000, 'y')};
  for (const bool keyed : {false, true}) {
    for (const bool descending : {false, true}) {
      std::vector<std::string> lines;
      for (int i = 0; i < 3000; ++i) {
        const std::string& start = starts[random_() % (i % 50 == 0 ? 5 : 3)];
        std::string end;
        for (std::size_t n = random_() % 12; n > 0; --n) {
          end.push_back(static_cast<char>(random_() % 3 == 0 ? 0 : 'a' + random_() % 2));
        }
        lines.push_back(start + end);
      }
      Bytes results[2];
      std::size_t slices[2];
      for (Device* device : {static_cast<Device*>(&simulated_), devices_[0].get()}) {
        Bench bench(*device);
        std::size_t size = 0;
        for (const std::string& line : lines) size += 16 + 2 * padded(line.size());
        std::byte* const arena = bench.memory(size);
        Bytes packed(size);
        std::vector<std::uint64_t> words, addresses;
        std::size_t at = 0, text_bytes = 0;
        for (const std::string& line : lines) {
          const std::string key = keyed ? std::string(line.rbegin(), line.rend()) : line;
          const EntryHeader header{keyed ? static_cast<std::uint32_t>(key.size()) : kKeyIsRecord,
                                   static_cast<std::uint32_t>(line.size())};
          addresses.push_back(reinterpret_cast<std::uint64_t>(arena + at));
          const std::uint64_t word =
              text_word(reinterpret_cast<const unsigned char*>(key.data()), key.size());
          words.push_back(descending ? ~word : word);
          std::memcpy(packed.data() + at, &header, sizeof header);
          at += sizeof header;
          if (keyed) {
            std::memcpy(packed.data() + at, key.data(), key.size());
            at += padded(key.size());
          }
          std::memcpy(packed.data() + at, line.data(), line.size());
          at += padded(line.size());
          text_bytes += line.size() + 1;
        }
        Stream& stream = bench.stream();
        stream.copy_in(arena, packed.data(), at);
        constexpr ItemShape kShape{8, 8};
        const std::size_t count = lines.size();
        const Items from{bench.put(words.data(), 8 * count), bench.put(addresses.data(), 8 * count),
                         count};
        const Items to = bench.items(kShape, count);
        const auto scratch = bench.scratch(device->refine_scratch_bytes(count));
        KeyView view;
        view.text = true;
        view.descending = descending;
        stream.sort(kShape, from, to, bench.scratch(device->sort_scratch_bytes(kShape, count)));
        stream.refine(view, to, scratch);
        auto* const offsets = reinterpret_cast<std::uint64_t*>(bench.memory(8 * (count + 1)));
        const auto parts = stream.slice_text(to, 100000, offsets, scratch);
        std::byte* const out = bench.memory(text_bytes);
        std::size_t done = 0;
        for (const GeneralSlice& part : parts) {
          stream.gather_text(to, part, offsets, '\n', out + done);
          done += part.bytes;
        }
        const int which = device == &simulated_;
        slices[which] = parts.size();
        ASSERT_EQ(done, text_bytes);
        results[which] = bench.get(out, text_bytes);
      }
      EXPECT_EQ(slices[0], slices[1]);
      EXPECT_TRUE(results[0] == results[1]) << keyed << descending;
    }
  }
}

TEST_F(Cuda, sorts_arrays_of_every_format_on_all_gpus) {
  for (const auto& [record, key] : {std::pair("u32", ""),
                                    {"f64", ""},
                                    {"kv32", ""},
                                    {"kv64", ""},
                                    {"gensort", ""},
                                    {"fixed:13", "3:bytes9"}}) {
    const RecordFormat format = *key == 0 ? format_of(record) : format_of(record, {key});
    const KeyLayout layout(format);
    Bytes records = random(200001 * format.record_bytes);
    for (std::size_t i = 0; i < records.size(); i += 3) records[i] = std::byte{1};
    const Bytes expected = test::sorted_records(format, records);
    for (std::size_t count = 1; count <= devices_.size(); ++count) {
      for (const MultiGpu strategy : {MultiGpu::partition, MultiGpu::p2p_merge}) {
        std::vector<Device*> devices;
        for (std::size_t i = 0; i < count; ++i) devices.push_back(devices_[i].get());
        Bytes sorted(records.size());
        ArraySorter sorter(devices, layout, records.size(),
                           {.strategy = strategy, .memory_bytes = 512 * kMiB});
        const SortedArray array{records, sorted};
        sorter.sort({&array, 1});
        ASSERT_TRUE(sorted == expected) << record << " on " << count;
      }
    }
  }
}

TEST_F(Cuda, says_when_memory_is_short) {
  try {
    devices_[0]->allocate(std::size_t{1} << 50);
    FAIL() << "a petabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
  }
}

}  // namespace
}  // namespace xxl::gpu
