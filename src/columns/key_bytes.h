// Values of columns as keys: bytes whose order is that of the values (docs/internals/columns.md).
//
//   null or not     1 byte, of columns that may have nulls; nothing follows a null
//   boolean         1 byte
//   integers        big-endian, the sign flipped
//   floats          likewise; of negative ones all bits are flipped
//   strings, binary a byte 0 as 0 255, then 0 0
//   fixed binary    as it is
//   ordered         the place of the value in the dictionary, big-endian
//
// Descending: all bytes but the first are inverted.
//
// Source: as of xxl/append_key.h, whose encodings these are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "columns/column_builder.h"
#include "columns/column_view.h"

namespace xxl {

// A column that is part of the key, and its form there, which may be wider than the column's: where
// columns of different widths are joined, both have the same.
struct KeyColumn {
  std::size_t column = 0;
  bool descending = false;
  bool nulls_first = false;
  bool marks_null = false;
  KeyKind kind = KeyKind::none;
  std::size_t width = 0;  // bytes of a number or a value of fixed-size binary; 0 of others
};

// The form of a column of `type` as a key. Throws Error{usage} if it has no order.
KeyColumn key_column(std::size_t column, const ColumnType& type);

// True if read_key() gives the value as it was: of floats, zeros and NaNs have one form each.
inline bool is_in_key(const KeyColumn& key, const ColumnType& type) {
  return key.kind != KeyKind::floating && type.layout != Layout::dictionary;
}

// Adds the sizes of the keys of rows first, first + 1, ... to `bytes`.
void add_key_bytes(const KeyColumn& key, const ColumnView& column, std::size_t first,
                   std::span<std::size_t> bytes);

// Writes them, each at its place, which moves on. `places` are those of the values of the batch's
// dictionary, if it is ordered. Throws Error{bad_input} for a null in a column that has none by its
// type.
void write_keys(const KeyColumn& key, const ColumnView& column, std::size_t first,
                std::span<std::byte*> to, std::span<const std::uint32_t> places = {});

// Reads them, each from its place, which moves on, at most to its end. `builder`, of the form of
// the key, gets the values; it may be null.
void read_keys(const KeyColumn& key, std::span<const std::byte*> from,
               std::span<const std::byte* const> ends, ColumnBuilder* builder);

}  // namespace xxl
