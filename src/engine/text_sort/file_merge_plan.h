// How the memory of sort -m is divided among the files that are merged at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/inputs.h"
#include "engine/text_sort/text_memory.h"
#include "engine/text_sort/text_sort_options.h"

namespace xxl {

// Most files that may be merged at once, in the memory of `geometry`.
std::size_t files_at_once(const TextSortOptions& options, const Inputs& inputs,
                          const TextGeometry& geometry, unsigned threads, bool is_little);

// How many inputs from `first` on may be merged at once: no more than `degree`, and as many as
// there is memory for decoders.
std::size_t group_from(const TextSortOptions& options, const Inputs& inputs, std::size_t first,
                       std::size_t degree);

struct FileMergePlan {
  std::vector<std::size_t> buffer_bytes;  // of each file: no more than it fills
  std::size_t joined_bytes = 0;           // for records that lie in several buffers
};
FileMergePlan plan_file_merge(const TextGeometry& geometry, std::span<const io::File> files);

}  // namespace xxl
