#include "columns/shared_schema.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "cluster/message.h"
#include "xxl/error.h"

namespace xxl {
namespace {

void put_type(MessageWriter& writer, const ColumnType& type) {
  writer.put_text(type.name);
  writer.put_text(type.format);
  writer.put_text(type.metadata);
  writer.put(type.flags);
  writer.put(type.key);
  writer.put(type.children.size());
  for (const ColumnType& child : type.children) put_type(writer, child);
  for (const ColumnType& values : type.values) put_type(writer, values);
}

// Of a type that put_type() has written, what may differ is taken over. False if more does.
bool take_type(MessageReader& reader, ColumnType& own) {
  const std::string name = reader.get_text(), format = reader.get_text();
  ColumnType first;
  first.metadata = reader.get_text();
  first.flags = reader.get<std::int64_t>();
  first.key = reader.get<KeyKind>();
  const auto children = reader.get<std::size_t>();
  if (name != own.name || format != own.format || first.nullable() != own.nullable() ||
      first.key != own.key || children != own.children.size()) {
    return false;
  }
  own.metadata = first.metadata;
  own.flags = first.flags;
  for (ColumnType& child : own.children) {
    if (!take_type(reader, child)) return false;
  }
  for (ColumnType& values : own.values) {
    if (!take_type(reader, values)) return false;
  }
  return true;
}

}  // namespace

ColumnType share_schema(const ColumnType& own, Peers* peers) {
  if (peers == nullptr) return own;
  MessageWriter writer;
  writer.put_text(own.metadata);
  writer.put(own.children.size());
  for (const ColumnType& column : own.children) put_type(writer, column);
  const auto told = tell_all(*peers, peers->rank() == 0 ? writer.take() : Message());
  MessageReader reader(told.front());
  const std::string here = "rank " + std::to_string(peers->rank()) + " has ";
  ColumnType type = own;
  type.metadata = reader.get_text();
  if (const auto count = reader.get<std::size_t>(); count != type.children.size()) {
    throw Error(ErrorCode::bad_input, here + std::to_string(type.children.size()) +
                                          " columns, and rank 0 " + std::to_string(count));
  }
  for (ColumnType& column : type.children) {
    if (take_type(reader, column)) continue;
    throw Error(ErrorCode::bad_input,
                here + "another column '" + column.name + "' than rank 0, or in another place");
  }
  return type;
}

}  // namespace xxl
