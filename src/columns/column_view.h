// Columns of a batch, checked once, so that their values can be read without further checks.
//
// The C data interface does not say how large buffers are. What can be checked is checked: counts
// of buffers and children, lengths, that offsets rise and stay within children, indices of
// dictionaries, places of views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "columns/column_type.h"
#include "xxl/arrow_c.h"

namespace xxl {

struct ColumnView {
  const ColumnType* type = nullptr;
  std::size_t offset = 0;  // of row 0 in the buffers
  std::size_t rows = 0;
  const std::uint8_t* validity = nullptr;  // bits; null: all are valid
  const std::byte* data = nullptr;         // values, offsets, views, or indices
  const char* bytes = nullptr;             // of binary32 and binary64
  const void* const* variadic = nullptr;   // of views
  std::vector<ColumnView> children;        // of lists: from the first value of row 0 on
  std::size_t first_child = 0;             // of lists: what offsets say of that value
  std::vector<ColumnView> values;          // of a dictionary, one

  bool is_valid(std::size_t row) const {
    if (type->layout == Layout::null) return false;
    const std::size_t bit = offset + row;
    return validity == nullptr || ((validity[bit / 8] >> (bit % 8)) & 1) != 0;
  }
  bool bit(std::size_t row) const {
    const std::size_t at = offset + row;
    return ((static_cast<std::uint8_t>(data[at / 8]) >> (at % 8)) & 1) != 0;
  }
  // Of layout fixed, of any width.
  const std::byte* fixed(std::size_t row) const { return data + (offset + row) * type->width; }
  template <class Number>
  Number number(std::size_t row) const {
    Number value;
    std::memcpy(&value, data + (offset + row) * sizeof(Number), sizeof(Number));
    return value;
  }
  // Of binary and list layouts, of offsets of 32 and 64 bits.
  template <class Offset>
  std::size_t begin_of(std::size_t row) const {
    return static_cast<std::size_t>(number<Offset>(row));
  }
  std::size_t offset_at(std::size_t row) const {
    const bool is_wide = type->layout == Layout::binary64 || type->layout == Layout::list64;
    return is_wide ? begin_of<std::int64_t>(row) : begin_of<std::int32_t>(row);
  }
  template <class Offset>
  std::string_view binary(std::size_t row) const {
    const std::size_t begin = begin_of<Offset>(row);
    return {bytes + begin, begin_of<Offset>(row + 1) - begin};
  }
  // Of lists: the rows of the child that are its values.
  struct ChildRows {
    std::size_t begin, end;
  };
  ChildRows list(std::size_t row) const {
    if (type->layout == Layout::fixed_list) {
      return {row * type->list_size, (row + 1) * type->list_size};
    }
    return {offset_at(row) - first_child, offset_at(row + 1) - first_child};
  }
  std::string_view view(std::size_t row) const;
  // Of a dictionary: where its value is.
  std::size_t index(std::size_t row) const;

  // The value of a row of strings or binary of any layout, but for dictionaries.
  std::string_view text(std::size_t row) const {
    switch (type->layout) {
      case Layout::binary32:
        return binary<std::int32_t>(row);
      case Layout::binary64:
        return binary<std::int64_t>(row);
      case Layout::view:
        return view(row);
      default:
        return {reinterpret_cast<const char*>(fixed(row)), type->width};
    }
  }
};

// A view of the columns of `batch`, which must outlive it, as `type`. Throws Error{bad_input};
// `place` says where.
ColumnView view_of(const ColumnType& type, const ArrowArray& batch, const std::string& place);

// Bytes that the rows of a view take in the buffers of their producer.
std::uint64_t bytes_of(const ColumnView& view);

inline std::string_view ColumnView::view(std::size_t row) const {
  // [ length ][ up to 12 bytes ]  or  [ length ][ 4 bytes of it ][ buffer ][ offset ]
  const std::byte* const at = fixed(row);
  std::int32_t part[4];
  std::memcpy(part, at, sizeof(part));
  const auto length = static_cast<std::size_t>(part[0]);
  if (length <= 12) return {reinterpret_cast<const char*>(at) + 4, length};
  return {static_cast<const char*>(variadic[part[2]]) + part[3], length};
}

inline std::size_t ColumnView::index(std::size_t row) const {
  switch (type->width) {
    case 1:
      return number<std::uint8_t>(row);
    case 2:
      return number<std::uint16_t>(row);
    case 4:
      return number<std::uint32_t>(row);
    default:
      return number<std::uint64_t>(row);
  }
}

}  // namespace xxl
