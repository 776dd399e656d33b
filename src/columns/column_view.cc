#include "columns/column_view.h"

#include <limits>

#include "xxl/error.h"

namespace xxl {
namespace {

// So that sizes in bytes and bits do not overflow.
constexpr std::int64_t kMaxRows = std::int64_t{1} << 56;

class ViewReader {
 public:
  explicit ViewReader(const std::string& place) : place_(place) {}

  // `rows` from `first` on, beside the array's own offset.
  ColumnView read(const ColumnType& type, const ArrowArray* array, std::size_t first,
                  std::size_t rows) {
    if (array == nullptr || array->release == nullptr) fail(type, "there is no array");
    if (array->length < 0 || array->offset < 0 || array->length > kMaxRows ||
        array->offset > kMaxRows) {
      fail(type, "its length or offset is not valid");
    }
    if (first + rows > static_cast<std::size_t>(array->length)) {
      fail(type, "it has " + std::to_string(array->length) + " values, not " +
                     std::to_string(first + rows));
    }
    ColumnView view;
    view.type = &type;
    view.offset = static_cast<std::size_t>(array->offset) + first;
    view.rows = rows;
    check_counts(type, *array);
    if (type.layout == Layout::null) return view;
    if (array->null_count != 0) {
      view.validity = static_cast<const std::uint8_t*>(array->buffers[0]);
    }
    if (type.layout != Layout::structure && type.layout != Layout::fixed_list) {
      view.data = static_cast<const std::byte*>(array->buffers[1]);
      if (view.data == nullptr && rows > 0 && (type.width > 0 || type.layout == Layout::boolean)) {
        fail(type, "it has no buffer of values");
      }
    }
    read_layout(view, *array);
    return view;
  }

 private:
  [[noreturn]] void fail(const ColumnType& type, const std::string& message) const {
    throw Error(ErrorCode::bad_input, place_ + (type.name.empty() ? "" : ", column " + type.name) +
                                          ": what came is not a valid array of the type " +
                                          type_name(type) + ": " + message);
  }

  static std::int64_t buffers_wanted(const ColumnType& type) {
    switch (type.layout) {
      case Layout::null:
        return 0;
      case Layout::structure:
      case Layout::fixed_list:
        return 1;
      case Layout::binary32:
      case Layout::binary64:
        return 3;
      default:
        return 2;
    }
  }

  void check_counts(const ColumnType& type, const ArrowArray& array) const {
    const std::int64_t wanted = buffers_wanted(type);
    // (Older versions of the format had one of nulls, and Polars has it still.)
    const bool right = type.layout == Layout::view   ? array.n_buffers >= 3
                       : type.layout == Layout::null ? array.n_buffers <= 1
                                                     : array.n_buffers == wanted;
    if (!right) fail(type, "it has " + std::to_string(array.n_buffers) + " buffers");
    if (array.n_buffers > 0 && array.buffers == nullptr) fail(type, "it has no buffers");
    if (array.n_children != static_cast<std::int64_t>(type.children.size())) {
      fail(type, "it has " + std::to_string(array.n_children) + " children");
    }
    if (array.n_children > 0 && array.children == nullptr) fail(type, "it has no children");
    if ((array.dictionary != nullptr) != (type.layout == Layout::dictionary)) {
      fail(type, array.dictionary == nullptr ? "it has no dictionary" : "it has a dictionary");
    }
  }

  void read_layout(ColumnView& view, const ArrowArray& array) {
    switch (view.type->layout) {
      case Layout::binary32:
        view.bytes = static_cast<const char*>(array.buffers[2]);
        check_binary<std::int32_t>(view);
        break;
      case Layout::binary64:
        view.bytes = static_cast<const char*>(array.buffers[2]);
        check_binary<std::int64_t>(view);
        break;
      case Layout::view:
        read_views(view, array);
        break;
      case Layout::list32:
        read_lists<std::int32_t>(view, array);
        break;
      case Layout::list64:
        read_lists<std::int64_t>(view, array);
        break;
      case Layout::fixed_list:
        if (view.type->list_size > 0 &&
            view.offset + view.rows > (std::size_t{1} << 62) / view.type->list_size) {
          fail(*view.type, "its child would be too long");
        }
        view.children.push_back(read(view.type->children[0], array.children[0],
                                     view.offset * view.type->list_size,
                                     view.rows * view.type->list_size));
        break;
      case Layout::structure:
        for (std::size_t i = 0; i < view.type->children.size(); ++i) {
          view.children.push_back(
              read(view.type->children[i], array.children[i], view.offset, view.rows));
        }
        break;
      case Layout::dictionary:
        read_dictionary(view, array);
        break;
      default:
        break;
    }
  }

