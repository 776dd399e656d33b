// Sorts an array in memory on all processors: a bucket sort.
//
//   1. Splitters are picked from a sample (classifier.h), for buckets that caches hold.
//   2. Threads take stripes of the array and count the records of each bucket in them. So the place
//      of every stripe's part of every bucket is known.
//   3. They move the records there, stripe by stripe: records of a bucket stay in order.
//   4. They sort the buckets (piece_sorter.h).
//
//     array   7 2 9 | 3 8 1      splitter 5: below it 1 + 2 records, from it on 2 + 1
//     moved   2 | 3 1 | 7 9 | 8
//     sorted  1 2 3     7 8 9
//
// Records are read three times and written twice, whatever their number. A key that is frequent has
// a bucket of its own, which needs no sorting. Numbers of one or two bytes are counted instead
// (counting_sort.h).
//
// Source: Blelloch et al., "A Comparison of Sorting Algorithms for the Connection Machine CM-2"
// (SPAA 1991), section 5 (sample sort).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/memory_region.h"
#include "record/key_layout.h"
#include "sort/classifier.h"

namespace xxl {

class CpuArraySorter {
 public:
  // `layout`, whose words are its key, must outlive it. `threads`, at least 1.
  CpuArraySorter(const KeyLayout& layout, unsigned threads) : layout_(layout), threads_(threads) {}

  // Sorts whole records, stably. `to`, of as many bytes, is `from` or apart from it. Takes as much
  // memory as the array (but not to sort numbers, alone or with a value, from one place to another)
  // and some MiB a thread, and keeps it for the next one. Throws Error{no_space}; the records are
  // then as they were.
  void sort(std::span<const std::byte> from, std::span<std::byte> to);

 private:
  // Of the records that are to be sorted: `count` from `first` on.
  struct Bucket {
    std::size_t first = 0;
    std::size_t count = 0;
    bool one_key = false;
  };

  void choose_splitters(const Segment& records);
  std::vector<Bucket> distribute(const Segment& records, std::byte* to);
  void make_scratch(std::size_t records);
  void distribute(const Segment& records, std::size_t* places, std::byte* to) const;
  void sort_bucket(const Bucket& bucket, unsigned thread, std::byte* to);

  const KeyLayout& layout_;
  const unsigned threads_;
  Classifier classifier_{layout_};
  MemoryRegion room_;                   // for distributed records
  const std::byte* buckets_ = nullptr;  // them
  std::size_t capacity_ = 0;            // of the sorters of pieces
  std::vector<MemoryRegion> scratch_;   // theirs, one a thread
};

}  // namespace xxl
