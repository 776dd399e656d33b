// Values of columns as bytes of a row, one after the other, each of which says where it ends:
//
//   boolean               1 byte
//   fixed                 as in Arrow's buffers
//   strings, binary       length (4 bytes), bytes
//   dictionary            number in its DictionaryTable (4 bytes)
//   struct                bits that say which children are there, those children
//   list, map             count (4 bytes), bits that say which values are there, those values
//
// A value that is null takes nothing: what holds it says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "columns/column_view.h"
#include "columns/dictionary_table.h"

namespace xxl {

using ValueCount = std::uint32_t;

constexpr std::size_t bitmap_bytes(std::size_t bits) {
  return (bits + 7) / 8;
}
inline bool bit_at(const std::byte* bitmap, std::size_t bit) {
  return ((static_cast<std::uint8_t>(bitmap[bit / 8]) >> (bit % 8)) & 1) != 0;
}
inline void set_bit(std::byte* bitmap, std::size_t bit) {
  bitmap[bit / 8] |= static_cast<std::byte>(1U << (bit % 8));
}

// False if a row is null, also by way of its dictionary.
inline bool has_value(const ColumnView& column, std::size_t row) {
  if (!column.is_valid(row)) return false;
  if (column.type->layout != Layout::dictionary) return true;
  return has_value(column.values.front(), column.index(row));
}

// True if has_value() is of all rows, as one can see without looking at them.
inline bool has_all_values(const ColumnView& column) {
  if (column.validity != nullptr || column.type->layout == Layout::null) return false;
  return column.type->layout != Layout::dictionary || has_all_values(column.values.front());
}

// What has_value() may be false of.
inline bool may_be_null(const ColumnType& type) {
  return type.nullable() || type.layout == Layout::null ||
         (type.layout == Layout::dictionary && may_be_null(type.values.front()));
}

// Refuses a null in a column whose type says that it has none.
[[noreturn]] void throw_unexpected_null(const ColumnView& column);

// Before the rows of a batch. Throws Error{bad_input} for an ordered dictionary that does not go
// with those of the batches before.
void begin_batch(DictionaryTables& tables, const ColumnView& batch);

// Adds the sizes of the values of rows first, first + 1, ... to `bytes`.
void add_value_bytes(const ColumnView& column, std::size_t first, std::span<std::size_t> bytes);

// Writes them, each at its place, which moves on.
void write_values(const ColumnView& column, std::size_t first, DictionaryTables& dictionaries,
                  std::span<std::byte*> to);

}  // namespace xxl
