#include "columns/arrow_module/batch_bytes.h"

#include <arrow/array/data.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/binary_view_util.h>
#include <arrow/util/bit_util.h>

#include <cstddef>

namespace xxl::arrow_module {
namespace {

using ::arrow::ArrayData;
using ::arrow::DataType;
using ::arrow::Type;

std::int64_t bytes_of_rows(const ArrayData& data, const DataType& type, std::int64_t first,
                           std::int64_t rows);

std::int64_t bytes_of_child(const ArrayData& data, std::int64_t first, std::int64_t rows) {
  const ArrayData& child = *data.child_data[0];
  return bytes_of_rows(child, *child.type, child.offset + first, rows);
}

// Text and lists: offsets, and what lies between the first and the last of them.
template <class Offset>
std::int64_t bytes_of_variable(const ArrayData& data, std::int64_t first, std::int64_t rows) {
  if (rows == 0) return 0;
  const auto* const offsets = data.GetValues<Offset>(1, first);
  const std::int64_t begin = offsets[0];
  const std::int64_t count = offsets[rows] - begin;
  const std::int64_t own = rows * static_cast<std::int64_t>(sizeof(Offset));
  return own + (data.child_data.empty() ? count : bytes_of_child(data, begin, count));
}

std::int64_t bytes_of_views(const ArrayData& data, std::int64_t first, std::int64_t rows) {
  using View = ::arrow::BinaryViewType::c_type;
  const auto* const views = data.GetValues<View>(1, first);
  const std::uint8_t* const valid = data.buffers[0] != nullptr ? data.buffers[0]->data() : nullptr;
  std::int64_t bytes = rows * static_cast<std::int64_t>(sizeof(View));
  for (std::int64_t i = 0; i < rows; ++i) {
    if (valid != nullptr && !::arrow::bit_util::GetBit(valid, first + i)) continue;
    if (!views[i].is_inline()) bytes += views[i].size();
  }
  return bytes;
}

// `type` is that of `data`, or what an extension is stored as; `first` counts in the buffers.
std::int64_t bytes_of_values(const ArrayData& data, const DataType& type, std::int64_t first,
                             std::int64_t rows) {
  switch (type.id()) {
    case Type::EXTENSION:
      return bytes_of_values(data, *static_cast<const ::arrow::ExtensionType&>(type).storage_type(),
                             first, rows);
    case Type::STRING:
    case Type::BINARY:
    case Type::LIST:
    case Type::MAP:
      return bytes_of_variable<std::int32_t>(data, first, rows);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
    case Type::LARGE_LIST:
      return bytes_of_variable<std::int64_t>(data, first, rows);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return bytes_of_views(data, first, rows);
    case Type::FIXED_SIZE_LIST: {
      const std::int64_t size = static_cast<const ::arrow::FixedSizeListType&>(type).list_size();
      return bytes_of_child(data, first * size, rows * size);
    }
    case Type::STRUCT: {
      std::int64_t bytes = 0;
      for (const auto& child : data.child_data) {
        bytes += bytes_of_rows(*child, *child->type, child->offset + first, rows);
      }
      return bytes;
    }
    default:  // others are refused before they are read
      return ::arrow::is_fixed_width(type.id())
                 ? rows * static_cast<const ::arrow::FixedWidthType&>(type).bit_width() / 8
                 : 0;
  }
}

std::int64_t bytes_of_rows(const ArrayData& data, const DataType& type, std::int64_t first,
                           std::int64_t rows) {
  const bool has_bits = !data.buffers.empty() && data.buffers[0] != nullptr;
  return (has_bits ? rows / 8 : 0) + bytes_of_values(data, type, first, rows);
}

}  // namespace

std::int64_t bytes_of(const ::arrow::RecordBatch& batch) {
  std::int64_t bytes = 0;
  for (const auto& column : batch.column_data()) {
    bytes += bytes_of_rows(*column, *column->type, column->offset, column->length);
  }
  return bytes;
}

}  // namespace xxl::arrow_module
