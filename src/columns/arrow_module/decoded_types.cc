#include "columns/arrow_module/decoded_types.h"

#include <arrow/util/key_value_metadata.h>

#include <utility>
#include <vector>

#include "columns/arrow_module/orders.h"

namespace xxl::arrow_module {
namespace {

using ::arrow::DataType;
using ::arrow::Field;
using ::arrow::Type;
using FieldPointer = std::shared_ptr<Field>;
using TypePointer = std::shared_ptr<DataType>;

constexpr const char* kMark = "xxl:dictionary";

bool has_mark(const Field& field, const char* mark) {
  return field.HasMetadata() && field.metadata()->Contains(mark);
}

FieldPointer without_mark(const FieldPointer& field) {
  const auto rest = field->metadata()->Copy();
  (void)rest->Delete(kMark);
  return rest->size() == 0 ? field->RemoveMetadata() : field->WithMetadata(rest);
}

// `type` with `change` applied to the fields that it has.
template <class Change>
TypePointer with_fields(const TypePointer& type, const Change& change) {
  switch (type->id()) {
    case Type::LIST:
      return ::arrow::list(change(type->field(0)));
    case Type::LARGE_LIST:
      return ::arrow::large_list(change(type->field(0)));
    case Type::FIXED_SIZE_LIST:
      return ::arrow::fixed_size_list(
          change(type->field(0)),
          static_cast<const ::arrow::FixedSizeListType&>(*type).list_size());
    case Type::MAP: {
      const auto& map = static_cast<const ::arrow::MapType&>(*type);
      return std::make_shared<::arrow::MapType>(change(map.key_field()), change(map.item_field()),
                                                map.keys_sorted());
    }
    case Type::STRUCT: {
      std::vector<FieldPointer> fields;
      for (const FieldPointer& field : type->fields()) fields.push_back(change(field));
      return ::arrow::struct_(std::move(fields));
    }
    default:
      return type;
  }
}

FieldPointer stored_field(const FieldPointer& field) {
  const TypePointer type = with_fields(field->type(), stored_field);
  if (!has_mark(*field, kMark)) return field->WithType(type);
  // As the library reads it.
  return without_mark(field)->WithType(::arrow::dictionary(::arrow::int32(), type));
}

}  // namespace

FieldPointer decoded(const FieldPointer& field) {
  const auto of_field = [](const FieldPointer& child) { return decoded(child); };
  if (field->type()->id() != Type::DICTIONARY) {
    return field->WithType(with_fields(field->type(), of_field));
  }
  if (is_ordered(*field)) return field;
  const auto& type = static_cast<const ::arrow::DictionaryType&>(*field->type());
  return field->WithType(type.value_type())
      ->WithMergedMetadata(::arrow::key_value_metadata({{kMark, ""}}));
}

std::shared_ptr<::arrow::Schema> decoded(const ::arrow::Schema& schema) {
  return with_fields(schema, [](const FieldPointer& field) { return decoded(field); });
}

std::shared_ptr<::arrow::Schema> stored(const ::arrow::Schema& schema) {
  return with_fields(schema, stored_field);
}

}  // namespace xxl::arrow_module
