// How the memory of sort -m is divided among the files that are merged at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "job/general_sort/general_memory.h"
#include "job/general_sort/general_sort_options.h"
#include "job/inputs.h"

namespace xxl {

// Most files that may be merged at once, in the memory of `geometry`.
std::size_t files_at_once(const GeneralSortOptions& options, const Inputs& inputs,
                          const GeneralGeometry& geometry, unsigned threads, bool is_little);

// How many inputs from `first` on may be merged at once: no more than `degree`, and as many as
// there is memory for decoders.
std::size_t group_from(const GeneralSortOptions& options, const Inputs& inputs, std::size_t first,
                       std::size_t degree);

struct FileMergePlan {
  std::vector<std::size_t> buffer_bytes;  // of each file: no more than it fills
  std::size_t joined_bytes = 0;           // for records that lie in several buffers
};
FileMergePlan plan_file_merge(const GeneralGeometry& geometry, std::span<const io::File> files);

}  // namespace xxl
