#include "columns/value_bytes.h"

#include <limits>
#include <string>

#include "xxl/error.h"

namespace xxl {
namespace {

ValueCount count_of(std::size_t count, const ColumnType& type) {
  if (count > std::numeric_limits<ValueCount>::max()) {
    throw Error(ErrorCode::bad_input, "column " + type.name + ": a value takes more than 4 GiB");
  }
  return static_cast<ValueCount>(count);
}

// --- one value, which is there ---

// Calls f(child, its row) for each of the children of a struct or a list, in order.
template <class F>
void for_children(const ColumnView& column, std::size_t row, F&& f) {
  if (column.type->layout == Layout::structure) {
    for (const ColumnView& child : column.children) f(child, row);
    return;
  }
  const auto [begin, end] = column.list(row);
  for (std::size_t i = begin; i < end; ++i) f(column.children.front(), i);
}
std::size_t count_children(const ColumnView& column, std::size_t row) {
  if (column.type->layout == Layout::structure) return column.children.size();
  const auto [begin, end] = column.list(row);
  return end - begin;
}

std::size_t bytes_of_value(const ColumnView& column, std::size_t row) {
  switch (column.type->layout) {
    case Layout::null:
      return 0;
    case Layout::boolean:
      return 1;
    case Layout::fixed:
      return column.type->width;
    case Layout::binary32:
    case Layout::binary64:
    case Layout::view:
      return sizeof(ValueCount) + column.text(row).size();
    case Layout::dictionary:
      return sizeof(ValueCount);
    default: {
      std::size_t bytes = bitmap_bytes(count_children(column, row));
      if (column.type->layout != Layout::structure) bytes += sizeof(ValueCount);
      for_children(column, row, [&bytes](const ColumnView& child, std::size_t i) {
        if (has_value(child, i)) bytes += bytes_of_value(child, i);
      });
      return bytes;
    }
  }
}

std::byte* write_count(std::size_t count, const ColumnType& type, std::byte* to) {
  const ValueCount written = count_of(count, type);
  std::memcpy(to, &written, sizeof(written));
  return to + sizeof(written);
}

std::byte* write_text(std::string_view text, const ColumnType& type, std::byte* to) {
  to = write_count(text.size(), type, to);
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

class ValueWriter {
 public:
  explicit ValueWriter(DictionaryTables& dictionaries) : dictionaries_(dictionaries) {}

  std::string text_of(const ColumnView& column, std::size_t row) {
    std::string bytes(bytes_of_value(column, row), '\0');
    write(column, row, reinterpret_cast<std::byte*>(bytes.data()));
    return bytes;
  }

  std::byte* write(const ColumnView& column, std::size_t row, std::byte* to) {
    const ColumnType& type = *column.type;
    switch (type.layout) {
      case Layout::null:
        return to;
      case Layout::boolean:
        *to = static_cast<std::byte>(column.bit(row));
        return to + 1;
      case Layout::fixed:
        if (type.width > 0) std::memcpy(to, column.fixed(row), type.width);
        return to + type.width;
      case Layout::binary32:
      case Layout::binary64:
      case Layout::view:
        return write_text(column.text(row), type, to);
      case Layout::dictionary:
        return write_count(number_of(column, row), type, to);
      default:
        return write_children(column, row, to);
    }
  }

 private:
  std::uint32_t number_of(const ColumnView& column, std::size_t row) {
    const std::size_t index = column.index(row);
    return dictionaries_[column.type->dictionary_id].number(
        index, [&] { return text_of(column.values.front(), index); });
  }

  std::byte* write_children(const ColumnView& column, std::size_t row, std::byte* to) {
    const std::size_t count = count_children(column, row);
    if (column.type->layout != Layout::structure) to = write_count(count, *column.type, to);
    std::byte* const bitmap = to;
    std::memset(bitmap, 0, bitmap_bytes(count));
    to += bitmap_bytes(count);
    std::size_t bit = 0;
    for_children(column, row, [&](const ColumnView& child, std::size_t i) {
      if (has_value(child, i)) {
        set_bit(bitmap, bit);
        to = write(child, i, to);
      }
      ++bit;
    });
    return to;
  }

  DictionaryTables& dictionaries_;
};

// --- rows of a column ---

// Calls f(i) for the rows first + i that have a value.
template <class F>
void for_values(const ColumnView& column, std::size_t first, std::size_t count, F&& f) {
  if (has_all_values(column)) {
    for (std::size_t i = 0; i < count; ++i) f(i);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      if (has_value(column, first + i)) f(i);
    }
  }
}

template <std::size_t kWidth>
void write_fixed(const ColumnView& column, std::size_t first, std::span<std::byte*> to) {
  const std::byte* const from = column.data + (column.offset + first) * kWidth;
  for_values(column, first, to.size(), [&](std::size_t i) {
    std::memcpy(to[i], from + i * kWidth, kWidth);
    to[i] += kWidth;
  });
}

template <class Offset>
void add_binary_bytes(const ColumnView& column, std::size_t first, std::span<std::size_t> bytes) {
  for_values(column, first, bytes.size(), [&](std::size_t i) {
    bytes[i] += sizeof(ValueCount) + column.binary<Offset>(first + i).size();
  });
}

template <class Offset>
void write_binary(const ColumnView& column, std::size_t first, std::span<std::byte*> to) {
  for_values(column, first, to.size(), [&](std::size_t i) {
    to[i] = write_text(column.binary<Offset>(first + i), *column.type, to[i]);
  });
}

}  // namespace

void throw_unexpected_null(const ColumnView& column) {
  throw Error(ErrorCode::bad_input, "column " + column.type->name +
                                        ": it has a null, and its type says that it has none");
}

void begin_batch(DictionaryTables& tables, const ColumnView& batch) {
  if (batch.type->layout == Layout::dictionary) {
    const ColumnView& values = batch.values.front();
    DictionaryTable& table = tables[batch.type->dictionary_id];
    table.begin_batch(values.rows);
    for (std::size_t i = 0; i < values.rows && table.is_ordered(); ++i) {
      if (has_value(values, i)) table.add_in_order(i, ValueWriter(tables).text_of(values, i));
    }
  }
  for (const ColumnView& child : batch.children) begin_batch(tables, child);
}

void add_value_bytes(const ColumnView& column, std::size_t first, std::span<std::size_t> bytes) {
  const ColumnType& type = *column.type;
  switch (type.layout) {
    case Layout::null:
      break;
    case Layout::fixed:
      for_values(column, first, bytes.size(), [&](std::size_t i) { bytes[i] += type.width; });
      break;
    case Layout::binary32:
      add_binary_bytes<std::int32_t>(column, first, bytes);
      break;
    case Layout::binary64:
      add_binary_bytes<std::int64_t>(column, first, bytes);
      break;
    default:
      for_values(column, first, bytes.size(),
                 [&](std::size_t i) { bytes[i] += bytes_of_value(column, first + i); });
  }
}

void write_values(const ColumnView& column, std::size_t first, DictionaryTables& dictionaries,
                  std::span<std::byte*> to) {
  const ColumnType& type = *column.type;
  if (type.layout == Layout::fixed && type.width == 4) return write_fixed<4>(column, first, to);
  if (type.layout == Layout::fixed && type.width == 8) return write_fixed<8>(column, first, to);
  if (type.layout == Layout::binary32) return write_binary<std::int32_t>(column, first, to);
  if (type.layout == Layout::binary64) return write_binary<std::int64_t>(column, first, to);
  if (type.layout == Layout::null) return;
  ValueWriter writer(dictionaries);
  for_values(column, first, to.size(),
             [&](std::size_t i) { to[i] = writer.write(column, first + i, to[i]); });
}

}  // namespace xxl
