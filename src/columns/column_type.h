// Types of columns: what a schema of Arrow says, as a tree, and what follows from it for rows and
// keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "xxl/arrow_c.h"

namespace xxl {

// How the values of an array lie in its buffers.
enum class Layout : std::uint8_t {
  null,        // no buffers
  boolean,     // bits
  fixed,       // ColumnType::width bytes each
  binary32,    // offsets of 32 bits, and bytes
  binary64,    // offsets of 64 bits, and bytes
  view,        // 16 bytes each: the value, or where it lies
  list32,      // offsets of 32 bits, and a child (maps as well)
  list64,      // offsets of 64 bits, and a child
  fixed_list,  // ColumnType::list_size values of the child each
  structure,   // children
  dictionary,  // an index of ColumnType::width bytes, and values
};

// What values are compared as.
enum class KeyKind : std::uint8_t {
  none,  // they have no order
  null,
  boolean,
  unsigned_integer,
  signed_integer,  // decimals, dates and times as well
  floating,
  text,  // bytes that are UTF-8
  bytes,
  place,  // of a value in an ordered dictionary
};

struct ColumnType {
  // As in the schema:
  std::string name;
  std::string format;
  std::string metadata;  // as it lies there; empty if there is none
  std::int64_t flags = 0;
  std::vector<ColumnType> children;
  std::vector<ColumnType> values;  // of a dictionary, one

  // What follows:
  Layout layout = Layout::null;
  KeyKind key = KeyKind::none;  // of a dictionary that is not ordered, that of its values
  std::size_t width = 0;        // bytes of a value in its buffer; bit fields: 0
  std::size_t list_size = 0;
  std::size_t dictionary_id = 0;  // counted from 0 through the tree of a table

  bool nullable() const { return (flags & ARROW_FLAG_NULLABLE) != 0; }
  // What they say of `what`; nothing if that is not there.
  std::optional<std::string_view> metadata_of(std::string_view what) const;
  // What values are, where it does not matter that they are in a dictionary.
  const ColumnType& value_type() const {
    return layout == Layout::dictionary ? values.front() : *this;
  }
};

// The type of a table (a struct of its columns). Throws Error{usage} if `schema` is none, or has a
// type that is not supported, by its name.
ColumnType table_type(const ArrowSchema& schema);

// The number of the column `name`. Throws Error{usage} if there is none, or several; `what` says of
// which table.
std::size_t column_of(const ColumnType& table, const std::string& name, const std::string& what);

// How people call it: "timestamp", "list", ...
std::string type_name(const ColumnType& type);

// Fills `schema` with a copy of `type`, which the receiver releases.
void export_schema(const ColumnType& type, ArrowSchema* schema);

}  // namespace xxl
