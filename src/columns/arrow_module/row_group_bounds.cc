#include "columns/arrow_module/row_group_bounds.h"

#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <parquet/arrow/reader.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

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

template <class Scalar>
const auto& value_of(const ::arrow::Scalar& scalar) {
  return static_cast<const Scalar&>(scalar).value;
}

// The bytes of a number whose type is one of `Scalars`; otherwise nothing.
template <class... Scalars>
std::optional<std::string> of_number(const ::arrow::Scalar& scalar) {
  std::optional<std::string> bytes;
  const auto set = [&bytes](auto value) {
    if constexpr (std::is_signed_v<decltype(value)>) {
      bytes = of_signed(value);
    } else {
      bytes = big_endian(value);
    }
    return true;
  };
  static_cast<void>((
      (scalar.type->id() == Scalars::TypeClass::type_id && set(value_of<Scalars>(scalar))) || ...));
  return bytes;
}

// Nothing for types whose statistics say too little.
std::optional<std::string> ordered_bytes(const ::arrow::Scalar& scalar) {
  using ::arrow::Type;
  if (!scalar.is_valid) return std::nullopt;
  switch (scalar.type->id()) {
    case Type::BOOL:
      return std::string(1, value_of<::arrow::BooleanScalar>(scalar) ? '\1' : '\0');
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
      return of_number<::arrow::Int8Scalar, ::arrow::Int16Scalar, ::arrow::Int32Scalar,
                       ::arrow::Int64Scalar, ::arrow::UInt8Scalar, ::arrow::UInt16Scalar,
                       ::arrow::UInt32Scalar, ::arrow::UInt64Scalar, ::arrow::Date32Scalar,
                       ::arrow::Date64Scalar, ::arrow::Time32Scalar, ::arrow::Time64Scalar,
                       ::arrow::TimestampScalar>(scalar);
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
                                          const module_table::FirstRows& wanted) {
  std::vector<bool> left_out(groups.size());
  const auto before = [&](const std::string& a, const std::string& b) {
    return wanted.descending != 0 ? b < a : a < b;
  };
  // No value of a group comes before its first bound, none behind its last one.
  const auto first = [&](const RowGroupBounds& group) -> const std::string& {
    return wanted.descending != 0 ? group.range->greatest : group.range->least;
  };
  const auto last = [&](const RowGroupBounds& group) -> const std::string& {
    return wanted.descending != 0 ? group.range->least : group.range->greatest;
  };
  // Rows that come no later than the last bound.
  const auto certain_rows = [&](const RowGroupBounds& group) -> std::uint64_t {
    if (wanted.nulls_first != 0) return group.rows;
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
    if (wanted.nulls_first != 0 && group.nulls != std::uint64_t{0}) continue;
    const bool all_null = wanted.nulls_first == 0 && group.rows > 0 && group.nulls == group.rows;
    left_out[i] = all_null || (group.range && before(*bound, first(group)));
  }
  return left_out;
}

}  // namespace xxl::arrow_module
