#include "join/hash_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"

namespace xxl {
namespace {

// Records a bucket, on average: fewer make the directory large, more take longer to search.
constexpr std::size_t kBucketRecords = 3;
// Records looked up at the same time: enough for as many lines of memory as a core can wait for.
constexpr std::size_t kGroup = 64;
// A bucket with more entries is searched by halving it.
constexpr std::size_t kFewEntries = 16;
constexpr std::size_t kLineBytes = 64;

// Entry: tag (31 bits), number of the record (32), matched (1).
constexpr unsigned kTagShift = 33;
constexpr std::uint64_t kMatched = 1;

std::uint64_t tag_of(std::uint64_t hash) {
  return hash << kTagShift;
}
std::uint64_t entry_of(std::uint64_t hash, std::size_t record) {
  return tag_of(hash) | static_cast<std::uint64_t>(record) << 1;
}
std::uint32_t record_of(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry >> 1);
}
bool has_tag(std::uint64_t entry, std::uint64_t tag) {
  return (entry ^ tag) >> kTagShift == 0;
}

// Other threads may be marking entries while they are read.
std::uint64_t load(std::uint64_t& entry) {
  return std::atomic_ref(entry).load(std::memory_order_relaxed);
}
// All threads that mark an entry write the same.
void mark(std::uint64_t& entry, std::uint64_t value) {
  std::atomic_ref(entry).store(value | kMatched, std::memory_order_relaxed);
}

// Both halves of a product: a change of any bit of the word reaches the bits of the bucket and
// those of the tag.
std::uint64_t mix(std::uint64_t word) {
  const auto product =
      static_cast<unsigned __int128>(word ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class T>
struct NativeKey {
  static T value(const std::byte* record) {
    T key;
    std::memcpy(&key, record, sizeof key);
    return key;
  }
  std::uint64_t hash_of_build(const std::byte* record) const { return mix(value(record)); }
  std::uint64_t hash_of_probe(const std::byte* record) const { return mix(value(record)); }
  bool equal(const std::byte* build, const std::byte* probe) const {
    return value(build) == value(probe);
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
  std::uint64_t hash_of_build(const std::byte* record) const { return hash(build, record); }
  std::uint64_t hash_of_probe(const std::byte* record) const { return hash(probe, record); }
  bool equal(const std::byte* b, const std::byte* p) const {
    for (std::size_t i = 0; i < build.words(); ++i) {
      if (build.word(b, i) != probe.word(p, i)) return false;
    }
    return true;
  }
};

std::size_t buckets_for(std::uint64_t records) {
  return static_cast<std::size_t>(records / kBucketRecords + 1);
}
std::size_t directory_bytes(std::uint64_t records) {
  return round_up((buckets_for(records) + 1) * sizeof(std::uint32_t), kLineBytes);
}
std::size_t entries_bytes(std::uint64_t records) {
  return round_up(static_cast<std::size_t>(records) * sizeof(std::uint64_t), kLineBytes);
}
std::size_t settled_bytes(std::uint64_t records) {
  return round_up(static_cast<std::size_t>(ceil_div<std::uint64_t>(records, 64)) * 8, kLineBytes);
}

bool is_32(RecordKind kind) {
  return kind == RecordKind::key32 || kind == RecordKind::pair32;
}
bool is_64(RecordKind kind) {
  return kind == RecordKind::key64 || kind == RecordKind::pair64;
}

}  // namespace

std::uint64_t HashTable::memory_bytes(std::uint64_t records) {
  return directory_bytes(records) + entries_bytes(records) + settled_bytes(records);
}

HashTable::HashTable(const KeyLayout& build, const KeyLayout& probe, const std::byte* records,
                     std::size_t count, std::span<std::byte> memory)
    : build_(build),
      probe_(probe),
      keys_(is_32(build.kind()) && is_32(probe.kind())   ? Keys::native32
            : is_64(build.kind()) && is_64(probe.kind()) ? Keys::native64
                                                         : Keys::words),
      records_(records),
      record_bytes_(build.record_bytes()),
      count_(count),
      buckets_(buckets_for(count)) {
  XXL_CHECK(count <= kMaxRecords && build.words() == probe.words());
  Carver carver(memory);
  entries_ = reinterpret_cast<std::uint64_t*>(carver.take(entries_bytes(count), kLineBytes).data());
  settled_ = reinterpret_cast<std::uint64_t*>(carver.take(settled_bytes(count), kLineBytes).data());
  const auto directory = carver.take(directory_bytes(count), kLineBytes);
  ends_ = reinterpret_cast<std::uint32_t*>(directory.data()) + 1;
  std::memset(directory.data(), 0, directory.size());
  std::memset(settled_, 0, settled_bytes(count));
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

void HashTable::count(std::size_t first, std::size_t records) {
  with_keys([&](const auto& key) {
    std::array<std::size_t, kGroup> buckets;
    for (std::size_t at = first, end = first + records; at < end;) {
      const std::size_t group = std::min(kGroup, end - at);
      for (std::size_t i = 0; i < group; ++i) {
        buckets[i] = bucket_of(key.hash_of_build(record(at + i)));
        __builtin_prefetch(ends_ + buckets[i], 1);
      }
      // Records of one key are counted at once: otherwise threads would contend.
      for (std::size_t i = 0, next; i < group; i = next) {
        for (next = i + 1; next < group && buckets[next] == buckets[i];) ++next;
        std::atomic_ref(ends_[buckets[i]])
            .fetch_add(static_cast<std::uint32_t>(next - i), std::memory_order_relaxed);
      }
      at += group;
    }
  });
}

void HashTable::lay_out() {
  std::uint32_t position = 0;
  for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
    const std::uint32_t records = ends_[bucket];
    ends_[bucket] = position;
    position += records;
  }
  XXL_CHECK(position == count_);
}

void HashTable::enter(std::size_t first, std::size_t records) {
  with_keys([&](const auto& key) {
    std::array<std::uint64_t, kGroup> hashes;
    std::array<std::size_t, kGroup> buckets;
    std::array<std::uint32_t, kGroup> places;
    for (std::size_t at = first, end = first + records; at < end;) {
      const std::size_t group = std::min(kGroup, end - at);
      for (std::size_t i = 0; i < group; ++i) {
        hashes[i] = key.hash_of_build(record(at + i));
        buckets[i] = bucket_of(hashes[i]);
        __builtin_prefetch(ends_ + buckets[i], 1);
      }
      for (std::size_t i = 0, next; i < group; i = next) {
        for (next = i + 1; next < group && buckets[next] == buckets[i];) ++next;
        std::uint32_t place =
            std::atomic_ref(ends_[buckets[i]])
                .fetch_add(static_cast<std::uint32_t>(next - i), std::memory_order_relaxed);
        __builtin_prefetch(entries_ + place, 1);
        for (std::size_t j = i; j < next; ++j) places[j] = place++;
      }
      for (std::size_t i = 0; i < group; ++i) entries_[places[i]] = entry_of(hashes[i], at + i);
      at += group;
    }
  });
}

void HashTable::arrange(std::size_t first, std::size_t buckets) {
  std::uint64_t* begin = entries_ + (ends_ + first)[-1];
  for (std::size_t bucket = first; bucket < first + buckets; ++bucket) {
    std::uint64_t* const end = entries_ + ends_[bucket];
    if (static_cast<std::size_t>(end - begin) > kFewEntries) {
      std::sort(begin, end);
    } else {
      for (std::uint64_t* next = begin + 1; next < end; ++next) {
        const std::uint64_t entry = *next;
        std::uint64_t* to = next;
        for (; to > begin && to[-1] > entry; --to) *to = to[-1];
        *to = entry;
      }
    }
    begin = end;
  }
}

struct HashTable::ProbeGroup {
  std::size_t count = 0;
  std::array<std::uint64_t, kGroup> tags;
  std::array<std::size_t, kGroup> firsts;  // bucket; then first entry of the bucket, or of the tag
  std::array<std::size_t, kGroup> ends;    // of the bucket
};

// Finds the first entry with the tag of each of the group's records, or the end of its bucket.
template <class Key>
void HashTable::find_tags(const Key& key, const std::byte* records, ProbeGroup& group) const {
  auto& [count, tags, firsts, ends] = group;
  const std::size_t step = probe_.record_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t hash = key.hash_of_probe(records + i * step);
    tags[i] = tag_of(hash);
    firsts[i] = bucket_of(hash);
    __builtin_prefetch(ends_ + firsts[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t* const bucket = ends_ + firsts[i];
    firsts[i] = bucket[-1];
    ends[i] = bucket[0];
    // For a bucket across two lines, the second one too; for a large one, its middle.
    __builtin_prefetch(entries_ + firsts[i]);
    __builtin_prefetch(entries_ + (ends[i] - firsts[i] > kFewEntries
                                       ? firsts[i] + (ends[i] - firsts[i]) / 2
                                       : std::max(ends[i], firsts[i] + 1) - 1));
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t at = firsts[i];
    if (ends[i] - at > kFewEntries) {
      for (std::size_t end = ends[i]; at < end;) {
        const std::size_t middle = at + (end - at) / 2;
        if (load(entries_[middle]) < tags[i]) {
          at = middle + 1;
        } else {
          end = middle;
        }
      }
    } else {
      // Comparing a fixed number of entries, without a branch, reads lines that are not needed:
      // slower as soon as the table exceeds the caches.
      while (at < ends[i] && load(entries_[at]) < tags[i]) ++at;
    }
    firsts[i] = at;
    if (at < ends[i]) {
      const std::uint64_t entry = load(entries_[at]);
      if (has_tag(entry, tags[i])) {
        __builtin_prefetch(record(record_of(entry)));
      } else {
        firsts[i] = ends[i];
      }
    }
  }
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
    find_tags(key, first_record, group);
    for (std::size_t i = 0; i < group.count; ++i) {
      const std::byte* const probing = first_record + i * step;
      const auto number = static_cast<std::uint32_t>(base + i);
      std::size_t at = progress.begun ? progress.entry : group.firsts[i];
      bool found = progress.begun;
      for (; at < group.ends[i]; ++at) {
        const std::uint64_t entry = load(entries_[at]);
        if (!has_tag(entry, group.tags[i])) break;
        const std::uint32_t index = record_of(entry);
        if (!key.equal(record(index), probing)) continue;
        if (wants.pairs) {
          if (listed == out.size()) {
            progress.entry = at;
            progress.begun = found;
            return listed;
          }
          out[listed++] = {number, index};
        }
        found = true;
        if ((entry & kMatched) == 0) {
          mark(entries_[at], entry);
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
  XXL_CHECK(!out.empty() && count <= kMaxRecords && !(wants.pairs && wants.matched));
  return with_keys(
      [&](const auto& key) { return probe_as(key, records, count, wants, progress, out); });
}

std::uint64_t HashTable::settle(std::size_t first, std::size_t entries) {
  std::uint64_t matched = 0;
  for (std::size_t at = first; at < first + entries; ++at) {
    const std::uint64_t entry = load(entries_[at]);
    if ((entry & kMatched) == 0) continue;
    const std::uint32_t index = record_of(entry);
    std::atomic_ref(settled_[index / 64])
        .fetch_or(std::uint64_t{1} << index % 64, std::memory_order_relaxed);
    ++matched;
  }
  return matched;
}

std::size_t HashTable::select(bool matched, std::size_t& record, std::size_t end,
                              std::span<HashMatch> out) const {
  std::size_t listed = 0;
  for (; record < end && listed < out.size(); ++record) {
    const bool is_matched = (settled_[record / 64] >> record % 64 & 1) != 0;
    if (is_matched == matched)
      out[listed++] = {HashMatch::kNone, static_cast<std::uint32_t>(record)};
  }
  return listed;
}

}  // namespace xxl
