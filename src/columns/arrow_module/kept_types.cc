#include "columns/arrow_module/kept_types.h"

#include <arrow/io/memory.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/metadata.h>
#include <parquet/types.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/orders.h"
#include "columns/files/column_metadata.h"

namespace xxl::arrow_module {
namespace {

using ::parquet::LogicalType;
using ::parquet::Type;
using ::parquet::schema::GroupNode;
using ::parquet::schema::Node;
using ::parquet::schema::NodePtr;
using ::parquet::schema::NodeVector;
using ::parquet::schema::PrimitiveNode;

constexpr const char* kKey = "xxl:parquet";

const GroupNode* group_of(const Node* node) {
  return node != nullptr && node->is_group() ? static_cast<const GroupNode*>(node) : nullptr;
}
const PrimitiveNode* leaf_of(const Node* node) {
  return node != nullptr && node->is_primitive() ? static_cast<const PrimitiveNode*>(node)
                                                 : nullptr;
}

bool are_stored_alike(const PrimitiveNode& a, const PrimitiveNode& b) {
  return a.physical_type() == b.physical_type() &&
         (a.physical_type() != Type::FIXED_LEN_BYTE_ARRAY || a.type_length() == b.type_length());
}

bool have_one_type(const Node& a, const Node& b) {
  if (!a.logical_type()->Equals(*b.logical_type())) return false;
  const PrimitiveNode* const leaf = leaf_of(&a);
  const PrimitiveNode* const other = leaf_of(&b);
  if (leaf == nullptr || other == nullptr) return leaf == other;
  return are_stored_alike(*leaf, *other);
}

// `node` with the type of `leaf`.
NodePtr with_type(const Node& node, const PrimitiveNode& leaf) {
  return PrimitiveNode::Make(node.name(), node.repetition(), leaf.logical_type(),
                             leaf.physical_type(), leaf.type_length(), node.field_id());
}
NodePtr with_fields(const Node& node, NodeVector fields,
                    const std::shared_ptr<const LogicalType>& type) {
  return GroupNode::Make(node.name(), node.repetition(), std::move(fields),
                         type->is_none() ? nullptr : type, node.field_id());
}

void collect_leaves(const Node& node, std::vector<const PrimitiveNode*>& leaves) {
  if (const GroupNode* const group = group_of(&node)) {
    for (int i = 0; i < group->field_count(); ++i) collect_leaves(*group->field(i), leaves);
  } else {
    leaves.push_back(static_cast<const PrimitiveNode*>(&node));
  }
}

// Whether Arrow's library writes to a leaf `stored` what it writes to one like `written`.
bool can_be_written(const PrimitiveNode& stored, const PrimitiveNode& written) {
  const LogicalType& type = *written.logical_type();
  switch (stored.physical_type()) {
    case Type::INT96:
      return type.is_timestamp() &&
             static_cast<const ::parquet::TimestampLogicalType&>(type).time_unit() ==
                 LogicalType::TimeUnit::NANOS;
    case Type::INT32:
    case Type::INT64:
      if (type.is_decimal()) return stored.logical_type()->Equals(type);
      [[fallthrough]];
    default:
      return are_stored_alike(stored, written);
  }
}

// A column as it is written, with the types of the column that is stored.
class StoredColumn {
 public:
  StoredColumn(const Node& written, const Node& stored) {
    collect_leaves(stored, leaves_);
    std::vector<const PrimitiveNode*> written_leaves;
    collect_leaves(written, written_leaves);
    if (leaves_.size() == written_leaves.size()) column_ = made(written, &stored);
  }

  // Null if there is no difference.
  NodePtr column() const { return differs_ ? column_ : nullptr; }

 private:
  NodePtr made(const Node& written, const Node* stored) {
    const GroupNode* const group = group_of(&written);
    if (group == nullptr) return made_leaf(static_cast<const PrimitiveNode&>(written));
    const GroupNode* other = group_of(stored);
    if (other != nullptr && other->field_count() != group->field_count()) other = nullptr;
    NodeVector fields;
    for (int i = 0; i < group->field_count(); ++i) {
      fields.push_back(made(*group->field(i), other != nullptr ? other->field(i).get() : nullptr));
    }
    const bool is_variant = other != nullptr && other->logical_type()->is_variant() &&
                            !group->logical_type()->is_variant();
    differs_ |= is_variant;
    return with_fields(written, std::move(fields),
                       is_variant ? other->logical_type() : group->logical_type());
  }

  NodePtr made_leaf(const PrimitiveNode& written) {
    const PrimitiveNode& stored = *leaves_[next_leaf_++];
    if (have_one_type(stored, written) || !can_be_written(stored, written)) {
      return with_type(written, written);
    }
    differs_ = true;
    return with_type(written, stored);
  }

