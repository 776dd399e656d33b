// A sorted run on disk, and what is remembered of its blocks.
//
// A run is a sequence of blocks of whole records; every block but the last holds the same number of
// them. Scratch runs have their blocks spread over the scratch disks and remember a checksum for
// each; a file that is sorted already (sort -m, or an input found sorted) is a run as it stands,
// its blocks lying one behind the other.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include <algorithm>
#include <compare>

#include "io/file.h"
#include "io/scratch_store.h"
#include "record/key_layout.h"

namespace xxl {

// Key words kept of a block's first key. A longer key is cut, which leaves a lower bound of the
// block's keys; merging needs no more (src/merge/run_merger.h).
inline constexpr std::size_t kTriggerWords = 2;

struct Trigger {
  std::uint64_t words[kTriggerWords] = {};

  friend auto operator<=>(const Trigger&, const Trigger&) = default;
};

inline Trigger trigger_of(const KeyLayout& layout, const std::byte* record) {
  Trigger trigger;
  for (std::size_t i = 0; i < kTriggerWords && i < layout.words(); ++i) {
    trigger.words[i] = layout.word(record, i);
  }
  return trigger;
}

// True if triggers of this layout are whole keys.
inline bool triggers_are_exact(const KeyLayout& layout) {
  return layout.words() <= kTriggerWords;
}

struct RunBlock {
  Trigger trigger;
  std::uint64_t checksum = 0;  // of the payload and the block's identity; scratch runs only
  io::ScratchPlace place;      // scratch runs only
};

struct Run {
  std::uint64_t records = 0;
  std::size_t records_per_block = 0;
  std::uint64_t identity = 0;   // seed of the blocks' checksums, different for every run
  std::deque<RunBlock> blocks;  // grows without copying
  // The file of a run that was not written to scratch; its first record is at `file_offset`.
  std::shared_ptr<io::File> file;
  std::uint64_t file_offset = 0;

  bool in_scratch() const { return file == nullptr; }
  std::size_t records_in_block(std::size_t index) const {
    const std::uint64_t first = static_cast<std::uint64_t>(index) * records_per_block;
    return static_cast<std::size_t>(std::min<std::uint64_t>(records_per_block, records - first));
  }
};

// What a block's checksum is seeded with: a block of another sort, run or place does not fit.
inline std::uint64_t block_identity(std::uint64_t run_identity, std::uint64_t index) {
  return run_identity ^ (index * 0x9e3779b97f4a7c15u);
}

}  // namespace xxl
