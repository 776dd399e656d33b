// Merging of sorted files: whether it is tried, and the memory of those that are merged at once.
#pragma once

#include <cstddef>
#include <cstdint>
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

// What is held of merged files at once, in bytes: of each its longest record, and one that was
// before. Of what cannot be read again only `longest` is known. Reads the files.
std::uint64_t joined_bytes_needed(const GeneralSortOptions& options, Inputs& inputs,
                                  std::size_t longest);

// Whether it pays to merge the inputs as if they were sorted: they look sorted, do not fit in
// memory, and one thread compares their keys as fast as disks deliver; and if they are not, the
// sort can start again. Not with a limit: what is not read would not be checked.
bool may_be_sorted(const GeneralSortOptions& options);

}  // namespace xxl
