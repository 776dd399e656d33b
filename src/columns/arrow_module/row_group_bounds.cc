#include "columns/arrow_module/row_group_bounds.h"

#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <parquet/arrow/reader.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cstddef>
#include <memory>

namespace xxl::arrow_module {
namespace {

std::string big_endian(std::uint64_t number) {
  std::string bytes(sizeof number, '\0');
  for (std::size_t i = bytes.size(); i-- > 0; number >>= 8) {
    bytes[i] = static_cast<char>(number & 0xFF);
  }
  return bytes;
}

// Signed numbers with the sign inverted are in the order of unsigned ones.
std::string of_signed(std::int64_t number) {
  return big_endian(static_cast<std::uint64_t>(number) ^ (std::uint64_t{1} << 63));
}

template <class Decimal>
std::string of_decimal(const Decimal& number) {
  const auto words = number.little_endian_array();
  std::string bytes;
  for (std::size_t i = words.size(); i-- > 0;) {
    const bool highest = i + 1 == words.size();
    bytes += highest ? of_signed(static_cast<std::int64_t>(words[i])) : big_endian(words[i]);
  }
  return bytes;
}

template <class ScalarType>
const auto& value_of(const ::arrow::Scalar& scalar) {
  return static_cast<const ScalarType&>(scalar).value;
}

// Nothing for types whose statistics say too little.
std::optional<std::string> ordered_bytes(const ::arrow::Scalar& scalar) {
  using ::arrow::Type;
  if (!scalar.is_valid) return std::nullopt;
  switch (scalar.type->id()) {
    case Type::BOOL:
      return std::string(1, value_of<::arrow::BooleanScalar>(scalar) ? '\1' : '\0');
    case Type::INT8:
      return of_signed(value_of<::arrow::Int8Scalar>(scalar));
    case Type::INT16:
      return of_signed(value_of<::arrow::Int16Scalar>(scalar));
    case Type::INT32:
      return of_signed(value_of<::arrow::Int32Scalar>(scalar));
    case Type::INT64:
      return of_signed(value_of<::arrow::Int64Scalar>(scalar));
    case Type::UINT8:
      return big_endian(value_of<::arrow::UInt8Scalar>(scalar));
    case Type::UINT16:
      return big_endian(value_of<::arrow::UInt16Scalar>(scalar));
    case Type::UINT32:
      return big_endian(value_of<::arrow::UInt32Scalar>(scalar));
    case Type::UINT64:
      return big_endian(value_of<::arrow::UInt64Scalar>(scalar));
    case Type::DATE32:
      return of_signed(value_of<::arrow::Date32Scalar>(scalar));
    case Type::DATE64:
      return of_signed(value_of<::arrow::Date64Scalar>(scalar));
    case Type::TIME32:
      return of_signed(value_of<::arrow::Time32Scalar>(scalar));
    case Type::TIME64:
      return of_signed(value_of<::arrow::Time64Scalar>(scalar));
    case Type::TIMESTAMP:
      return of_signed(value_of<::arrow::TimestampScalar>(scalar));
    case Type::DECIMAL128:
      return of_decimal(value_of<::arrow::Decimal128Scalar>(scalar));
    case Type::DECIMAL256:
      return of_decimal(value_of<::arrow::Decimal256Scalar>(scalar));
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::FIXED_SIZE_BINARY:
      return static_cast<const ::arrow::BaseBinaryScalar&>(scalar).value->ToString();
    default:
      return std::nullopt;
  }
}

}  // namespace

RowGroupBounds bounds_of(const ::parquet::RowGroupMetaData& group, int leaf) {
  RowGroupBounds bounds;
  bounds.rows = static_cast<std::uint64_t>(std::max<std::int64_t>(group.num_rows(), 0));
  const auto column = group.ColumnChunk(leaf);
  // False as well for statistics of writers that are known to get them wrong.
  if (!column->is_stats_set()) return bounds;
  const auto statistics = column->statistics();
  if (statistics == nullptr) return bounds;
  if (statistics->HasNullCount()) {
    bounds.nulls = static_cast<std::uint64_t>(std::max<std::int64_t>(statistics->null_count(), 0));
  }
  if (!statistics->HasMinMax()) return bounds;
  std::shared_ptr<::arrow::Scalar> least, greatest;
  if (!::parquet::arrow::StatisticsAsScalars(*statistics, &least, &greatest).ok()) return bounds;
  const auto low = ordered_bytes(*least);
  const auto high = ordered_bytes(*greatest);
  if (low && high && *low <= *high) bounds.range = {*low, *high};
  return bounds;
}

std::vector<bool> row_groups_to_leave_out(const std::vector<RowGroupBounds>& groups,
                                          const WantedRows& wanted) {
  std::vector<bool> left_out(groups.size());
  const auto before = [&](const std::string& a, const std::string& b) {
    return wanted.descending ? b < a : a < b;
  };
  // No value of a group comes before its first bound, none behind its last one.
  const auto first = [&](const RowGroupBounds& group) -> const std::string& {
    return wanted.descending ? group.range->greatest : group.range->least;
  };
  const auto last = [&](const RowGroupBounds& group) -> const std::string& {
    return wanted.descending ? group.range->least : group.range->greatest;
  };
  // Rows that come no later than the last bound.
  const auto certain_rows = [&](const RowGroupBounds& group) -> std::uint64_t {
    if (wanted.nulls_first) return group.rows;
    return group.nulls && *group.nulls <= group.rows ? group.rows - *group.nulls : 0;
  };

  std::vector<std::size_t> by_last;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].range) by_last.push_back(i);
  }
  std::sort(by_last.begin(), by_last.end(),
            [&](std::size_t a, std::size_t b) { return before(last(groups[a]), last(groups[b])); });
  const std::string* bound = nullptr;  // as many rows as are wanted come no later
  std::uint64_t rows = 0;
  for (const std::size_t i : by_last) {
    rows += certain_rows(groups[i]);
    if (rows < wanted.limit) continue;
    bound = &last(groups[i]);
    break;
  }
  if (bound == nullptr) return left_out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const RowGroupBounds& group = groups[i];
    if (wanted.nulls_first && group.nulls != std::uint64_t{0}) continue;
    const bool all_null = !wanted.nulls_first && group.rows > 0 && group.nulls == group.rows;
    left_out[i] = all_null || (group.range && before(*bound, first(group)));
  }
  return left_out;
}

}  // namespace xxl::arrow_module
