// How the memory of a general join is divided (docs/internals/joining.md, "Memory").
#pragma once

#include <array>
#include <cstdint>

#include "job/general_sort/general_plan.h"
#include "job/join/general_join_options.h"
#include "record/record_lengths.h"

namespace xxl {

struct GeneralJoinBudget {
  unsigned threads = 1;
  std::uint64_t group_bytes = 0;
  std::uint64_t rows_bytes = 0;    // of a thread
  std::uint64_t file_bytes = 0;    // of each input that comes sorted
  std::uint64_t record_bytes = 0;  // of long records of such inputs
  std::uint64_t rest = 0;          // for sorting and merging
};

// What is known of an input.
struct JoinInput {
  std::uint64_t bytes = 0;
  bool size_known = true;
  bool presorted = false;
};
using JoinInputs = std::array<JoinInput, kJoinSides>;

// Divides `memory`, in bytes. `is_little`: one thread. Throws Error{no_space}.
GeneralJoinBudget make_budget(const GeneralJoinOptions& options, std::uint64_t memory,
                              bool is_little);

// How the rest is planned of which each input that is to be sorted has its part, from its runs to
// the end: by the sizes, as far as they are known, but enough in any case.
std::array<GeneralPlanInput, kJoinSides> plan_inputs(const GeneralJoinOptions& options,
                                                     const GeneralJoinBudget& budget,
                                                     const JoinInputs& inputs);
// The same for neither, if both come sorted: what the output needs.
GeneralPlanInput plan_input_of_output(const GeneralJoinOptions& options,
                                      const GeneralJoinBudget& budget);

// The longest records of each input, in bytes.
using JoinLongRecords = std::array<RecordLengths::Longest, kJoinSides>;

// Whether a join has enough of the budget for `longest`.
bool has_room_for(const GeneralJoinOptions& options, const GeneralJoinBudget& budget,
                  const JoinInputs& inputs, const JoinLongRecords& longest);

}  // namespace xxl
