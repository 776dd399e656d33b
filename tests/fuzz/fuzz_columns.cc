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
#include "fuzz_input.h"

namespace xxl {
namespace {

using fuzz::Input;
using fuzz::require;
using test::Column;

constexpr int kMostDepth = 3;
constexpr unsigned kMostRows = 9;

// ---- tables out of bytes

// The types that have one width, with what their values are compared as.
struct Fixed {
  std::string_view format;
  std::size_t width;
};
constexpr Fixed kFixed[] = {{"c", 1},   {"C", 1},   {"s", 2},   {"S", 2},       {"i", 4},
                            {"I", 4},   {"l", 8},   {"L", 8},   {"e", 2},       {"f", 4},
                            {"g", 8},   {"w:0", 0}, {"w:3", 3}, {"d:38,3", 16}, {"d:70,2,256", 32},
                            {"tdD", 4}, {"ttu", 8}, {"tDn", 8}, {"tsm:UTC", 8}, {"tin", 16}};
constexpr unsigned kIndexTypes = 8;  // of them, those that are plain integers

struct Type {
  std::string format;
  bool nullable = false;
  std::size_t size = 0;  // a width; of lists of fixed size their length
  std::vector<Type> children = {};
  std::vector<Type> dictionary = {};
};

Type make_type(Input& input, int depth, bool may_be_dictionary) {
  Type type;
  type.nullable = input.choose(2) == 1;
  const auto child = [&] { return make_type(input, depth + 1, may_be_dictionary); };
  constexpr std::string_view kTexts[] = {"u", "z", "U", "Z", "vu", "vz"};
  switch (const unsigned kind = input.choose(depth < kMostDepth ? 12 : 4); kind) {
    case 0:
      type.format = input.choose(8) == 0 ? "n" : "b";
      if (type.format == "n") type.nullable = true;
      break;
    case 1:
    case 2: {
      const Fixed& fixed = kFixed[input.choose(std::size(kFixed))];
      type.format = fixed.format;
      type.size = fixed.width;
      break;
    }
    case 4:
    case 5:
      type.format = kind == 4 ? "+l" : "+L";
      type.children = {child()};
      break;
    case 6:
      type.size = input.choose(4);
      type.format = "+w:" + std::to_string(type.size);
      type.children = {child()};
      break;
    case 7:
      type.format = "+s";
      for (unsigned children = input.choose(4); children > 0; --children) {
        type.children.push_back(child());
      }
      break;
    case 8:
      type.format = "+m";
      type.children = {{.format = "+s"}};
      type.children[0].children = {child(), child()};
      break;
    case 9:
    case 10:
      if (may_be_dictionary) {
        const Fixed& index = kFixed[input.choose(kIndexTypes)];
        type.format = index.format;
        type.size = index.width;
        type.dictionary = {make_type(input, depth + 1, false)};
        break;
      }
      [[fallthrough]];
    default:
      type.format = kTexts[input.choose(std::size(kTexts))];
  }
  return type;
}

// An array, and the text of each of its values: "-" for nulls.
struct Made {
  Column column;
  std::vector<std::string> cells;
};

std::string hexadecimal(std::string_view bytes) {
  std::string text = "x";
  for (const char c : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

std::string any_bytes(Input& input, std::size_t count) {
  std::string bytes;
  for (; count > 0; --count) bytes.push_back(static_cast<char>(input.choose(256)));
  return bytes;
}

class Maker {
 public:
  Maker(Input& input, const Type& type, std::size_t rows) : input_(input), type_(type) {
    offset_ = input.choose(4) == 0 ? input.choose(9) : 0;
    total_ = offset_ + rows;
    made_.column.format = type.format;
    made_.column.nullable = type.nullable;
    made_.column.length = static_cast<std::int64_t>(rows);
    made_.column.offset = static_cast<std::int64_t>(offset_);
    make_validity();
  }

  Made make() {
    if (type_.format == "n") {
      made_.column.buffers.clear();
      made_.cells.assign(total_, "-");
    } else if (!type_.dictionary.empty()) {
      make_dictionary();
    } else if (type_.format == "b") {
      make_booleans();
    } else if (type_.format == "u" || type_.format == "z") {
      make_texts<std::int32_t>();
    } else if (type_.format == "U" || type_.format == "Z") {
      make_texts<std::int64_t>();
    } else if (type_.format[0] == 'v') {
      make_views();
    } else if (type_.format == "+l" || type_.format == "+m") {
      make_lists<std::int32_t>();
    } else if (type_.format == "+L") {
      make_lists<std::int64_t>();
    } else if (type_.format == "+s") {
      make_structures();
    } else if (type_.format[0] == '+') {
      make_fixed_lists();
    } else {
      make_fixed();
    }
    for (std::size_t i = 0; i < total_; ++i) {
      if (!valid_[i]) made_.cells[i] = "-";
    }
    made_.cells.erase(made_.cells.begin(), made_.cells.begin() + static_cast<long>(offset_));
    return std::move(made_);
  }

 private:
  void make_validity() {
    valid_.assign(total_, true);
    made_.column.nulls = 0;
    made_.column.buffers = {std::nullopt};
    if (!type_.nullable || input_.choose(2) == 0) return;
    for (std::size_t i = 0; i < total_; ++i) valid_[i] = input_.choose(3) != 0;
    made_.column.nulls = -1;
    made_.column.buffers = {test::bits(valid_)};
  }
  void make_booleans() {
    std::vector<bool> values;
    for (std::size_t i = 0; i < total_; ++i) {
      values.push_back(input_.choose(2) == 1);
      made_.cells.push_back(values.back() ? "1" : "0");
    }
    made_.column.buffers.emplace_back(test::bits(values));
  }
  void make_fixed() {
    std::string& data = made_.column.buffers.emplace_back("").value();
    for (std::size_t i = 0; i < total_; ++i) {
      const std::string value = any_bytes(input_, type_.size);
      data += value;
      made_.cells.push_back(hexadecimal(value));
    }
  }
  template <class Offset>
  void make_texts() {
    std::string bytes = any_bytes(input_, input_.choose(3));
    std::vector<Offset> offsets{static_cast<Offset>(bytes.size())};
    for (std::size_t i = 0; i < total_; ++i) {
      const std::string value = any_bytes(input_, input_.choose(6));
      bytes += value;
      offsets.push_back(static_cast<Offset>(bytes.size()));
      made_.cells.push_back(hexadecimal(value));
    }
    made_.column.buffers.emplace_back(test::bytes_of_values(offsets));
    made_.column.buffers.emplace_back(bytes.empty() ? std::nullopt : std::optional(bytes));
  }
  void make_views() {
    std::array<std::string, 2> buffers;
    std::string views;
    for (std::size_t i = 0; i < total_; ++i) {
      const std::string value = any_bytes(input_, input_.choose(20));
      std::array<std::int32_t, 4> view{static_cast<std::int32_t>(value.size())};
      auto* const at = reinterpret_cast<char*>(view.data());
      if (value.size() <= 12) {
        std::memcpy(at + 4, value.data(), value.size());
      } else {
        view[2] = static_cast<std::int32_t>(input_.choose(2));
        std::string& buffer = buffers[static_cast<std::size_t>(view[2])];
        std::memcpy(at + 4, value.data(), 4);
        view[3] = static_cast<std::int32_t>(buffer.size());
        buffer += value;
      }
      views.append(at, sizeof(view));
      made_.cells.push_back(hexadecimal(value));
    }
    const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(buffers[0].size()),
                                          static_cast<std::int64_t>(buffers[1].size())};
    made_.column.buffers.insert(made_.column.buffers.end(),
                                {views, buffers[0], buffers[1], test::bytes_of_values(sizes)});
  }
  template <class Offset>
  void make_lists() {
    std::size_t end = input_.choose(3);
    std::vector<Offset> offsets{static_cast<Offset>(end)};
    for (std::size_t i = 0; i < total_; ++i) {
      end += input_.choose(4);
      offsets.push_back(static_cast<Offset>(end));
    }
    const Made values = child(0, end + input_.choose(2));
    for (std::size_t i = 0; i < total_; ++i) {
      made_.cells.push_back(list_text(values, static_cast<std::size_t>(offsets[i]),
                                      static_cast<std::size_t>(offsets[i + 1])));
    }
    made_.column.buffers.emplace_back(test::bytes_of_values(offsets));
  }
  void make_fixed_lists() {
    const Made values = child(0, total_ * type_.size);
    for (std::size_t i = 0; i < total_; ++i) {
      made_.cells.push_back(list_text(values, i * type_.size, (i + 1) * type_.size));
    }
  }
  void make_structures() {
    made_.cells.assign(total_, "{");
    for (std::size_t i = 0; i < type_.children.size(); ++i) {
      const Made values = child(i, total_);
      for (std::size_t row = 0; row < total_; ++row) made_.cells[row] += values.cells[row] + ";";
    }
    for (std::string& cell : made_.cells) cell += "}";
  }
  void make_dictionary() {
    const Made values = Maker(input_, type_.dictionary[0], 1 + input_.choose(4)).make();
    std::string& data = made_.column.buffers.emplace_back("").value();
    for (std::size_t i = 0; i < total_; ++i) {
      // (Where there is a null, any index may be.)
      const std::uint64_t index =
          valid_[i] ? input_.choose(static_cast<unsigned>(values.cells.size())) : 0x77;
      data.append(reinterpret_cast<const char*>(&index), type_.size);
      made_.cells.push_back(valid_[i] ? values.cells[index] : "-");
    }
    made_.column.dictionary = {values.column};
  }

  Made child(std::size_t which, std::size_t rows) {
    Made values = Maker(input_, type_.children[which], rows).make();
    values.column.name = std::to_string(which);
    made_.column.children.push_back(values.column);
    return values;
  }
  static std::string list_text(const Made& values, std::size_t begin, std::size_t end) {
    std::string text = "[";
    for (; begin < end; ++begin) text += values.cells[begin] + ";";
    return text + "]";
  }

  Input& input_;
  const Type& type_;
  std::size_t offset_ = 0, total_ = 0;
  std::vector<bool> valid_;
  Made made_;
};

// ---- damage

void all_columns(Column& column, std::vector<Column*>& all) {
  all.push_back(&column);
  for (Column& child : column.children) all_columns(child, all);
  for (Column& values : column.dictionary) all_columns(values, all);
}

std::size_t width_of(const std::string& format) {
  const auto* const found = std::ranges::find(kFixed, format, &Fixed::format);
  return found == std::end(kFixed) ? 0 : found->width;
}

// Overwrites a value of `width` bytes somewhere in `buffer`.
void overwrite(std::optional<std::string>& buffer, std::size_t place, std::size_t width,
               std::int64_t value) {
  if (!buffer || width == 0 || buffer->size() < width) return;
  place = place % (buffer->size() / width) * width;
  std::memcpy(buffer->data() + place, &value, width);
}

// What view_of() checks: not that buffers are as large as they must be.
void damage(Column& table, Input& input) {
  std::vector<Column*> all;
  all_columns(table, all);
  Column& column =
      *all[input.choose(static_cast<unsigned>(std::min<std::size_t>(256, all.size())))];
  auto& buffers = column.buffers;
  const std::size_t place = input.choose(256);
  constexpr std::int64_t kWrong[] = {-1, std::numeric_limits<std::int64_t>::min(),
                                     std::int64_t{1} << 57,
                                     std::numeric_limits<std::int64_t>::max()};
  const std::int64_t wrong = kWrong[input.choose(std::size(kWrong))];
  const bool is_view = column.format[0] == 'v';  // whose last buffer says how many there are
  const bool is_dictionary = !column.dictionary.empty();
  switch (input.choose(9)) {
    case 0:
      column.length = wrong;
      break;
    case 1:
      if (column.length > 0) --column.length;
      break;
    case 2:
      column.offset = wrong;
      break;
    case 3:
      if (!buffers.empty() && !is_view) buffers.pop_back();
      break;
    case 4:
      if (!is_view) buffers.emplace_back("");
      break;
    case 5:
      if (!buffers.empty()) buffers[place % buffers.size()] = std::nullopt;
      break;
    case 6:
      if (place % 2 == 0 && !column.children.empty()) {
        column.children.pop_back();
      } else if (is_dictionary) {
        column.dictionary.clear();
      } else {
        column.children.push_back({.format = "n"});
      }
      break;
    case 7: {
      // An offset that does not rise; an index; a length, a buffer, or a place of a view.
      if (buffers.size() < 2) break;
      const std::int64_t small = static_cast<std::int64_t>(input.choose(256)) - 250;
      if (is_view) {
        overwrite(buffers[1], place, 4, place % 4 == 1 ? 0 : small < 0 ? wrong : 1000 + small);
      } else if (is_dictionary) {
        overwrite(buffers[1], place, width_of(column.format), wrong);
      } else if (column.format == "+L" || column.format == "U" || column.format == "Z") {
        overwrite(buffers[1], place, 8, std::min<std::int64_t>(small, 0));
      } else if (column.format == "+l" || column.format == "u" || column.format == "z") {
        overwrite(buffers[1], place, 4, std::min<std::int64_t>(small, 0));
      }
      break;
    }
    default:
      // A null where the type says that there is none.
      if (!buffers.empty() && column.format != "n") {
        const auto bits = static_cast<std::size_t>(column.length + column.offset);
        column.nulls = -1;
        buffers[0] = std::string((bits + 7) / 8, static_cast<char>(place));
      }
  }
}

// ---- what becomes of them

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
      return hexadecimal(column.text(row));
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
  const std::vector<Row> rows = rows_of(view_of(wide, array, "the output"));
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
  std::vector<Type> types;
  for (unsigned columns = input.choose(5); columns > 0; --columns) {
    types.push_back(make_type(input, 0, true));
  }
  test::Batches batches;
  std::vector<Row> expected;
  for (unsigned count = 1 + input.choose(2); count > 0; --count) {
    const std::size_t rows = input.choose(kMostRows);
    Column& table = batches.batches.emplace_back(test::table({}));
    table.length = static_cast<std::int64_t>(rows);
    std::vector<Row> cells(rows);
    for (std::size_t i = 0; i < types.size(); ++i) {
      Made column = Maker(input, types[i], rows).make();
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
  damage(batches.batches.back(), input);
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
