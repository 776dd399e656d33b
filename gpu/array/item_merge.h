// Merges sorted segments of numbers, or of numbers with a value, without branches that depend on
// the keys: twos of segments, from both ends at once, so that two chains of loads overlap.
//
//     segments   a c f | b d | e h | g     neighbours, so that equal keys stay in their order
//                a b c d f | e g h
//                a b c d e f g h           the last time to where they go
//
// Source: Peters, "fluxsort / quadsort" (parity merge); here with counts instead of sentinels.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "record/key_layout.h"
#include "sort/segment.h"

namespace xxl::gpu {

class ItemMerge {
 public:
  // Most segments that are merged faster than sorted (sort/key_sorter.h).
  static constexpr std::size_t kMostSegments = 4;

  // `layout`, of a kind other than generic, must outlive it. Merges up to `capacity` records at a
  // time; `scratch` has scratch_bytes() for them.
  ItemMerge(const KeyLayout& layout, std::size_t capacity, std::span<std::byte> scratch);
  static std::size_t scratch_bytes(const KeyLayout& layout, std::size_t capacity) {
    return 2 * capacity * layout.record_bytes();
  }

  // Merges them, two at least, to `to`, which is apart from all of them and from the scratch.
  void merge(std::vector<Segment> segments, std::byte* to);

 private:
  const KeyLayout& layout_;
  const std::size_t bytes_;  // of a half of the scratch
  std::span<std::byte> scratch_;
};

}  // namespace xxl::gpu
