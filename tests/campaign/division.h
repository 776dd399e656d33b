// Where the output of a job is cut into parts.
#pragma once

#include <string>
#include <vector>

#include "job.h"

namespace xxl::campaign {

// What is wrong with these parts, as --parts, --part-bytes and --part-by have it; empty: nothing.
// What is in all of them together is for others to compare.
std::string wrong_division(const Job& job, const std::vector<std::string>& parts);

}  // namespace xxl::campaign
