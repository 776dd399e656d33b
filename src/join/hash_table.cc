#include "join/hash_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/load.h"
#include "base/memory_region.h"
#include "base/partition_index.h"
#include "base/units.h"
#include "record/native_key.h"

namespace xxl {
namespace {

// Records looked up at the same time: enough for as many lines of memory as a core can wait for.
constexpr std::size_t kGroup = 64;
// A bucket with more records is in order of the rest of the hash.
constexpr std::size_t kFewRecords = 8;
constexpr std::size_t kLineBytes = 64;

// The bits of a hash that do not tell the bucket.
std::uint32_t rest_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash);
}

// Both halves of a product: a change of any bit of the word reaches the bits of the bucket and the
// rest.
std::uint64_t mix(std::uint64_t word) {
  const auto product =
      static_cast<unsigned __int128>(word ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class T>
struct NativeKey {
  static std::uint64_t hash(const KeyLayout&, const std::byte* record) {
    return mix(load<T>(record));
  }
  bool equal(const std::byte* build, const std::byte* probe) const {
    return load<T>(build) == load<T>(probe);
  }
};

struct WordsKey {
  const KeyLayout& build;
  const KeyLayout& probe;

  static std::uint64_t hash(const KeyLayout& layout, const std::byte* record) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < layout.words(); ++i) hash = mix(hash ^ layout.word(record, i));
    return hash;
  }
  bool equal(const std::byte* b, const std::byte* p) const {
    for (std::size_t i = 0; i < build.words(); ++i) {
      if (build.word(b, i) != probe.word(p, i)) return false;
    }
    return true;
  }
};

// Of a partition: one for each record, on average.
std::size_t buckets_of(const HashTable::Size& size) {
  return static_cast<std::size_t>(size.records / size.partitions + 1);
}
std::size_t directory_bytes(const HashTable::Size& size) {
  return round_up(size.partitions * (buckets_of(size) + 1) * sizeof(std::uint32_t), kLineBytes);
}
std::size_t matched_bytes(const HashTable::Size& size) {
  return round_up(static_cast<std::size_t>(ceil_div<std::uint64_t>(size.numbers, 64)) * 8,
                  kLineBytes);
}

}  // namespace

std::uint64_t HashTable::memory_bytes(const Size& size) {
  return directory_bytes(size) + matched_bytes(size);
}

HashTable::HashTable(const KeyLayout& build, const KeyLayout& probe, RecordSlabs slabs,
                     const Size& size, std::span<std::byte> memory)
    : build_(build),
      probe_(probe),
      keys_(is_native32(build.kind()) && is_native32(probe.kind())   ? Keys::native32
            : is_native64(build.kind()) && is_native64(probe.kind()) ? Keys::native64
                                                                     : Keys::words),
      slabs_(slabs),
      in_slab_((std::size_t{1} << slabs.shift) - 1),
      record_bytes_(build.record_bytes()),
      size_(size),
      buckets_(buckets_of(size)) {
  XXL_CHECK(size.records <= size.numbers && size.numbers <= kMaxNumbers &&
            build.words() == probe.words());
  Carver carver(memory);
  const auto matched = carver.take(matched_bytes(size), kLineBytes);
  matched_ = reinterpret_cast<std::uint64_t*>(matched.data());
  std::memset(matched.data(), 0, matched.size());
  directory_ =
      reinterpret_cast<std::uint32_t*>(carver.take(directory_bytes(size), kLineBytes).data());
}

template <class F>
decltype(auto) HashTable::with_keys(F&& f) const {
  switch (keys_) {
    case Keys::native32:
      return f(NativeKey<std::uint32_t>{});
    case Keys::native64:
      return f(NativeKey<std::uint64_t>{});
    default:
      return f(WordsKey{build_, probe_});
  }
}

void HashTable::classify(const KeyLayout& layout, const Segment& segment, std::uint16_t* ids,
                         std::uint32_t* counts) const {
  with_keys([&, step = layout.record_bytes()](const auto& key) {
    for (std::size_t i = 0; i < segment.count; ++i) {
      const std::size_t partition = partition_of(key.hash(layout, segment.records + i * step));
      ids[i] = static_cast<std::uint16_t>(partition);
      ++counts[partition];
    }
  });
}

