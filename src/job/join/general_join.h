// Joining two inputs of lines or rows, of any size and in any order: the public entry.
//
// How it works: docs/internals/joining.md.
#pragma once

#include <array>
#include <memory>

#include "job/inputs.h"
#include "job/join/general_join_options.h"
#include "join/join_kind.h"

namespace xxl {

// A join that has not been done.
class GeneralJoin {
 public:
  virtual ~GeneralJoin() = default;
  // Once.
  virtual JoinReport run() = 0;
};
// Of `inputs` that are open, those of `options`, which must outlive it. Nothing is guessed.
std::unique_ptr<GeneralJoin> make_general_join(const GeneralJoinOptions& options,
                                               std::array<Inputs, kJoinSides> inputs);

// Joins. When it returns, the output is complete and checked; when it throws Error, the output does
// not exist or is what it was before (streams excepted).
JoinReport general_join(const GeneralJoinOptions& options);
JoinPlan plan_general_join(const GeneralJoinOptions& options);

}  // namespace xxl
