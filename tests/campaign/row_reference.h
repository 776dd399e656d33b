// What a sort of rows gives, for the columns that contents.h makes: by std::stable_sort on values
// of their fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job.h"

namespace xxl::campaign {

// The fields of a row, without quotes.
std::vector<std::string> fields_of(std::string_view row, char separator);

// Rows with their ends; line breaks in quotes are none. The last one may lack its end.
std::vector<std::string_view> split_rows(std::string_view text);

// The output of a job `sort` of these inputs; nothing if it has options that are not known here, or
// no key.
std::optional<std::string> row_sort_reference(const Job& job,
                                              const std::vector<std::string_view>& inputs);

}  // namespace xxl::campaign
