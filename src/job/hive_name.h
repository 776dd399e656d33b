// Names of directories that say which value a column has in the files in them: city=Berlin, as
// Hive, Spark, DuckDB, Polars and Arrow write and read them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "record/key_extractor.h"
#include "record/record_format.h"

namespace xxl {

// What the name of a directory can have.
inline constexpr std::size_t kMostNameBytes = 255;

// The value of rows without one.
inline constexpr std::string_view kNoValue = "__HIVE_DEFAULT_PARTITION__";

// COLUMN=VALUE. Bytes with a meaning in names are written as %XX. An empty value, or null, is
// kNoValue. Throws Error{bad_input} if the name would be too long, or the value is kNoValue itself.
std::string hive_name(std::string_view column, std::optional<std::string_view> value);

// The key of parts of binary records: the first one of `format`, which `part_by` gives
// (FileJob::part_by).
std::shared_ptr<const KeyExtractor> key_of_parts(const std::string& part_by, RecordFormat format);

struct HiveValue {
  std::string column;
  std::optional<std::string> value;  // none: kNoValue

  friend bool operator==(const HiveValue&, const HiveValue&) = default;
};

// What hive_name() made; none if `name` is not COLUMN=VALUE.
std::optional<HiveValue> parse_hive_name(std::string_view name);

}  // namespace xxl
