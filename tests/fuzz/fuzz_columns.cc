// Tables of any types as Arrow's C data interface gives them: read, made into records and read from
// these, each value is what it was, and keys are in the order of values. The same tables damaged
// where the importer promises to check: an error, or as if they were valid.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "columns/arrow_test_support.h"
#include "columns/column_builder.h"
#include "columns/column_stream.h"
#include "columns/dictionary_table.h"
#include "columns/row_format.h"
#include "columns/row_table.h"
#include "columns/value_bytes.h"
#include "fuzz_input.h"
#include "made_tables.h"

namespace xxl {
namespace {

using fuzz::Input;
using fuzz::Made;
using fuzz::require;
using test::Column;

constexpr unsigned kMostRows = 9;

std::string cell_text(const ColumnView& column, std::size_t row) {
  if (!column.is_valid(row)) return "-";
  switch (column.type->layout) {
    case Layout::null:
      return "-";
    case Layout::boolean:
      return column.bit(row) ? "1" : "0";
    case Layout::dictionary:
      return cell_text(column.values.front(), column.index(row));
    case Layout::structure: {
      std::string text = "{";
      for (const ColumnView& child : column.children) text += cell_text(child, row) + ";";
      return text + "}";
    }
    case Layout::list32:
    case Layout::list64:
    case Layout::fixed_list: {
      std::string text = "[";
      const auto [begin, end] = column.list(row);
      for (std::size_t i = begin; i < end; ++i) text += cell_text(column.children[0], i) + ";";
      return text + "]";
    }
    default:
      return fuzz::hexadecimal(column.text(row));
  }
}

using Row = std::vector<std::string>;  // a text for each column

std::vector<Row> rows_of(const ColumnView& table) {
  std::vector<Row> rows(table.rows);
  for (const ColumnView& column : table.children) {
    for (std::size_t row = 0; row < table.rows; ++row) {
      rows[row].push_back(cell_text(column, row));
    }
  }
  return rows;
}

// The number that the bits of a float of `width` bytes are.
double float_of(std::uint64_t bits, std::size_t width) {
  if (width == 8) return std::bit_cast<double>(bits);
  if (width == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<double>(bits & 1023);
  double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? HUGE_VAL : std::nan("");
  return (bits & 0x8000) != 0 ? -value : value;
}

// Of two values that are there, as text.
std::partial_ordering compare_values(const KeyColumn& key, const std::string& a,
                                     const std::string& b) {
  const auto bytes = [](const std::string& cell) {
    std::string result;
    for (std::size_t i = 1; i < cell.size(); i += 2) {
      result.push_back(static_cast<char>(std::stoi(cell.substr(i, 2), nullptr, 16)));
    }
    return result;
  };
  const auto number = [&](const std::string& cell) {
    std::uint64_t bits = 0;
    const std::string value = bytes(cell);
    std::memcpy(&bits, value.data(), std::min(value.size(), sizeof(bits)));
    return bits;
  };
  switch (key.kind) {
    case KeyKind::unsigned_integer:
      return number(a) <=> number(b);
    case KeyKind::signed_integer: {
      // The sign, then the rest from the highest byte down.
      std::string x = bytes(a), y = bytes(b);
      std::ranges::reverse(x);
      std::ranges::reverse(y);
      const bool x_negative = x[0] < 0, y_negative = y[0] < 0;
      return x_negative != y_negative ? y_negative <=> x_negative : x <=> y;
    }
    case KeyKind::floating: {
      const double x = float_of(number(a), key.width), y = float_of(number(b), key.width);
      // NaNs are equal, and above all numbers.
      if (x != x || y != y) return static_cast<int>(x != x) <=> static_cast<int>(y != y);
      return x <=> y;
    }
    default:
      return bytes(a) <=> bytes(b);
  }
}

std::partial_ordering compare_rows(const std::vector<KeyColumn>& keys, const Row& a, const Row& b) {
  for (const KeyColumn& key : keys) {
    const std::string &x = a[key.column], &y = b[key.column];
    const bool x_null = x == "-", y_null = y == "-";
    std::partial_ordering order = std::partial_ordering::equivalent;
    if (x_null != y_null) {
      order =
          x_null == key.nulls_first ? std::partial_ordering::less : std::partial_ordering::greater;
    } else if (!x_null) {
      order =
          key.kind == KeyKind::boolean ? std::partial_ordering(x <=> y) : compare_values(key, x, y);
      if (key.descending) order = 0 <=> order;
    }
    if (order != 0) return order;
  }
  return std::partial_ordering::equivalent;
}

std::vector<KeyColumn> choose_keys(const ColumnType& table, Input& input) {
  std::vector<KeyColumn> keys;
  for (unsigned count = input.choose(4); count > 0 && !table.children.empty(); --count) {
    const std::size_t column = input.choose(static_cast<unsigned>(table.children.size()));
    if (table.children[column].key == KeyKind::none) continue;
    KeyColumn key = key_column(column, table.children[column]);
    key.descending = input.choose(2) == 1;
    key.nulls_first = input.choose(2) == 1;
    keys.push_back(key);
  }
  return keys;
}

// Rows that were written, as they are read.
std::vector<Row> read_records(const ColumnType& table, const RowFormat& format,
                              const DictionaryTables& tables,
                              const std::vector<std::string>& records) {
  const ColumnType wide = with_wide_indices(table, tables);
  const Dictionaries dictionaries(table, tables);
  ColumnBuilder builder(wide, &dictionaries);
  std::vector<ColumnBuilder*> keys, values;
  for (const KeyColumn& key : format.keys) {
    const bool is_value = !is_in_key(key, wide.children[key.column]);
    keys.push_back(is_value ? nullptr : &builder.child(key.column));
  }
  for (const RowFormat::Field& field : format.fields) {
    values.push_back(&builder.child(field.column));
  }
  std::vector<const std::byte*> begins, ends;
  for (const std::string& record : records) {
    const RowParts parts = parts_of_row(record);
    begins.push_back(reinterpret_cast<const std::byte*>(parts.key.data()));
    ends.push_back(parts.values);
  }
  RowReader reader(format);
  reader.read_keys(begins, ends, keys);
  reader.read_values(ends, values);
  ArrowArray array{};
  builder.finish_table(records.size(), &array);
  std::vector<Row> rows;
  try {
    rows = rows_of(view_of(wide, array, "the output"));
  } catch (const Error&) {
    require(false);  // what was accepted as an input is valid
  }
  array.release(&array);
  return rows;
}

// The rows of a stream, which becomes records and rows again.
std::vector<Row> check_stream(test::Batches& batches, Input& input) {
  ArrowArrayStream stream;
  batches.export_to(&stream);
  BatchReader reader(&stream, "the input");
  const ColumnType& type = reader.type();
  const RowFormat format = RowFormat::of_sort(type, choose_keys(type, input));
  DictionaryTables tables = dictionary_tables(type, kMiB);
  RowWriter writer(format, tables);
  std::vector<Row> rows;
  std::vector<std::string> records;
  while (reader.next()) {
    begin_batch(tables, reader.batch());
    const std::vector<Row> of_batch = rows_of(reader.batch());
    rows.insert(rows.end(), of_batch.begin(), of_batch.end());
    (void)bytes_of(reader.batch());
    for (std::size_t row = 0; row < of_batch.size();) {
      const auto written = writer.write(reader.batch(), row, of_batch.size() - row);
      visit_rows(written.records, [&](std::string_view record) { records.emplace_back(record); });
      row += written.rows;
    }
  }
  require(records.size() == rows.size());
  require(read_records(type, format, tables, records) == rows);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::string_view a = parts_of_row(records[i - 1]).key, b = parts_of_row(records[i]).key;
    require((a <=> b) == compare_rows(format.keys, rows[i - 1], rows[i]));
  }
  return rows;
}

void check_tables(Input& input) {
  const bool damaged = input.choose(3) == 0;
  std::vector<fuzz::Type> types;
  for (unsigned columns = input.choose(5); columns > 0; --columns) {
    types.push_back(fuzz::make_type(input));
  }
  test::Batches batches;
  std::vector<Row> expected;
  for (unsigned count = 1 + input.choose(2); count > 0; --count) {
    const std::size_t rows = input.choose(kMostRows);
    Column& table = batches.batches.emplace_back(test::table({}));
    table.length = static_cast<std::int64_t>(rows);
    std::vector<Row> cells(rows);
    for (std::size_t i = 0; i < types.size(); ++i) {
      Made column = fuzz::make_array(input, types[i], rows);
      column.column.name = std::string(1, static_cast<char>('a' + i));
      table.children.push_back(std::move(column.column));
      for (std::size_t row = 0; row < rows; ++row) cells[row].push_back(column.cells[row]);
    }
    expected.insert(expected.end(), cells.begin(), cells.end());
  }
  if (!damaged) {
    require(check_stream(batches, input) == expected);
    return;
  }
  // (The first one has the schema.)
  batches.batches.push_back(batches.batches.back());
  fuzz::damage(batches.batches.back(), input);
  try {
    check_stream(batches, input);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::bad_input);
  }
}

// A schema with any text as a format.
void check_schema(Input& input) {
  Column column{.name = "a", .format = std::string(input.take_until('\0'))};
  for (unsigned children = input.choose(3); children > 0; --children) {
    column.children.push_back({.name = "b", .format = std::string(input.take_until('\0'))});
  }
  if (input.choose(2) == 1) column.dictionary = {{.format = std::string(input.take_until('\0'))}};
  ArrowSchema schema{};
  test::export_schema_of(test::table({column}), &schema);
  try {
    const ColumnType type = table_type(schema);
    ArrowSchema again{};
    export_schema(type, &again);
    const ColumnType same = table_type(again);
    again.release(&again);
    const ColumnType &x = type.children[0], &y = same.children[0];
    require(x.format == y.format && x.layout == y.layout && x.key == y.key && x.width == y.width &&
            x.list_size == y.list_size && x.children.size() == y.children.size() &&
            x.values.size() == y.values.size() && type_name(x) == type_name(y));
  } catch (const Error& error) {
    require(error.code() == ErrorCode::usage);
  }
  schema.release(&schema);
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xxl::fuzz::Input input(data, size);
  if (input.choose(8) == 0) {
    xxl::check_schema(input);
  } else {
    xxl::check_tables(input);
  }
  return 0;
}
