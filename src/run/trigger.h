// The trigger of a block: a lower bound of the keys in it and in all later blocks of its run.
//
// Where the run is sorted, that is the block's first key; where it is only in order of cells
// (run/cell_grid.h), the smallest key of the cell that the block starts in.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "record/key_layout.h"

namespace xxl {

// Key words kept of a trigger. A longer key is cut, which leaves a lower bound of the block's keys;
// merging needs no more (merge/usable_records.h).
inline constexpr std::size_t kTriggerWords = 2;

struct Trigger {
  std::uint64_t words[kTriggerWords] = {};

  friend auto operator<=>(const Trigger&, const Trigger&) = default;
};

// The key of `record`, cut to a trigger.
inline Trigger trigger_of(const KeyLayout& layout, const std::byte* record) {
  Trigger trigger;
  for (std::size_t i = 0; i < kTriggerWords && i < layout.words(); ++i) {
    trigger.words[i] = layout.word(record, i);
  }
  return trigger;
}

// True if triggers of this layout are whole keys.
inline bool triggers_are_exact(const KeyLayout& layout) {
  return layout.words() <= kTriggerWords && layout.words_are_key();
}

// True if those of splitters are: then cells can be told apart by triggers.
inline bool triggers_tell_cells(const KeyLayout& layout) {
  return layout.words() <= kTriggerWords;
}

}  // namespace xxl
