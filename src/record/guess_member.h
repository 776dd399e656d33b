// What a comparator compares first, found by asking it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "record/record_format.h"
#include "xxl/comparator.h"

namespace xxl {

// A member by which all pairs of neighbours in `sample` are ordered that differ in it, as at least
// half of them do: a number of 4 or 8 bytes, ascending or descending. It is only probable that all
// other records are, too.
std::optional<RecordFormat> guess_member(const detail::RecordOrder& order, std::size_t record_bytes,
                                         const std::vector<const std::byte*>& sample);

}  // namespace xxl
