// Which bucket does a key belong to? Splitters divide the key space into buckets.
//
// Bucket i holds the keys with s(i-1) <= key < s(i), for splitters s(0) < s(1) < ... A table over
// the leading bits of the first key word gives the bucket at once for the slots that lie within one
// bucket. A slot with splitters inside has a table of its own, from the first of these to the last:
// there are few such slots, if splitters are moved to the nearest edge of a slot where they are far
// apart (round_splitters). Of keys that lie in a small part of their range (floating-point numbers,
// of which most have one of few exponents; integers of which most are small), most need two tables.
// Splitters that differ only after the first word are searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "record/key_layout.h"
#include "sort/segment.h"

namespace xxl {

// Key words kept of a splitter; longer keys are cut, which leaves a valid splitter.
inline constexpr std::size_t kMaxSplitterWords = 32;

// The leading words of a key, compared as a number; missing words count as 0.
using SplitterKey = std::vector<std::uint64_t>;

// First words of the key of `record`, at most kMaxSplitterWords.
SplitterKey splitter_key(const KeyLayout& layout, const std::byte* record);
// The smallest key (of as many words) above `key`; empty when there is none.
SplitterKey successor(const SplitterKey& key);

// The keys at the boundaries of `parts` equal parts of a sample, in strictly ascending order. A key
// that spans parts gets a bucket of its own, from itself to its successor.
std::vector<SplitterKey> pick_splitters(std::vector<SplitterKey> sample, std::size_t parts);

// Moves the splitters of a sample a little, to edges of the tables' slots, where that changes the
// buckets on both sides by no more than a quarter. Splitters that lie closer stay as they are.
void round_splitters(std::span<SplitterKey> splitters);

class Classifier {
 public:
  explicit Classifier(const KeyLayout& layout) : layout_(layout) { set_splitters({}); }

  // `splitters` in strictly ascending order.
  void set_splitters(std::vector<SplitterKey> splitters);

  std::size_t buckets() const { return splitters_.size() + 1; }
  const std::vector<SplitterKey>& splitters() const { return splitters_; }

  // Buckets of the records of `segment` into `ids`; adds their numbers to `counts`.
  void classify(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts) const;

 private:
  template <class LoadPrefix>
  void classify_with(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts,
                     LoadPrefix load_prefix) const;
  std::size_t add_table(std::size_t low, std::size_t high);
  std::size_t descend(std::size_t slot, std::uint64_t prefix, const std::byte* record) const;
  std::size_t search(std::uint64_t prefix, const std::byte* record, std::size_t low,
                     std::size_t high) const;
  bool above(std::size_t index, const std::byte* record) const;

  const KeyLayout& layout_;
  std::vector<SplitterKey> splitters_;
  std::vector<std::uint64_t> prefixes_;  // their first words
  // Of some splitters: slot 0 lies below the first; slot i > 0 covers prefixes from
  // base + (i - 1 << shift), up to `top`.
  struct Table {
    std::uint64_t base = 0;  // prefix of the first splitter
    std::uint64_t top = 0;   // prefix of the last
    unsigned shift = 63;
    bool searched = false;          // the splitters have one prefix
    std::size_t first_slot = 0;     // in slots_
    std::size_t low = 0, high = 0;  // the splitters

    explicit Table(std::span<const SplitterKey> splitters);
    std::size_t slot_of(std::uint64_t prefix) const {
      prefix = prefix < top ? prefix : top;
      const std::size_t slot = static_cast<std::size_t>((prefix - base) >> shift) + 1;
      return slot & -static_cast<std::size_t>(prefix >= base);  // without a branch
    }
    std::uint64_t start(std::size_t slot) const {
      return base + (static_cast<std::uint64_t>(slot - 1) << shift);
    }
  };
  friend void round_splitters(std::span<SplitterKey> splitters);

  std::vector<Table> tables_;  // the first one is of all splitters
  // Of each slot its bucket or, with kMixed, the table of its splitters.
  std::vector<std::uint16_t> slots_;
};

}  // namespace xxl
