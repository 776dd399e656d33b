// Tables in files of columns, by a program of its own (tables/), since they need Apache Arrow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "job.h"
#include "reference.h"

namespace xxl::campaign {

// Of a row group, or a batch.
std::uint64_t rows_of_group(const Input& input);
// What xxl-campaign-tables makes of the rows that contents.h makes: a file as the input wants it.
std::string table_file(const Job& job, const Input& input, const std::string& rows,
                       const Tools& tools);
// The other way: a line with the columns, and the rows. Nothing if it is not a valid file.
std::optional<std::string> table_text(const Job& job, const std::string& file, const Tools& tools);

}  // namespace xxl::campaign
