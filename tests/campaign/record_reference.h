// What a sort of binary records gives, said as plainly as it can be said: by std::stable_sort on
// keys whose bytes compare as the keys do. Nothing of the program is in it but what a record is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "groups.h"
#include "job.h"

namespace xxl::campaign {

// The key as bytes that compare as it does.
std::string sort_key(const RecordFormat& format, std::string_view record);

// Stably sorted.
std::string sort_records(const RecordFormat& format, std::string_view bytes);

// The output of a job `sort` of these bytes, those of all inputs; nothing if it has options that
// are not known here, or a sum that its field cannot hold.
std::optional<std::string> sort_reference(const Job& job, std::string_view bytes);

// The same for `join` of R and S, sorted and merged.
std::optional<std::string> join_reference(const Job& job, std::string_view r, std::string_view s);

// For sets and --keep-order; nothing if the job has options that are not known here.
std::optional<RankedInputs> rank_records(const Job& job,
                                         const std::vector<std::string_view>& inputs);

// Bytes of a row of such a join.
std::size_t joined_bytes(const Job& job);

}  // namespace xxl::campaign
