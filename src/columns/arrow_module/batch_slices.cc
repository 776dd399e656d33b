#include "columns/arrow_module/batch_slices.h"

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "columns/arrow_module/failed.h"

namespace xxl::arrow_module {
namespace {

using ::arrow::ArrayData;
using ::arrow::Buffer;
using ::arrow::DataType;
using ::arrow::Type;
using Data = std::shared_ptr<ArrayData>;

constexpr std::int64_t kBits = 8;

bool any_mapped(const ArrayData& data, const MappedBytes& mapped) {
  const auto is = [&](const auto& buffer) {
    return buffer != nullptr && buffer->size() > 0 && mapped.has(buffer->data());
  };
  const auto has = [&](const auto& child) { return any_mapped(*child, mapped); };
  return std::any_of(data.buffers.begin(), data.buffers.end(), is) ||
         std::any_of(data.child_data.begin(), data.child_data.end(), has) ||
         (data.dictionary != nullptr && any_mapped(*data.dictionary, mapped));
}

// Copies of the rows [from, to) of columns, where `from` is a multiple of 8, so that bits begin at
// bytes.
class Slicer {
 public:
  Slicer(const MappedBytes& mapped, std::string_view place) : mapped_(mapped), place_(place) {}

  Data slice(const ArrayData& data, std::int64_t row, std::int64_t count) {
    const std::int64_t first = data.offset + row;
    const std::int64_t from = first / kBits * kBits;
    Data copy = rows(data, *data.type, from, first + count);
    copy->offset = first - from;
    copy->length = count;
    copy->null_count =
        data.buffers[0] == nullptr ? data.null_count.load() : ::arrow::kUnknownNullCount;
    if (data.type->id() == Type::NA) copy->null_count = count;
    return copy;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Failed(ErrorCode::bad_input, joined({place_, what}));
  }

  // Bytes [begin, end) of a buffer that must have them.
  std::shared_ptr<Buffer> bytes(const std::shared_ptr<Buffer>& buffer, std::int64_t begin,
                                std::int64_t end) const {
    if (buffer == nullptr || begin < 0 || end < begin || end > buffer->size()) {
      if (begin == end) return std::make_shared<Buffer>(nullptr, 0);
      fail("a buffer is too short");
    }
    if (begin == end || !mapped_.has(buffer->data())) {
      return ::arrow::SliceBuffer(buffer, begin, end - begin);
    }
    return check(mapped_.copy(buffer->data() + begin, end - begin), place_);
  }

  std::shared_ptr<Buffer> bits(const std::shared_ptr<Buffer>& buffer, std::int64_t from,
                               std::int64_t to) const {
    if (buffer == nullptr) return nullptr;
    return bytes(buffer, from / kBits, (to + kBits - 1) / kBits);
  }

  Data rows(const ArrayData& data, const DataType& type, std::int64_t from, std::int64_t to) {
    auto copy = std::make_shared<ArrayData>(data.type, to - from);
    if (type.id() == Type::NA) {
      copy->buffers = {nullptr};
      return copy;
    }
    copy->buffers = {bits(data.buffers[0], from, to)};
    switch (type.id()) {
      case Type::EXTENSION: {
        const auto& storage = *dynamic_cast<const ::arrow::ExtensionType&>(type).storage_type();
        copy = rows(data, storage, from, to);
        copy->type = data.type;
        return copy;
      }
      case Type::DICTIONARY:
        return dictionary_rows(data, type, from, to, copy);
      case Type::STRING:
      case Type::BINARY:
        return variable_rows<std::int32_t>(data, from, to, copy);
      case Type::LARGE_STRING:
      case Type::LARGE_BINARY:
        return variable_rows<std::int64_t>(data, from, to, copy);
      case Type::LIST:
      case Type::MAP:
        return variable_rows<std::int32_t>(data, from, to, copy);
      case Type::LARGE_LIST:
        return variable_rows<std::int64_t>(data, from, to, copy);
      case Type::FIXED_SIZE_LIST: {
        const std::int64_t size = static_cast<const ::arrow::FixedSizeListType&>(type).list_size();
        copy->child_data = {slice(*data.child_data[0], from * size, (to - from) * size)};
        return copy;
      }
      case Type::STRUCT:
        for (const Data& child : data.child_data) {
          copy->child_data.push_back(slice(*child, from, to - from));
        }
        return copy;
      default:
        return fixed_rows(data, type, from, to, copy);
    }
  }

