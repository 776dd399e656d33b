#include "columns/arrow_module/int96.h"

#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>

#include "columns/arrow_module/failed.h"

namespace xxl::arrow_module {
namespace {

using Wide = __int128;

constexpr std::int64_t kValuesAtOnce = 4096;
constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;

// Since 1970.
Wide nanoseconds_of(const ::parquet::Int96& value) {
  std::int64_t in_day;
  std::memcpy(&in_day, value.value.data(), sizeof in_day);
  const Wide day = Wide{value.value[2]} - ::parquet::kJulianToUnixEpochDays;
  return day * ::parquet::kNanosecondsPerDay + in_day;
}

bool fits_64_bits(Wide number) {
  return number >= std::numeric_limits<std::int64_t>::min() &&
         number <= std::numeric_limits<std::int64_t>::max();
}

// Whether the library makes the right microseconds of it: where those of the day are no negative
// number.
bool fits_microseconds(const ::parquet::Int96& value) {
  return nanoseconds_of(value) % kNanosecondsPerMicrosecond == 0 &&
         fits_64_bits(nanoseconds_of(value) / kNanosecondsPerMicrosecond) &&
         value.value[1] <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

void Int96Unit::look_at(::parquet::ParquetFileReader& file, const std::string& path) {
  const auto metadata = file.metadata();
  for (int leaf = 0; leaf < metadata->num_columns(); ++leaf) {
    const ::parquet::ColumnDescriptor& column = *metadata->schema()->Column(leaf);
    if (column.physical_type() != ::parquet::Type::INT96) continue;
    const std::string name = "column " + column.path()->ToDotString();
    for (int group = 0; group < metadata->num_row_groups(); ++group) {
      try {
        look_at(*file.RowGroup(group), leaf, joined({path, name}));
      } catch (const ::parquet::ParquetException& error) {
        throw Failed(ErrorCode::bad_input,
                     joined({path, "row group " + std::to_string(group), name, error.what()}));
      }
    }
  }
  if (far_.empty() || fine_.empty()) return;
  throw Failed(ErrorCode::usage,
               far_ + " has times before 1677 or after 2262, which only microseconds hold, and " +
                   (far_ == fine_ ? "others" : fine_ + " has times") +
                   " that only nanoseconds do (INT96): write them as TIMESTAMP of one unit");
}

void Int96Unit::look_at(::parquet::RowGroupReader& group, int leaf, const std::string& place) {
  const auto reader = std::static_pointer_cast<::parquet::Int96Reader>(group.Column(leaf));
  std::array<::parquet::Int96, kValuesAtOnce> values;
  std::array<std::int16_t, kValuesAtOnce> definitions, repetitions;
  while (reader->HasNext()) {
    std::int64_t count = 0;
    reader->ReadBatch(kValuesAtOnce, definitions.data(), repetitions.data(), values.data(), &count);
    for (std::int64_t i = 0; i < count; ++i) {
      const ::parquet::Int96& value = values[static_cast<std::size_t>(i)];
      if (!fits_64_bits(nanoseconds_of(value))) far_ = place;
      if (!fits_microseconds(value)) fine_ = place;
    }
  }
}

}  // namespace xxl::arrow_module