void HashTable::build(std::size_t partition, const RecordNumbers& numbers) {
  const std::uint64_t first = numbers.first;
  std::uint32_t* const starts = directory_ + partition * (buckets_ + 1);
  std::fill_n(starts, buckets_ + 1, 0);
  const std::size_t base = partition * (buckets_ + 1);
  with_keys([&](const auto& key) {
    const auto bucket = [&](const std::byte* record) {
      return bucket_of(key.hash(build_, record)) - base;
    };
    for (std::uint64_t number = first; number < first + numbers.count; ++number) {
      ++starts[bucket(record(number)) + 1];
    }
    starts[0] = static_cast<std::uint32_t>(first);
    for (std::size_t i = 0; i < buckets_; ++i) starts[i + 1] += starts[i];
    permute({starts, buckets_ + 1}, bucket);
    for (std::size_t i = 0; i < buckets_; ++i) {
      const std::size_t records = starts[i + 1] - starts[i];
      if (records > kFewRecords) arrange(key, starts[i], records, 24);
    }
  });
}

// Moves each record to its bucket, in place: bucket i from number starts[i] to starts[i + 1].
template <class Bucket>
void HashTable::permute(std::span<const std::uint32_t> starts, Bucket bucket) {
  std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    while (next[i] < starts[i + 1]) {
      std::byte* const record = place(next[i]);
      const std::size_t to = bucket(record);
      if (to == i) {
        ++next[i];
      } else {
        swap_records(record, place(next[to]++));
      }
    }
  }
}

void HashTable::swap_records(std::byte* a, std::byte* b) const {
  const auto swap_as = [&]<class T>(T) {
    T x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    std::memcpy(a, &y, sizeof y);
    std::memcpy(b, &x, sizeof x);
  };
  switch (record_bytes_) {
    case 4:
      return swap_as(std::uint32_t{});
    case 8:
      return swap_as(std::uint64_t{});
    case 16:
      return swap_as(std::array<std::uint64_t, 2>{});
    default:
      std::swap_ranges(a, a + record_bytes_, b);
  }
}

// Sorts a bucket by the rest of the hash, of which the bits from `shift` + 8 on are equal.
template <class Key>
void HashTable::arrange(const Key& key, std::uint64_t first, std::size_t count, unsigned shift) {
  const auto rest = [&](std::uint64_t number) { return rest_of(key.hash(build_, record(number))); };
  bool is_sorted = true;
  for (std::uint64_t number = first + 1; is_sorted && number < first + count; ++number) {
    is_sorted = rest(number - 1) <= rest(number);
  }
  if (is_sorted) return;
  const auto digit = [&](const std::byte* record) {
    return rest_of(key.hash(build_, record)) >> shift & 0xff;
  };
  std::array<std::uint32_t, 257> starts{};
  for (std::uint64_t number = first; number < first + count; ++number) {
    ++starts[digit(record(number)) + 1];
  }
  starts[0] = static_cast<std::uint32_t>(first);
  for (std::size_t i = 0; i < 256; ++i) starts[i + 1] += starts[i];
  permute(starts, digit);
  for (std::size_t i = 0; shift > 0 && i < 256; ++i) {
    if (starts[i + 1] - starts[i] > 1)
      arrange(key, starts[i], starts[i + 1] - starts[i], shift - 8);
  }
}

struct HashTable::ProbeGroup {
  std::size_t count = 0;
  std::array<std::uint64_t, kGroup> hashes;
  std::array<std::size_t, kGroup> firsts;  // bucket; then the first record that may have the key
  std::array<std::size_t, kGroup> ends;    // after the last one
};

