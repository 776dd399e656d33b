#include "columns/arrow_module/orders.h"

#include <arrow/util/key_value_metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <string_view>

#include "columns/files/column_metadata.h"

namespace xxl::arrow_module {
namespace {

// The one writer that is known to write the dictionary of a column as it is, in its order. Others
// make one of the values as they come.
constexpr std::string_view kOrderlyWriter = "parquet-cpp-arrow";

bool is_polars_enum(const ::arrow::Field& column) {
  const auto metadata = column.metadata();
  return metadata != nullptr &&
         (metadata->Contains(kPolarsEnumKey) || metadata->Contains(kOldPolarsEnumKey));
}

bool has_dictionaries(const ::parquet::FileMetaData& file, int leaf) {
  for (int i = 0; i < file.num_row_groups(); ++i) {
    const auto group = file.RowGroup(i);
    if (group->num_rows() > 0 && !group->ColumnChunk(leaf)->has_dictionary_page()) return false;
  }
  return true;
}

}  // namespace

bool is_ordered(const ::arrow::Field& column) {
  return column.type()->id() == ::arrow::Type::DICTIONARY &&
         (static_cast<const ::arrow::DictionaryType&>(*column.type()).ordered() ||
          is_polars_enum(column));
}

std::string why_no_order(const ::arrow::Field& column, const ::parquet::FileMetaData& file,
                         int leaf) {
  if (file.schema()->Column(leaf)->logical_type()->is_interval()) {
    return "values of the type INTERVAL have no order";
  }
  if (!is_ordered(column) || is_polars_enum(column)) return "";
  if (file.created_by().starts_with(kOrderlyWriter) && has_dictionaries(file, leaf)) return "";
  return "it is a dictionary in an order of its own, which a file does not tell: make it text, or "
         "write its dictionary (Apache Arrow does)";
}

std::shared_ptr<::arrow::Schema> with_no_orders(const ::arrow::Schema& schema,
                                                const std::map<std::string, std::string>& why) {
  return with_fields(schema, [&](const std::shared_ptr<::arrow::Field>& field) {
    const auto found = why.find(field->name());
    if (found == why.end()) return field;
    return field->WithMergedMetadata(::arrow::key_value_metadata({kNoOrderKey}, {found->second}));
  });
}

}  // namespace xxl::arrow_module