  // Offsets rise, from 0 on.
  template <class Offset>
  std::size_t check_offsets(const ColumnView& view) const {
    if (view.rows == 0) return 0;
    Offset before = view.number<Offset>(0);
    bool right = before >= 0;
    for (std::size_t i = 1; i <= view.rows; ++i) {
      const auto next = view.number<Offset>(i);
      right &= next >= before;
      before = next;
    }
    if (!right) fail(*view.type, "its offsets do not rise");
    return static_cast<std::size_t>(before);
  }
  template <class Offset>
  void check_binary(const ColumnView& view) const {
    const std::size_t end = check_offsets<Offset>(view);
    if (end > 0 && view.bytes == nullptr) fail(*view.type, "it has no buffer of bytes");
  }
  template <class Offset>
  void read_lists(ColumnView& view, const ArrowArray& array) {
    const std::size_t end = check_offsets<Offset>(view);
    view.first_child = view.rows == 0 ? 0 : view.begin_of<Offset>(0);
    view.children.push_back(
        read(view.type->children[0], array.children[0], view.first_child, end - view.first_child));
  }

  void read_views(ColumnView& view, const ArrowArray& array) const {
    const auto buffers = static_cast<std::size_t>(array.n_buffers - 3);
    view.variadic = array.buffers + 2;
    const auto* const sizes = static_cast<const std::byte*>(array.buffers[array.n_buffers - 1]);
    if (sizes == nullptr && buffers > 0) fail(*view.type, "it has no sizes of buffers");
    for (std::size_t row = 0; row < view.rows; ++row) {
      if (!view.is_valid(row)) continue;
      std::int32_t part[4];
      std::memcpy(part, view.fixed(row), sizeof(part));
      if (part[0] < 0) fail(*view.type, "a value has a negative length");
      if (part[0] <= 12) continue;
      std::int64_t size = -1;
      if (part[2] >= 0 && static_cast<std::size_t>(part[2]) < buffers) {
        std::memcpy(&size, sizes + static_cast<std::size_t>(part[2]) * sizeof(size), sizeof(size));
      }
      if (part[3] < 0 || std::int64_t{part[3]} + part[0] > size ||
          view.variadic[part[2]] == nullptr) {
        fail(*view.type, "a value lies outside of its buffers");
      }
    }
  }

  void read_dictionary(ColumnView& view, const ArrowArray& array) {
    const std::int64_t length = array.dictionary->length;
    view.values.push_back(read(view.type->values.front(), array.dictionary, 0,
                               static_cast<std::size_t>(length < 0 ? 0 : length)));
    for (std::size_t row = 0; row < view.rows; ++row) {
      // A negative index is a large one.
      if (view.is_valid(row) && view.index(row) >= view.values.front().rows) {
        fail(*view.type, "an index lies outside of the dictionary");
      }
    }
  }

  const std::string& place_;
};

}  // namespace

ColumnView view_of(const ColumnType& type, const ArrowArray& batch, const std::string& place) {
  ViewReader reader(place);
  ColumnView view = reader.read(type, &batch, 0, static_cast<std::size_t>(batch.length));
  for (std::size_t row = 0; row < view.rows; ++row) {
    if (view.validity == nullptr) break;
    if (!view.is_valid(row)) {
      throw Error(ErrorCode::bad_input, place + ": a row is null as a whole");
    }
  }
  return view;
}

std::uint64_t bytes_of(const ColumnView& view) {
  std::uint64_t bytes = view.validity != nullptr ? view.rows / 8 : 0;
  switch (view.type->layout) {
    case Layout::binary32:
    case Layout::binary64:
      bytes += view.rows * view.type->width;
      if (view.rows > 0) bytes += view.offset_at(view.rows) - view.offset_at(0);
      break;
    case Layout::view:
      bytes += view.rows * view.type->width;
      for (std::size_t row = 0; row < view.rows; ++row) {
        const std::size_t length = view.is_valid(row) ? view.view(row).size() : 0;
        if (length > 12) bytes += length;
      }
      break;
    case Layout::boolean:
      bytes += view.rows / 8;
      break;
    default:
      bytes += view.rows * view.type->width;
      break;
  }
  for (const ColumnView& child : view.children) bytes += bytes_of(child);
  for (const ColumnView& values : view.values) bytes += bytes_of(values);
  return bytes;
}

}  // namespace xxl