// Finds the records that may have the keys of the group's; returns how many there are.
template <class Key>
std::size_t HashTable::find_candidates(const Key& key, const std::byte* records,
                                       ProbeGroup& group) const {
  const std::size_t count = group.count;
  auto& hashes = group.hashes;
  auto& firsts = group.firsts;
  auto& ends = group.ends;
  const std::size_t step = probe_.record_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    hashes[i] = key.hash(probe_, records + i * step);
    firsts[i] = bucket_of(hashes[i]);
    __builtin_prefetch(directory_ + firsts[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t* const bucket = directory_ + firsts[i];
    firsts[i] = bucket[0];
    ends[i] = bucket[1];
    if (firsts[i] < ends[i]) __builtin_prefetch(record(firsts[i]));
  }
  std::size_t candidates = 0;
  for (std::size_t i = 0; i < count; candidates += ends[i] - firsts[i], ++i) {
    if (ends[i] - firsts[i] <= kFewRecords) continue;
    const auto bound = [&](std::uint64_t rest) {  // the first record with no less
      return partition_index(firsts[i], ends[i], [&](std::uint64_t number) {
        return rest_of(key.hash(build_, record(number))) < rest;
      });
    };
    const std::uint64_t rest = rest_of(hashes[i]);
    const std::size_t first = bound(rest);
    ends[i] = bound(rest + 1);
    firsts[i] = first;
  }
  return candidates;
}

// Lists all pairs of a group's records, for which there is room in `out`, and those without a
// partner, if wanted. What is listed does not decide where the program goes: that would be
// predicted wrongly.
template <class Key>
std::size_t HashTable::list_pairs(const Key& key, const std::byte* records, const ProbeGroup& group,
                                  const ProbeWants& wants, ProbeProgress& progress,
                                  HashMatch* out) {
  std::size_t listed = 0;
  for (std::size_t i = 0; i < group.count; ++i) {
    const std::byte* const probing = records + i * probe_.record_bytes();
    const auto number = static_cast<std::uint32_t>(progress.records + i);
    bool found = false;
    for (std::size_t at = group.firsts[i]; at < group.ends[i]; ++at) {
      const bool equal = key.equal(record(at), probing);
      out[listed] = {number, static_cast<std::uint32_t>(at)};
      listed += equal ? 1 : 0;
      found |= equal;
      if (equal && !is_matched(at)) mark(at);
    }
    out[listed] = {number, HashMatch::kNone};
    listed += !found && wants.unmatched ? 1 : 0;
    progress.matched += found ? 1 : 0;
  }
  progress.records += group.count;
  return listed;
}

template <class Key>
std::size_t HashTable::probe_as(const Key& key, const std::byte* records, std::size_t count,
                                const ProbeWants& wants, ProbeProgress& progress,
                                std::span<HashMatch> out) {
  const std::size_t step = probe_.record_bytes();
  ProbeGroup group;
  std::size_t listed = 0;
  while (progress.records < count) {
    const std::size_t base = progress.records;
    const std::byte* const first_record = records + base * step;
    group.count = std::min(kGroup, count - base);
    const std::size_t candidates = find_candidates(key, first_record, group);
    if (wants.pairs && !progress.begun && out.size() - listed >= candidates + group.count) {
      listed += list_pairs(key, first_record, group, wants, progress, out.data() + listed);
      continue;
    }
    for (std::size_t i = 0; i < group.count; ++i) {
      const std::byte* const probing = first_record + i * step;
      const auto number = static_cast<std::uint32_t>(base + i);
      std::size_t at = progress.begun ? progress.number : group.firsts[i];
      bool found = progress.begun;
      for (; at < group.ends[i]; ++at) {
        if (!key.equal(record(at), probing)) continue;
        if (wants.pairs) {
          if (listed == out.size()) {
            progress.number = at;
            progress.begun = found;
            return listed;
          }
          out[listed++] = {number, static_cast<std::uint32_t>(at)};
        }
        found = true;
        if (!is_matched(at)) {
          mark(at);
        } else if (!wants.pairs) {
          break;  // the thread that marked it marks all of this key
        }
      }
      if (found ? wants.matched : wants.unmatched) {
        if (listed == out.size()) {
          progress.begun = false;
          return listed;
        }
        out[listed++] = {number, HashMatch::kNone};
      }
      progress.begun = false;
      progress.matched += found ? 1 : 0;
      ++progress.records;
    }
  }
  return listed;
}

std::size_t HashTable::probe(const std::byte* records, std::size_t count, const ProbeWants& wants,
                             ProbeProgress& progress, std::span<HashMatch> out) {
  XXL_CHECK(!out.empty() && count <= kMaxNumbers && !(wants.pairs && wants.matched));
  return with_keys(
      [&](const auto& key) { return probe_as(key, records, count, wants, progress, out); });
}

bool HashTable::is_matched(std::size_t number) const {
  const std::uint64_t word = std::atomic_ref(matched_[number / 64]).load(std::memory_order_relaxed);
  return (word >> number % 64 & 1) != 0;
}
void HashTable::mark(std::size_t number) {
  std::atomic_ref(matched_[number / 64])
      .fetch_or(std::uint64_t{1} << number % 64, std::memory_order_relaxed);
}

std::uint64_t HashTable::matched(const RecordNumbers& numbers) const {
  const auto [first, count] = numbers;
  std::uint64_t matched = 0;
  for (std::uint64_t number = first; number < first + count; ++number)
    matched += is_matched(number);
  return matched;
}

std::size_t HashTable::select(bool matched, std::size_t& record, std::size_t end,
                              std::span<HashMatch> out) const {
  std::size_t listed = 0;
  for (; record < end && listed < out.size(); ++record) {
    if (is_matched(record) == matched)
      out[listed++] = {HashMatch::kNone, static_cast<std::uint32_t>(record)};
  }
  return listed;
}

}  // namespace xxl
