// The inputs of a merge (sort -m) as runs.
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "job/inputs.h"
#include "record/key_layout.h"
#include "run/run.h"

namespace xxl {

struct MergeInputs {
  std::size_t block_bytes;  // of the runs
  std::size_t most_open;    // more inputs than that are closed again once their triggers are read
  std::string scratch_directory;  // for those that are streams
  std::span<std::byte> buffer;    // for reading streams; a multiple of and aligned to kSectorBytes
  std::stop_token stop;
};

// Reads the triggers of `inputs`, which must outlive the runs; what is a stream goes to a file in
// scratch first, as a merge reads at many places. Throws Error.
std::vector<Run> open_merge_inputs(Inputs& inputs, const KeyLayout& layout,
                                   const MergeInputs& means);

}  // namespace xxl