  Data fixed_rows(const ArrayData& data, const DataType& type, std::int64_t from, std::int64_t to,
                  const Data& copy) const {
    if (!::arrow::is_fixed_width(type.id())) {
      throw Failed(
          ErrorCode::no_space,
          joined({place_, "is larger than the memory for files, and columns of type " +
                              type.ToString() + " cannot be read in parts: give a larger -S"}));
    }
    const std::int64_t width = static_cast<const ::arrow::FixedWidthType&>(type).bit_width();
    copy->buffers.push_back(
        bytes(data.buffers[1], from * width / kBits, (to * width + kBits - 1) / kBits));
    return copy;
  }

  Data dictionary_rows(const ArrayData& data, const DataType& type, std::int64_t from,
                       std::int64_t to, const Data& copy) {
    const auto& index = *static_cast<const ::arrow::DictionaryType&>(type).index_type();
    fixed_rows(data, index, from, to, copy);
    copy->dictionary = any_mapped(*data.dictionary, mapped_)
                           ? slice(*data.dictionary, 0, data.dictionary->length)
                           : data.dictionary;
    return copy;
  }

  // Text and lists: offsets, and what lies between the first and the last of them.
  template <class Offset>
  Data variable_rows(const ArrayData& data, std::int64_t from, std::int64_t to, const Data& copy) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(Offset));
    if (to == from) {
      from = to = 0;  // there may be no offsets at all
    }
    std::vector<Offset> offsets(static_cast<std::size_t>(to - from + 1));
    if (data.buffers[1] != nullptr && data.buffers[1]->size() > 0) {
      const auto stored = bytes(data.buffers[1], from * kSize, (to + 1) * kSize);
      std::memcpy(offsets.data(), stored->data(), offsets.size() * sizeof(Offset));
    } else if (to > from) {
      fail("a column has no offsets");
    }
    const std::int64_t begin = offsets.front();
    const std::int64_t end = offsets.back();
    for (Offset& offset : offsets) offset = static_cast<Offset>(offset - begin);
    copy->buffers.push_back(Buffer::FromVector(std::move(offsets)));
    if (data.child_data.empty()) {
      copy->buffers.push_back(bytes(data.buffers[2], begin, end));
    } else {
      if (begin < 0 || end < begin || end > data.child_data[0]->length)
        fail("offsets of lists are wrong");
      copy->child_data = {slice(*data.child_data[0], begin, end - begin)};
    }
    return copy;
  }

  const MappedBytes& mapped_;
  const std::string_view place_;
};

}  // namespace

bool is_mapped(const ::arrow::RecordBatch& batch, const MappedBytes& mapped) {
  for (const Data& column : batch.column_data()) {
    if (any_mapped(*column, mapped)) return true;
  }
  return false;
}

std::shared_ptr<::arrow::RecordBatch> read_slice(const ::arrow::RecordBatch& batch,
                                                 std::int64_t row, std::int64_t count,
                                                 const MappedBytes& mapped,
                                                 std::string_view place) {
  Slicer slicer(mapped, place);
  std::vector<Data> columns;
  for (const Data& column : batch.column_data())
    columns.push_back(slicer.slice(*column, row, count));
  return ::arrow::RecordBatch::Make(batch.schema(), count, std::move(columns));
}

}  // namespace xxl::arrow_module
