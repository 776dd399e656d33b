// Orders that are not those of values: of a dictionary that is ordered by its type, values are in
// the order that they have in it.
#pragma once

#include <arrow/type.h>
#include <parquet/metadata.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace xxl::arrow_module {

// `schema` with change(field) in place of each of its fields.
template <class Change>
std::shared_ptr<::arrow::Schema> with_fields(const ::arrow::Schema& schema, const Change& change) {
  ::arrow::FieldVector fields;
  for (const auto& field : schema.fields()) fields.push_back(change(field));
  return ::arrow::schema(std::move(fields), schema.metadata());
}

bool is_ordered(const ::arrow::Field& column);

// Why the values of `column`, the leaf `leaf` of `file`, cannot be brought into order; empty if
// they can.
std::string why_no_order(const ::arrow::Field& column, const ::parquet::FileMetaData& file,
                         int leaf);

// `schema` with metadata that say so of its columns, by name.
std::shared_ptr<::arrow::Schema> with_no_orders(const ::arrow::Schema& schema,
                                                const std::map<std::string, std::string>& why);

}  // namespace xxl::arrow_module
