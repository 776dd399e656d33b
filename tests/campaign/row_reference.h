// What a sort of rows gives, for the columns that contents.h makes: by std::stable_sort on values
// of their fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "groups.h"
#include "job.h"

namespace xxl::campaign {

// The place of a column, given by its name or, without --header, its number; nothing if it is none.
std::optional<std::size_t> column_of(const Job& job, const std::string& text);

// A number as contents.h makes them, in hundredths.
long hundredths(const std::string& number);

// The fields of a row as they are, and the value of one: without quotes.
std::vector<std::string> raw_fields_of(std::string_view row, char separator);
std::string unquoted(std::string_view field);
// The values of its fields.
std::vector<std::string> fields_of(std::string_view row, char separator);

// Rows with their ends; line breaks in quotes are none. The last one may lack its end.
std::vector<std::string_view> split_rows(std::string_view text);

// Nothing if the job has options that are not known here.
std::optional<RankedInputs> rank_rows(const Job& job, const std::vector<std::string_view>& inputs);

// The output of a job `sort` of these inputs; nothing if it has options that are not known here, or
// no key.
std::optional<std::string> row_sort_reference(const Job& job,
                                              const std::vector<std::string_view>& inputs);

}  // namespace xxl::campaign
