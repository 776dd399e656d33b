// Where the output of a job is cut into parts.
#pragma once

#include <string>
#include <vector>

#include "job.h"

namespace xxl::campaign {

// The first way in which these parts break --parts, --part-bytes or --part-by; empty: none. Other
// checks compare the content of all parts together.
std::string wrong_division(const Job& job, const std::vector<std::string>& parts);

}  // namespace xxl::campaign
