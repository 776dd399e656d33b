// Numbers for keys that only a comparator can order.
//
// The engine divides keys by splitters, and finds its way in runs by triggers, both of which are
// words: numbers of the keys' order. A comparator gives none. So records that are chosen as
// splitters get labels: even numbers in their order, with gaps between them for those that are
// chosen later. The word of a record is the label of the splitter that it equals, or one more than
// the label of the greatest one below it:
//
//     splitters        a           b           c
//     labels           40          80          120
//     words         1  40    41    80    81    120   121
//
// A word may become larger when splitters are added, never smaller: what was a lower bound of a key
// stays one. Words of the same splitters are ordered like the keys, and equal odd words say
// nothing: then records are compared. (Labels that keep an order in which things are inserted: the
// order-maintenance problem; Dietz and Sleator, STOC 1987. Here it is enough that gaps are large at
// first: where one is used up, nothing can be inserted.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "record/record_format.h"
#include "xxl/comparator.h"

namespace xxl {

class KeyLabels {
 public:
  // Splitters are copied.
  KeyLabels(std::shared_ptr<const detail::RecordOrder> order, std::size_t record_bytes);

  const detail::RecordOrder& order() const { return *order_; }

  // True if a record of this word equals a splitter: records of the same word are equal.
  static bool is_label(std::uint64_t word) { return word != 0 && word % 2 == 0; }

  // From any thread.
  std::uint64_t word(const std::byte* record) const;

  // A member that records are probably ordered by, at least first. What it says is always checked,
  // so that it only saves comparisons. To be set before others use it.
  void set_guess(RecordFormat guess) {
    guess_ = std::make_unique<const RecordFormat>(std::move(guess));
  }
  const RecordFormat* guess() const {
    return misses_.load(std::memory_order_relaxed) < kMostMisses ? guess_.get() : nullptr;
  }
  // It was wrong about many records: it is given up when that happens again and again.
  void miss() { misses_.fetch_add(1, std::memory_order_relaxed); }

  // Makes splitters of `records`, in strictly ascending order, where there is room between labels
  // and in memory. (Of records in another order some get no labels.) Returns the words of all of
  // them. One thread.
  std::vector<std::uint64_t> add(const std::vector<const std::byte*>& records);
  // The splitter of a word of one.
  const std::byte* splitter(std::uint64_t label) const;

 private:
  static constexpr std::uint64_t kFirstLabel = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kLabelStep = std::uint64_t{1} << 42;
  static constexpr std::uint64_t kLeastGap = 8;
  static constexpr std::size_t kMaxSplitters = std::size_t{1} << 14;  // places are 16 bits
  static constexpr unsigned kMostMisses = 64;
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  struct Table {
    std::vector<std::uint64_t> labels;  // ascending
    std::vector<std::byte> records;     // as many
  };

  std::shared_ptr<const Table> table() const {
    std::lock_guard lock(mutex_);
    return table_;
  }

  std::shared_ptr<const detail::RecordOrder> order_;
  std::size_t record_bytes_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Table> table_;
  std::unique_ptr<const RecordFormat> guess_;
  std::atomic<unsigned> misses_ = 0;
};

}  // namespace xxl