  std::vector<const PrimitiveNode*> leaves_;
  std::size_t next_leaf_ = 0;
  bool differs_ = false;
  NodePtr column_;
};

// `written`, with the types of `kept` where it is what `before` was. The latter two are alike but
// for types.
NodePtr restored(const Node& written, const Node* before, const Node* kept) {
  const bool is_same = before != nullptr && have_one_type(written, *before);
  const GroupNode* const group = group_of(&written);
  if (group == nullptr) {
    return with_type(written, static_cast<const PrimitiveNode&>(is_same ? *kept : written));
  }
  const GroupNode* const old = is_same ? group_of(before) : nullptr;
  const bool has_fields = old != nullptr && old->field_count() == group->field_count();
  NodeVector fields;
  for (int i = 0; i < group->field_count(); ++i) {
    fields.push_back(
        has_fields ? restored(*group->field(i), old->field(i).get(), group_of(kept)->field(i).get())
                   : restored(*group->field(i), nullptr, nullptr));
  }
  return with_fields(written, std::move(fields), (has_fields ? *kept : written).logical_type());
}

NodePtr root_of(NodeVector columns) {
  return GroupNode::Make("schema", ::parquet::Repetition::REQUIRED, std::move(columns));
}

// Columns as bytes: the metadata of a file of them.
std::string bytes_of(NodeVector columns) {
  ::parquet::SchemaDescriptor schema;
  schema.Init(root_of(std::move(columns)));
  const auto metadata =
      ::parquet::FileMetaDataBuilder::Make(&schema, ::parquet::default_writer_properties())
          ->Finish();
  const auto sink = check(::arrow::io::BufferOutputStream::Create(), "");
  metadata->WriteTo(sink.get());
  return check(sink->Finish(), "")->ToString();
}

std::shared_ptr<::parquet::FileMetaData> columns_of(const std::string& bytes) {
  return ::parquet::FileMetaData::Make(bytes.data(), static_cast<std::int64_t>(bytes.size()));
}

std::shared_ptr<::parquet::SchemaDescriptor> written_schema(
    const ::arrow::Schema& schema, const ::parquet::WriterProperties& properties,
    const ::parquet::ArrowWriterProperties& arrow_properties) {
  std::shared_ptr<::parquet::SchemaDescriptor> written;
  check(::parquet::arrow::ToParquetSchema(&schema, properties, arrow_properties, &written), "");
  return written;
}

std::shared_ptr<::arrow::Field> without_kept_type(const std::shared_ptr<::arrow::Field>& field) {
  if (!field->HasMetadata()) return field;
  const auto rest = field->metadata()->Copy();
  for (const char* const key : {kKey, kNoOrderKey}) {
    if (rest->Contains(key)) check(rest->Delete(key), "");
  }
  return rest->size() > 0 ? field->WithMetadata(rest) : field->RemoveMetadata();
}

}  // namespace

std::shared_ptr<::arrow::Schema> without_kept_types(const ::arrow::Schema& schema) {
  return with_fields(schema, without_kept_type);
}

std::shared_ptr<::arrow::Schema> with_kept_types(const ::arrow::Schema& schema,
                                                 const ::parquet::SchemaDescriptor& stored) {
  ::arrow::FieldVector fields = without_kept_types(schema)->fields();
  const auto written = written_schema(schema, *::parquet::default_writer_properties(),
                                      *::parquet::default_arrow_writer_properties());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const NodePtr column = written->group_node()->field(static_cast<int>(i));
    const NodePtr kept =
        StoredColumn(*column, *stored.group_node()->field(static_cast<int>(i))).column();
    if (kept == nullptr) continue;
    fields[i] = fields[i]->WithMergedMetadata(
        ::arrow::key_value_metadata({kKey}, {bytes_of({column, kept})}));
  }
  return ::arrow::schema(std::move(fields), schema.metadata());
}

std::shared_ptr<GroupNode> file_schema(const ::arrow::Schema& schema,
                                       const ::parquet::WriterProperties& properties,
                                       const ::parquet::ArrowWriterProperties& arrow_properties) {
  const auto written = written_schema(schema, properties, arrow_properties);
  NodeVector columns;
  for (int i = 0; i < schema.num_fields(); ++i) {
    const NodePtr column = written->group_node()->field(i);
    const auto metadata = schema.field(i)->metadata();
    if (metadata == nullptr || !metadata->Contains(kKey)) {
      columns.push_back(restored(*column, nullptr, nullptr));
      continue;
    }
    const auto kept = columns_of(check(metadata->Get(kKey), ""));
    const GroupNode& pair = *kept->schema()->group_node();
    columns.push_back(restored(*column, pair.field(0).get(), pair.field(1).get()));
  }
  return std::static_pointer_cast<GroupNode>(root_of(std::move(columns)));
}

std::vector<std::string> untold_types(const ::parquet::SchemaDescriptor& stored) {
  std::vector<std::string> types;
  for (int leaf = 0; leaf < stored.num_columns(); ++leaf) {
    const LogicalType& type = *stored.Column(leaf)->logical_type();
    const bool is_told = type.is_none() || type.is_int() || type.is_decimal() ||
                         type.is_timestamp() || type.is_date() || type.is_string() ||
                         type.is_float16() || type.is_null();
    types.push_back(is_told ? "" : type.ToString());
  }
  return types;
}

}  // namespace xxl::arrow_module
