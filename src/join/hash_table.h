// The table of a hash join: finds the records of one input, held in memory, that have the key of a
// record of the other.
//
// Records lie in slabs, divided into partitions by the hash of their keys, and within a partition
// into buckets by further bits of it: of one record on average, consecutive without gaps. A
// directory says where each bucket ends.
//
//     directory   0 1 1 3     6 8 10       a partition's start, and where its buckets end
//     records     a | | b c   d e | f g    in two partitions; numbers 3 to 5 are not used
//
// So a look-up reads the directory, and then records that nearly always have the key. Where records
// that are looked up come partition by partition, all that is read stays in a cache; where they do
// not, the cost is the latency of memory: they are looked up in groups, each step for the whole
// group before the next, with what the next step reads prefetched. A bucket of many records, as a
// frequent key makes it, is in order of the rest of the hash, and searched by bisection.
//
// Sources: radix partitioning of Manegold, Boncz and Kersten, "Optimizing Main-Memory Join on
// Modern Hardware" (TKDE 2002), section 3; tables of consecutive records of Balkesen, Teubner,
// Alonso and Ozsu, "Main-Memory Hash Joins on Multi-Core CPUs" (ICDE 2013), section IV; group
// prefetching of Chen et al., "Improving Hash Join Performance through Prefetching" (ICDE 2004),
// section 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/key_layout.h"
#include "sort/segment.h"

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
  std::size_t number = 0;     // of the record of the table with which to go on, if `begun`
  bool begun = false;         // some matches of the next record have been listed
};

// Numbers [first, first + count) of records of a table.
struct RecordNumbers {
  std::uint64_t first = 0;
  std::size_t count = 0;
};

// Where the records of a table are: number n at place n % 2^shift of slab n / 2^shift.
struct RecordSlabs {
  std::byte* const* slabs = nullptr;
  unsigned shift = 0;
};

class HashTable {
 public:
  // Of the numbers of records: they end before this.
  static constexpr std::uint64_t kMaxNumbers = HashMatch::kNone - 1;

  // What a table is made for.
  struct Size {
    std::uint64_t records = 0;
    std::uint64_t numbers = 0;  // numbers of records are smaller; at most kMaxNumbers
    std::size_t partitions = 1;
  };
  // Bytes that a table takes, without the records.
  static std::uint64_t memory_bytes(const Size& size);

  // A table of records of layout `build`, looked up with records of layout `probe`, whose keys have
  // the same words. What `slabs` refers to may be filled in later. `memory` is of
  // memory_bytes(size), aligned to 64. All must outlive the table.
  HashTable(const KeyLayout& build, const KeyLayout& probe, RecordSlabs slabs, const Size& size,
            std::span<std::byte> memory);

  std::size_t partitions() const { return size_.partitions; }
  // The partition of each of the records of `segment`, which are of the table or looked up as
  // `layout` says, into `ids`; adds how many are in each to `counts`. Any thread.
  void classify(const KeyLayout& layout, const Segment& segment, std::uint16_t* ids,
                std::uint32_t* counts) const;

  // Arranges the records of `partition`, those with `numbers`. Each partition once, by any thread,
  // before any is looked up.
  void build(std::size_t partition, const RecordNumbers& numbers);

  const std::byte* record(std::size_t number) const { return place(number); }

  // --- Looking up, by any number of threads.

  // Lists matches of the `count` records at `records` from `progress` on, in their order, until all
  // are done or `out` (not empty) is full. Returns how many were listed. Partners are marked as
  // matched.
  std::size_t probe(const std::byte* records, std::size_t count, const ProbeWants& wants,
                    ProbeProgress& progress, std::span<HashMatch> out);

  // --- Afterwards.

  // How many of the records with `numbers` have been matched.
  std::uint64_t matched(const RecordNumbers& numbers) const;
  // Lists the records from number `record` on that have been matched (or have not), in their order,
  // until number `end` or until `out` is full. `record` becomes the next one.
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
  std::size_t find_candidates(const Key& key, const std::byte* records, ProbeGroup& group) const;
  template <class Key>
  std::size_t list_pairs(const Key& key, const std::byte* records, const ProbeGroup& group,
                         const ProbeWants& wants, ProbeProgress& progress, HashMatch* out);
  template <class Key>
  std::size_t probe_as(const Key& key, const std::byte* records, std::size_t count,
                       const ProbeWants& wants, ProbeProgress& progress, std::span<HashMatch> out);
  template <class Key>
  void arrange(const Key& key, std::uint64_t first, std::size_t count, unsigned shift);
  template <class Bucket>
  void permute(std::span<const std::uint32_t> starts, Bucket bucket);
  void swap_records(std::byte* a, std::byte* b) const;

  // Where in the directory the bucket is.
  std::size_t bucket_of(std::uint64_t hash) const {
    const std::uint64_t place = (hash >> 32) * size_.partitions;
    return static_cast<std::size_t>((place >> 32) * (buckets_ + 1) +
                                    ((place & 0xffff'ffff) * buckets_ >> 32));
  }
  std::size_t partition_of(std::uint64_t hash) const {
    return static_cast<std::size_t>((hash >> 32) * size_.partitions >> 32);
  }
  std::byte* place(std::size_t number) const {
    return slabs_.slabs[number >> slabs_.shift] + (number & in_slab_) * record_bytes_;
  }
  bool is_matched(std::size_t number) const;
  void mark(std::size_t number);

  const KeyLayout& build_;
  const KeyLayout& probe_;
  const Keys keys_;
  const RecordSlabs slabs_;
  const std::size_t in_slab_;  // mask of the place in a slab
  const std::size_t record_bytes_;
  const Size size_;
  const std::size_t buckets_;  // of a partition
  std::uint64_t* matched_;     // a bit for each number
  // For each partition, the number where it starts, and then where each of its buckets ends.
  std::uint32_t* directory_;
};

}  // namespace xxl
