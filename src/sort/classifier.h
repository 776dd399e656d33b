// Which bucket does a key belong to? Splitters divide the key space into buckets.
//
// Bucket i holds the keys with s(i-1) <= key < s(i), for splitters s(0) < s(1) < ... A table over
// the leading bits of the first key word gives the first splitter that can lie above the key; from
// there it is a step or none for keys of any smooth distribution, and a binary search in the cells
// where many splitters crowd.
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

class Classifier {
 public:
  explicit Classifier(const KeyLayout& layout) : layout_(layout) { set_splitters({}); }

  // `splitters` in strictly ascending order.
  void set_splitters(std::vector<SplitterKey> splitters);

  std::size_t buckets() const { return splitters_.size() + 1; }
  const std::vector<SplitterKey>& splitters() const { return splitters_; }

  // Bucket of one record.
  std::size_t bucket_of(const std::byte* record) const;

  // Buckets of the records of `segment` into `ids`; adds their numbers to `counts`.
  void classify(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts) const;

 private:
  template <bool kExact, class LoadPrefix>
  void classify_with(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts,
                     LoadPrefix load_prefix) const;
  std::size_t search(std::uint64_t prefix, const std::byte* record, std::size_t low,
                     std::size_t high) const;
  bool above(std::size_t index, std::uint64_t prefix, const std::byte* record) const;
  std::size_t cell_of(std::uint64_t prefix) const {
    return prefix < base_ ? 0 : static_cast<std::size_t>((prefix - base_) >> shift_) + 1;
  }

  const KeyLayout& layout_;
  std::vector<SplitterKey> splitters_;
  std::vector<std::uint64_t> prefixes_;  // word 0 of the splitters, and two largest words behind
  std::uint64_t base_ = 0;               // prefix of the first splitter
  std::uint64_t top_ = 0;                // prefix of the last
  unsigned shift_ = 0;
  // Cell c > 0 covers prefixes from base_ + (c - 1 << shift_); first_[c] = number of splitters
  // whose prefix lies below the cell.
  std::vector<std::uint16_t> first_;
};

}  // namespace xxl
