// Whether what is read back of an output is what was to be sorted (docs/internals/checksums.md).
#pragma once

#include <cstddef>
#include <span>

#include "base/checksum.h"
#include "io/file.h"
#include "job/fixed_sort/fixed_sort_options.h"

namespace xxl {

// Throws Error{corrupt} unless the records of `output`, a file of a caller, are those that
// `options` wanted sorted in order, and have this `sum`. In `memory`, or a little of its own; where
// records are too long for that, nothing is read. `threads`: most that compare.
void check_sorted(const FixedSortOptions& options, const MultisetHash& sum, const io::File& output,
                  std::span<std::byte> memory, unsigned threads);

}  // namespace xxl
