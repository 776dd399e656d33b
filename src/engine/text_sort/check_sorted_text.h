// Whether what is read back of an output of text is what was to be sorted (docs/checksums.md).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/checksum.h"
#include "engine/text_sort/text_sort_options.h"
#include "io/file.h"
#include "record/key_extractor.h"

namespace xxl {

// Throws Error{corrupt} unless the records of `output`, a file of a caller, are in the order of
// `keys`, as `options` wanted, and have this `sum`. In `memory`, or a little of its own; ends where
// that is too little for two neighbours. Takes over `output`.
void check_sorted_text(const TextSortOptions& options, std::shared_ptr<const KeyExtractor> keys,
                       const MultisetHash& sum, io::File& output, std::span<std::byte> memory);

}  // namespace xxl
