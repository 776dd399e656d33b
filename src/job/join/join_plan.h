// How the memory of a sort-merge join of binary records is divided.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "join/join_kind.h"

namespace xxl {

// What the planner must know.
struct JoinPlanInput {
  struct Side {
    std::uint64_t input_bytes = 0;  // 0 if unknown
    bool size_known = true;
    bool presorted = false;
    std::size_t record_bytes = 0;
    std::uint64_t table_bytes = 0;  // what is remembered of its runs
  };
  std::array<Side, kJoinSides> sides;
  std::uint64_t memory_bytes = 0;
  std::size_t row_bytes = 0;
  unsigned threads = 1;
};

// Sizes in bytes unless said otherwise.
struct JoinGeometry {
  // Of each side: for its last merge, or for the blocks of its file.
  std::array<std::size_t, kJoinSides> side_bytes{};
  std::array<std::size_t, kJoinSides> read_block_bytes{};  // of a file that is in order

  std::size_t output_bytes = 0;        // all blocks of the output together
  std::size_t output_block_bytes = 0;  // of one
  std::size_t part_bytes = 0;          // rows whose places are reserved at once
  std::size_t piece_records = 0;       // number, of both sides together
  std::size_t list_bytes = 0;          // lists of matches
  std::size_t group_bytes = 0;         // for a group that is in scratch

  // All of a join but the sides.
  std::size_t join_bytes() const { return output_bytes + part_bytes + list_bytes + group_bytes; }
};

// Nothing if the memory is not enough.
std::optional<JoinGeometry> plan_join_memory(const JoinPlanInput& input);

}  // namespace xxl
