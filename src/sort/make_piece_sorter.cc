#include "sort/make_piece_sorter.h"

#include <cstring>

#include "base/error.h"
#include "base/units.h"
#include "sort/key_sorter.h"

namespace xxl {
namespace {

// Larger records are not moved while they are sorted.
constexpr std::size_t kMostMovedBytes = 48;
constexpr std::size_t kItemAlignment = 64;
constexpr std::size_t kMostGuessedItemBytes = 16;  // of a sorter by one member

// Sorts copies of records, or pointers to them, by a comparator (record/key_labels.h), with the
// help of a guess of what it compares.
template <bool kPointers>
class ComparedSorter final : public PieceSorter {
 public:
  ComparedSorter(const KeyLayout& layout, bool unique, std::size_t capacity, std::byte* scratch)
      : layout_(layout), unique_(unique), capacity_(capacity), scratch_(scratch) {}

  static std::size_t scratch_bytes(const KeyLayout& layout, std::size_t capacity) {
    const std::size_t items = round_up(2 * capacity * item_bytes(layout), kItemAlignment);
    return kPointers ? items : items + 2 * capacity * kMostGuessedItemBytes;
  }

  void sort(std::span<const Segment> segments) override {
    removed_ = {};
    if (!sort_by_guess(segments)) sort_by_comparing(segments);
    if (unique_) remove_duplicates();
  }

  std::size_t size() const override { return count_; }

  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    const std::size_t record_bytes = layout_.record_bytes();
    if constexpr (kPointers) {
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(out + i * record_bytes, record(first + i), record_bytes);
      }
    } else {
      std::memcpy(out, scratch_ + first * record_bytes, count * record_bytes);
    }
  }

 private:
  static std::size_t item_bytes(const KeyLayout& layout) {
    return kPointers ? sizeof(std::byte*) : layout.record_bytes();
  }
  std::byte* spare() const { return scratch_ + capacity_ * layout_.record_bytes(); }

  const std::byte** pointers() const { return reinterpret_cast<const std::byte**>(scratch_); }
  const std::byte* record(std::size_t index) const {
    return kPointers ? pointers()[index] : scratch_ + index * layout_.record_bytes();
  }

  void sort_by_comparing(std::span<const Segment> segments) {
    count_ = 0;
    const std::size_t record_bytes = layout_.record_bytes();
    for (const Segment& segment : segments) {
      XXL_CHECK(count_ + segment.count <= capacity_);
      if constexpr (kPointers) {
        for (std::size_t i = 0; i < segment.count; ++i) {
          pointers()[count_ + i] = segment.records + i * record_bytes;
        }
      } else {
        std::memcpy(scratch_ + count_ * record_bytes, segment.records,
                    segment.count * record_bytes);
      }
      count_ += segment.count;
    }
    const detail::RecordOrder& order = layout_.labels()->order();
    if constexpr (kPointers) {
      order.sort(pointers(), count_, pointers() + capacity_);
    } else {
      order.sort(scratch_, count_, spare());
    }
  }

  // By the member that is probably compared first, as keys are sorted. False if it was not.
  bool sort_by_guess(std::span<const Segment> segments) {
    const RecordFormat* const guess = kPointers ? nullptr : layout_.labels()->guess();
    if (guess == nullptr) return false;
    if (by_guess_ == nullptr) {
      guess_ = std::make_unique<KeyLayout>(*guess);
      const std::size_t at = round_up(2 * capacity_ * item_bytes(layout_), kItemAlignment);
      by_guess_ = make_key_sorter(*guess_, false, capacity_,
                                  {scratch_ + at, 2 * capacity_ * kMostGuessedItemBytes});
    }
    by_guess_->sort(segments);
    count_ = by_guess_->size();
    by_guess_->write(0, count_, scratch_);
    const KeyField& member = guess->key.front();
    const bool settled =
        layout_.labels()->order().settle(scratch_, count_, member.offset, member.length, spare());
    if (!settled) layout_.labels()->miss();
    return settled;
  }

  void remove_duplicates() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (kept > 0 && layout_.compare(record(kept - 1), record(i)) == 0) {
        add_records(removed_, record(i), 1, layout_.record_bytes());
        continue;
      }
      if constexpr (kPointers) {
        pointers()[kept] = pointers()[i];
      } else {
        std::memmove(scratch_ + kept * layout_.record_bytes(), record(i), layout_.record_bytes());
      }
      ++kept;
    }
    count_ = kept;
  }

  const KeyLayout& layout_;
  bool unique_;
  std::size_t capacity_;
  std::byte* scratch_;  // items, and as many to sort them with; then those of by_guess_
  std::size_t count_ = 0;
  std::unique_ptr<KeyLayout> guess_;
  std::unique_ptr<PieceSorter> by_guess_;
};

bool moves_records(const KeyLayout& layout) {
  return layout.record_bytes() <= kMostMovedBytes;
}

}  // namespace

std::size_t piece_scratch_bytes(const KeyLayout& layout, std::size_t capacity) {
  if (layout.words_are_key()) return key_sorter_bytes(layout, capacity);
  return moves_records(layout) ? ComparedSorter<false>::scratch_bytes(layout, capacity)
                               : ComparedSorter<true>::scratch_bytes(layout, capacity);
}

std::unique_ptr<PieceSorter> make_piece_sorter(const KeyLayout& layout, bool unique,
                                               std::size_t capacity, std::span<std::byte> scratch) {
  XXL_CHECK(scratch.size() >= piece_scratch_bytes(layout, capacity));
  if (layout.words_are_key()) return make_key_sorter(layout, unique, capacity, scratch);
  std::byte* const memory = scratch.data();
  if (moves_records(layout)) {
    return std::make_unique<ComparedSorter<false>>(layout, unique, capacity, memory);
  }
  return std::make_unique<ComparedSorter<true>>(layout, unique, capacity, memory);
}

}  // namespace xxl
