// Names of directories that say which value a column has in the files in them: city=Berlin, as
// Hive, Spark, DuckDB, Polars and Arrow write and read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "record/record_format.h"
#include "run/output_parts.h"

namespace xxl {

// COLUMN=VALUE. Bytes with a meaning in names are written as %XX. An empty value, or null, is
// __HIVE_DEFAULT_PARTITION__. Throws Error{bad_input} if the name would be longer than 255 bytes,
// or the value is that word itself.
std::string hive_name(std::string_view column, std::optional<std::string_view> value);

// The key of parts of binary records: the first one of `format`, which `part_by` gives
// (FileJob::part_by).
PartKey key_of_parts(const std::string& part_by, RecordFormat format);

}  // namespace xxl
