// Merges sorted segments of numbers, or of numbers with a value, without branches that depend on
// the keys: twos of segments, from both ends at once, so that two chains of loads overlap.
//
//     segments   a c f | b d | e h | g     neighbours, so that equal keys stay in their order
//     scratch    a b c d f | e g h
//     to         a b c d e f g h
//
// Source: Peters, "fluxsort / quadsort" (parity merge); here with counts instead of sentinels.
#pragma once

#include <cstddef>
#include <span>

#include "record/key_layout.h"
#include "sort/segment.h"

namespace xxl::gpu {

class ItemMerge {
 public:
  // Most segments that are merged as fast as they are sorted (sort/key_sorter.h).
  static constexpr std::size_t kMostSegments = 4;

  // `layout`, of a kind other than generic, must outlive it; so must `scratch`, of scratch_bytes().
  ItemMerge(const KeyLayout& layout, std::span<std::byte> scratch);
  // For up to `capacity` records at a time.
  static std::size_t scratch_bytes(const KeyLayout& layout, std::size_t capacity) {
    return capacity * layout.record_bytes();
  }

  // Merges two to kMostSegments of them to `to`, which is apart from all of them and the scratch.
  void merge(std::span<const Segment> segments, std::byte* to) const;

 private:
  const KeyLayout& layout_;
  std::span<std::byte> scratch_;
};

}  // namespace xxl::gpu
