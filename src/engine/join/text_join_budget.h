// How the memory of a join of text is divided (docs/joining.md, "Memory").
#pragma once

#include <cstdint>

#include "engine/join/text_join_options.h"

namespace xxl {

struct TextJoinBudget {
  unsigned threads = 1;
  std::uint64_t group_bytes = 0;
  std::uint64_t rows_bytes = 0;    // of a thread
  std::uint64_t file_bytes = 0;    // of each input that comes sorted
  std::uint64_t record_bytes = 0;  // of long records of such inputs
  std::uint64_t rest = 0;          // for sorting and merging
};

// Divides `memory`, in bytes. `is_little`: one thread. Throws Error{no_space}.
TextJoinBudget make_budget(const TextJoinOptions& options, std::uint64_t memory, bool is_little);

}  // namespace xxl
