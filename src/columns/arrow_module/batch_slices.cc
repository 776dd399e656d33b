#include "columns/arrow_module/batch_slices.h"

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/buffer_builder.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/memory.h"

namespace xxl::arrow_module {
namespace {

using ::arrow::ArrayData;
using ::arrow::Buffer;
using ::arrow::DataType;
using ::arrow::Type;
using Data = std::shared_ptr<ArrayData>;

using View = ::arrow::BinaryViewType::c_type;

constexpr std::int64_t kBits = 8;
// That are read at once of what views refer to: they are often in order.
constexpr std::int64_t kWindowBytes = std::int64_t{1} << 16;

bool is_view(Type::type id) {
  return id == Type::STRING_VIEW || id == Type::BINARY_VIEW;
}

bool any_mapped(const ArrayData& data, const PosixFile& mapped) {
  const auto is = [&](const auto& buffer) {
    return buffer != nullptr && buffer->size() > 0 && mapped.has(buffer->data());
  };
  const auto has = [&](const auto& child) { return any_mapped(*child, mapped); };
  return std::any_of(data.buffers.begin(), data.buffers.end(), is) ||
         std::any_of(data.child_data.begin(), data.child_data.end(), has) ||
         (data.dictionary != nullptr && any_mapped(*data.dictionary, mapped));
}

// The bytes that views refer to, of which some are in memory.
class ViewedBytes {
 public:
  ViewedBytes(const PosixFile& mapped, std::string_view place) : mapped_(mapped), place_(place) {}

  // Until the next call.
  const std::uint8_t* read(const std::shared_ptr<Buffer>& buffer, std::int64_t offset,
                           std::int64_t bytes) {
    if (!mapped_.has(buffer->data())) return buffer->data() + offset;
    if (buffer != buffer_ || offset < begin_ || offset + bytes > begin_ + window_->size()) {
      window_.reset();
      const std::int64_t most = std::min(std::max(bytes, kWindowBytes), buffer->size() - offset);
      window_ = check(mapped_.copy(buffer->data() + offset, most), place_);
      buffer_ = buffer;
      begin_ = offset;
    }
    return window_->data() + (offset - begin_);
  }

 private:
  const PosixFile& mapped_;
  const std::string_view place_;
  std::shared_ptr<Buffer> buffer_;  // that the window is of
  std::shared_ptr<Buffer> window_;
  std::int64_t begin_ = 0;  // of the window in it
};

// Copies of the rows [from, to) of columns, where `from` is a multiple of 8, so that bits begin at
// bytes.
class Slicer {
 public:
  Slicer(const PosixFile& mapped, std::string_view place) : mapped_(mapped), place_(place) {}

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

  // From `row` on, how many have views whose texts take `bytes` together: one in any case.
  std::int64_t fitting_rows(const ::arrow::RecordBatch& batch, const SliceOf& slice) const {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(slice.count), 0);
    for (const Data& column : batch.column_data()) {
      if (!is_view(column->type->id())) continue;
      const std::int64_t first = column->offset + slice.row;
      const std::vector<View> views = views_of(*column, first, first + slice.count);
      for (std::size_t i = 0; i < views.size(); ++i) {
        if (!views[i].is_inline()) sizes[i] += views[i].size();
      }
    }
    std::int64_t rows = 1;
    for (std::int64_t sum = sizes[0]; rows < slice.count; ++rows) {
      sum += sizes[static_cast<std::size_t>(rows)];
      if (sum > slice.bytes) break;
    }
    return rows;
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
      case Type::STRING_VIEW:
      case Type::BINARY_VIEW:
        return view_rows(data, from, to, copy);
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

  // Those of nulls, which may be anything, are empty.
  std::vector<View> views_of(const ArrayData& data, std::int64_t from, std::int64_t to) const {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(View));
    std::vector<View> views(static_cast<std::size_t>(to - from));
    const auto stored = bytes(data.buffers[1], from * kSize, to * kSize);
    if (!views.empty()) std::memcpy(views.data(), stored->data(), views.size() * sizeof(View));
    if (data.buffers[0] == nullptr) return views;
    const std::int64_t start = from / kBits * kBits;
    const auto valid = bits(data.buffers[0], start, to);
    for (std::int64_t i = from; i < to; ++i) {
      if (!::arrow::bit_util::GetBit(valid->data(), i - start)) {
        views[static_cast<std::size_t>(i - from)] = {};
      }
    }
    return views;
  }

  Data view_rows(const ArrayData& data, std::int64_t from, std::int64_t to,
                 const Data& copy) const {
    std::vector<View> views = views_of(data, from, to);
    ViewedBytes viewed(mapped_, place_);
    ::arrow::BufferBuilder texts(&pool());
    for (View& view : views) {
      if (view.size() < 0) fail("a value has a negative length");
      if (view.is_inline()) continue;
      const auto number = static_cast<std::size_t>(view.ref.buffer_index) + 2;
      const std::int64_t offset = view.ref.offset;
      if (view.ref.buffer_index < 0 || number >= data.buffers.size() || offset < 0 ||
          offset + view.size() > data.buffers[number]->size()) {
        fail("a value lies outside of its buffers");
      }
      if (texts.length() + view.size() > std::numeric_limits<std::int32_t>::max()) {
        throw Failed(ErrorCode::no_space, joined({place_, "rows take more than 2 GiB"}));
      }
      const std::uint8_t* const text = viewed.read(data.buffers[number], offset, view.size());
      view.ref.buffer_index = 0;
      view.ref.offset = static_cast<std::int32_t>(texts.length());
      check(texts.Append(text, view.size()), place_);
    }
    copy->buffers.push_back(Buffer::FromVector(std::move(views)));
    copy->buffers.push_back(check(texts.Finish(), place_));
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

  const PosixFile& mapped_;
  const std::string_view place_;
};

}  // namespace

bool is_mapped(const ::arrow::RecordBatch& batch, const PosixFile& mapped) {
  for (const Data& column : batch.column_data()) {
    if (any_mapped(*column, mapped)) return true;
  }
  return false;
}

std::shared_ptr<::arrow::RecordBatch> read_slice(const ::arrow::RecordBatch& batch,
                                                 const SliceOf& slice, const PosixFile& mapped,
                                                 std::string_view place) {
  Slicer slicer(mapped, place);
  const std::int64_t rows = slicer.fitting_rows(batch, slice);
  std::vector<Data> columns;
  for (const Data& column : batch.column_data()) {
    columns.push_back(slicer.slice(*column, slice.row, rows));
  }
  return ::arrow::RecordBatch::Make(batch.schema(), rows, std::move(columns));
}

}  // namespace xxl::arrow_module
