// Sets of lines, and whether lines or records are a permutation of others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job.h"

namespace xxl::campaign {

// The records of a job's text, with their ends, or binary ones. A last line without an end gets
// one.
std::vector<std::string> split_records(const Job& job, std::string_view bytes);

// The output of a job `set` of lines, compared as a whole; nothing if it has options that are not
// known here.
std::optional<std::string> set_reference(const Job& job,
                                         const std::vector<std::string_view>& inputs);

// Whether `output` has the records of all inputs, each as often.
bool is_permutation(const Job& job, const std::vector<std::string_view>& inputs,
                    std::string_view output);

}  // namespace xxl::campaign
