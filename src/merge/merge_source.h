// The sources of a merge of text: runs in scratch, and runs that are still in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "run/general_run.h"
#include "run/run_tables.h"
#include "sort/string_sort.h"

namespace xxl {

// A sorted run that is still in memory: items in order, places as chunk_place() has them.
struct ResidentRun {
  const char* memory = nullptr;
  std::span<const StringItem> items;
  std::uint64_t bytes = 0;
};

// A record of a chunk as the place of an item.
inline std::uint64_t chunk_place(std::size_t offset, std::size_t length) {
  return offset | std::uint64_t{length} << 32;
}
inline std::size_t chunk_record_bytes(std::uint64_t place) {
  return static_cast<std::size_t>(place >> 32);
}
inline std::string_view chunk_record(const char* memory, std::uint64_t place) {
  return {memory + (place & 0xffffffffu), chunk_record_bytes(place)};
}

// A run of either kind; the order of sources is that of the input.
struct MergeSource {
  GeneralRun* run = nullptr;  // in scratch, or:
  ResidentRun resident;
  std::size_t side = 0;  // of a join: 0 is R, 1 is S
};

// Memory of the runs' tables.
inline std::size_t table_bytes(std::span<const MergeSource> sources) {
  std::size_t bytes = 0;
  for (const MergeSource& source : sources) {
    bytes += source.run == nullptr ? kRunBytes : table_bytes(*source.run);
  }
  return bytes;
}

// Whether `sources` can be merged by `cells`: all triggers are in memory, and the merge's own
// tables fit beside them in `most_bytes`.
inline bool merges_by_cells(std::span<const MergeSource> sources, std::uint64_t cells,
                            std::size_t most_bytes) {
  std::uint64_t blocks = 0;
  for (const MergeSource& source : sources) {
    if (source.run == nullptr) continue;
    if (source.run->parts != nullptr) return false;
    blocks += source.run->blocks.size();
  }
  return blocks == 0 || table_bytes(sources) + merge_table_bytes(blocks, cells) <= most_bytes;
}

}  // namespace xxl
