// What a sort of columns gives, for those that contents.h makes: by std::stable_sort on values of
// their fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job.h"

namespace xxl::campaign {

// The output of a job `sort` of these inputs, as text (tables.h); nothing if it has options that
// are not known here, or no key.
std::optional<std::string> table_sort_reference(const Job& job,
                                                const std::vector<std::string_view>& inputs);

}  // namespace xxl::campaign
