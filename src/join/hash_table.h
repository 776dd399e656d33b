// The table of a hash join: finds the records of one input, held in memory, that have the key of a
// record of the other.
//
// Records stay where they are, consecutively, in the order of their input. The table has an entry
// of 8 bytes for each: a tag of 31 bits of the hash of its key, its number, and whether it has been
// matched. Entries are in buckets of a few, consecutive without gaps, sorted within each; a
// directory says where each bucket ends.
//
//     directory    3     5     5     9        bucket 0 is entries 0..2, bucket 1 3..4, ...
//     entries    [abc] [de]  []  [fghi]       sorted by tag, then by number
//     records    0 1 2 3 4 ...                of one of the entries
//
// So a look-up reads the directory, one or two lines of entries, and then only records with this
// tag: nearly always a match. The cost is the latency of memory: records are looked up in groups,
// each step for the whole group before the next, with what the next step reads prefetched. Entries
// of equal keys are neighbours, in order of their records: duplicates cost nothing extra, neither
// in building nor in looking up, and matches come in the same order whatever the number of threads.
//
// Sources: the no-partitioning hash join of Lutz et al., "Pump Up the Volume" (SIGMOD 2020),
// section 5, in which all threads build and probe one table; group prefetching of Chen et al.,
// "Improving Hash Join Performance through Prefetching" (ICDE 2004), section 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/key_layout.h"

namespace xxl {

// A row to be written: a record that probes, by its number among those given, and one of the table.
struct HashMatch {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t probe = kNone;  // kNone: the record of the table has no partner
  std::uint32_t build = kNone;  // kNone: the record that probes has none, or it does not matter
};

// Which matches are listed for records that probe.
struct ProbeWants {
  bool pairs = false;      // one for each partner
  bool unmatched = false;  // one for a record that has none
  bool matched = false;    // one for a record that has any
};

// How far a sequence of records has been looked up.
struct ProbeProgress {
  std::size_t records = 0;    // done
  std::uint64_t matched = 0;  // records, of those done, that have a partner
  std::size_t entry = 0;      // of the next record: where to go on, if `begun`
  bool begun = false;         // some of its matches have been listed
};

class HashTable {
 public:
  static constexpr std::uint64_t kMaxRecords = HashMatch::kNone - 1;

  // Bytes that a table of `records` takes, without the records.
  static std::uint64_t memory_bytes(std::uint64_t records);

  // A table of the `count` records (at most kMaxRecords) of layout `build` at `records`, which may
  // be filled in later; looked up with records of layout `probe`, whose keys have the same words.
  // `memory` is of memory_bytes(count), aligned to 64. All must outlive the table.
  HashTable(const KeyLayout& build, const KeyLayout& probe, const std::byte* records,
            std::size_t count, std::span<std::byte> memory);

  // --- Building. Each step for all records (buckets) before the next; the parts of one step may be
  // done in any order, by any number of threads.

  void count(std::size_t first_record, std::size_t records);
  void lay_out();  // one thread
  void enter(std::size_t first_record, std::size_t records);
  void arrange(std::size_t first_bucket, std::size_t buckets);
  std::size_t buckets() const { return buckets_; }

  // --- Looking up, by any number of threads.

  // Lists matches of the `count` records at `records` from `progress` on, in their order, until all
  // are done or `out` (not empty) is full. Returns how many were listed. Partners are marked as
  // matched.
  std::size_t probe(const std::byte* records, std::size_t count, const ProbeWants& wants,
                    ProbeProgress& progress, std::span<HashMatch> out);

  // --- Afterwards.

  // Copies the marks of entries [first, first + count) to their records; returns how many are
  // matched. Once for each entry; there are as many as records.
  std::uint64_t settle(std::size_t first_entry, std::size_t entries);
  // Lists the records from `record` on that have been matched (or have not), in their order, until
  // record `end` or until `out` is full. `record` becomes the next one. After settle() of all.
  std::size_t select(bool matched, std::size_t& record, std::size_t end,
                     std::span<HashMatch> out) const;

 private:
  // How keys are read: as native numbers at the start of both kinds of records, or by words.
  enum class Keys { native32, native64, words };

  template <class F>
  decltype(auto) with_keys(F&& f) const;
  // Records looked up at the same time.
  struct ProbeGroup;
  template <class Key>
  void find_tags(const Key& key, const std::byte* records, ProbeGroup& group) const;
  template <class Key>
  std::size_t probe_as(const Key& key, const std::byte* records, std::size_t count,
                       const ProbeWants& wants, ProbeProgress& progress, std::span<HashMatch> out);

  std::size_t bucket_of(std::uint64_t hash) const {
    return static_cast<std::size_t>(((hash >> 32) * buckets_) >> 32);
  }
  const std::byte* record(std::size_t index) const { return records_ + index * record_bytes_; }

  const KeyLayout& build_;
  const KeyLayout& probe_;
  const Keys keys_;
  const std::byte* records_;
  const std::size_t record_bytes_;
  const std::size_t count_;
  const std::size_t buckets_;
  std::uint64_t* entries_;
  std::uint64_t* settled_;  // a bit for each record
  // Where each bucket ends; ends_[-1] is 0. While it is built: how many records each has, and then
  // where its next entry goes.
  std::uint32_t* ends_;
};

}  // namespace xxl
