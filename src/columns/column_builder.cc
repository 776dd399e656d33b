#include "columns/column_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"
#include "columns/shared_array.h"
#include "columns/value_bytes.h"

namespace xxl {
namespace {

constexpr std::size_t kInlineBytes = 12;  // of a view
constexpr std::size_t kFirstCapacity = 64;

// What an exported array owns.
struct ExportedArray {
  ArrayBuffer buffers[3];
  std::vector<const void*> pointers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
  ArrowArray dictionary{};
  std::shared_ptr<ArrowArray> shared;  // if it is a share of another array
  std::int64_t view_bytes = 0;         // of the one buffer of views

  ExportedArray() = default;
  ExportedArray(const ExportedArray&) = delete;
  ExportedArray& operator=(const ExportedArray&) = delete;
  ~ExportedArray() {
    for (ArrowArray& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
    if (dictionary.release != nullptr) dictionary.release(&dictionary);
  }
};

void release_array(ArrowArray* array) {
  delete static_cast<ExportedArray*>(array->private_data);
  array->release = nullptr;
}

// A share of `array`: its structure again, of its buffers. It has no dictionary.
void share_array(const std::shared_ptr<ArrowArray>& whole, const ArrowArray& array,
                 ArrowArray* to) {
  auto owned = std::make_unique<ExportedArray>();
  owned->shared = whole;
  owned->children.resize(static_cast<std::size_t>(array.n_children));
  *to = array;
  to->release = nullptr;  // until it is complete
  for (std::size_t i = 0; i < owned->children.size(); ++i) {
    share_array(whole, *array.children[i], &owned->children[i]);
    owned->child_pointers.push_back(&owned->children[i]);
  }
  to->children = owned->child_pointers.empty() ? nullptr : owned->child_pointers.data();
  to->release = release_array;
  to->private_data = owned.release();
}

bool has_offsets(Layout layout) {
  return layout == Layout::binary32 || layout == Layout::binary64 || layout == Layout::list32 ||
         layout == Layout::list64;
}

ValueCount read_count(const std::byte*& from) {
  ValueCount count;
  std::memcpy(&count, from, sizeof(count));
  from += sizeof(count);
  return count;
}

}  // namespace

void ArrayBuffer::grow(std::size_t bytes) {
  const std::size_t capacity =
      std::max({bytes, 2 * capacity_, kFirstCapacity}) / kAlignment * kAlignment + kAlignment;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity));
  if (memory == nullptr) throw std::bad_alloc();
  if (size_ > 0) std::memcpy(memory, data_.get(), size_);
  data_.reset(memory);
  capacity_ = capacity;
}

ColumnBuilder::ColumnBuilder(const ColumnType& type, const Dictionaries* dictionaries)
    : type_(&type), dictionaries_(dictionaries) {
  for (const ColumnType& child : type.children) children_.emplace_back(child, dictionaries);
  begin();
}

void ColumnBuilder::begin() {
  rows_ = 0;
  nulls_ = 0;
  text_begin_ = 0;
  if (has_offsets(type_->layout)) end_offset(0);
}

void ColumnBuilder::end_row(bool valid) {
  if (rows_ % 8 == 0) *validity_.extend(1) = std::byte{0};
  if (valid) {
    set_bit(validity_.data(), rows_);
  } else {
    ++nulls_;
  }
  ++rows_;
}

void ColumnBuilder::end_offset(std::size_t end) {
  const auto offset = static_cast<std::int64_t>(end);  // little-endian
  if (type_->layout == Layout::binary64 || type_->layout == Layout::list64) {
    std::memcpy(data_.extend(sizeof(offset)), &offset, sizeof(offset));
    return;
  }
  if (offset > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorCode::bad_input, "column " + type_->name +
                                          ": the values of a batch take more than 2 GiB, which the "
                                          "type " +
                                          type_name(*type_) +
                                          " cannot have: use batches of fewer rows");
  }
  std::memcpy(data_.extend(sizeof(std::int32_t)), &offset, sizeof(std::int32_t));
}

void ColumnBuilder::append_null() {
  switch (type_->layout) {
    case Layout::null:
      ++rows_;
      ++nulls_;
      return;
    case Layout::boolean:
      append_boolean(false);
      validity_.data()[(rows_ - 1) / 8] &= ~(std::byte{1} << ((rows_ - 1) % 8));
      ++nulls_;
      return;
    case Layout::fixed:
    case Layout::dictionary:
    case Layout::view:
      if (type_->width > 0) std::memset(data_.extend(type_->width), 0, type_->width);
      break;
    case Layout::binary32:
    case Layout::binary64:
      end_offset(bytes_.size());
      break;
    case Layout::list32:
    case Layout::list64:
      end_offset(children_[0].rows());
      break;
    case Layout::fixed_list:
      for (std::size_t i = 0; i < type_->list_size; ++i) children_[0].append_null();
      break;
    case Layout::structure:
      for (ColumnBuilder& child : children_) child.append_null();
      break;
  }
  end_row(false);
}

void ColumnBuilder::append_boolean(bool value) {
  if (rows_ % 8 == 0) *data_.extend(1) = std::byte{0};
  if (value) set_bit(data_.data(), rows_);
  end_valid();
}

void ColumnBuilder::end_text(std::size_t bytes) {
  switch (type_->layout) {
    case Layout::binary32:
    case Layout::binary64:
      text_begin_ += bytes;
      bytes_.truncate(text_begin_);
      end_offset(text_begin_);
      break;
    case Layout::fixed:  // of no bytes, which keys have as an empty text: nothing is appended
      break;
    default:
      end_view(bytes);
  }
  end_valid();
}

void ColumnBuilder::append_value(const std::byte*& from) {
  switch (type_->layout) {
    case Layout::null:
      ++rows_;
      ++nulls_;
      break;
    case Layout::boolean:
      append_boolean(*from++ != std::byte{0});
      break;
    case Layout::fixed: {
      std::byte* const value = append_fixed();  // null if values have no bytes
      if (type_->width > 0) std::memcpy(value, from, type_->width);
      from += type_->width;
      break;
    }
    case Layout::dictionary: {
      const std::uint64_t index = dictionaries_->index(type_->dictionary_id, read_count(from));
      std::memcpy(append_fixed(), &index, type_->width);
      break;
    }
    case Layout::binary32:
    case Layout::binary64:
    case Layout::view: {
      const ValueCount bytes = read_count(from);
      std::byte* const to = begin_text(bytes);
      if (bytes > 0) std::memcpy(to, from, bytes);
      from += bytes;
      end_text(bytes);
      break;
    }
    case Layout::structure:
      append_children(children_.size(), from);
      end_valid();
      break;
    default:
      append_children(read_count(from), from);
      if (has_offsets(type_->layout)) end_offset(children_[0].rows());
      end_valid();
  }
}

// The children of one struct or list: a bitmap of those that are not null, then their values.
void ColumnBuilder::append_children(std::size_t count, const std::byte*& from) {
  const std::byte* const bitmap = from;
  from += bitmap_bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    ColumnBuilder& child = children_[type_->layout == Layout::structure ? i : 0];
    if (bit_at(bitmap, i)) {
      child.append_value(from);
    } else {
      child.append_null();
    }
  }
}

// --- rows of a column ---

template <std::size_t kWidth>
void ColumnBuilder::append_fixed_values(std::span<const std::byte*> from, const RowBits& valid) {
  data_.reserve(from.size() * kWidth);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::byte* const to = data_.extend(kWidth);
    if (valid.bitmaps.empty() || bit_at(valid.bitmaps[i], valid.bit)) {
      std::memcpy(to, from[i], kWidth);
      from[i] += kWidth;
      end_row(true);
    } else {
      std::memset(to, 0, kWidth);
      end_row(false);
    }
  }
}

void ColumnBuilder::append_values(std::span<const std::byte*> from, const RowBits& valid) {
  if (type_->layout == Layout::fixed && type_->width == 4)
    return append_fixed_values<4>(from, valid);
  if (type_->layout == Layout::fixed && type_->width == 8)
    return append_fixed_values<8>(from, valid);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (type_->layout != Layout::null &&
        (valid.bitmaps.empty() || bit_at(valid.bitmaps[i], valid.bit))) {
      append_value(from[i]);
    } else {
      append_null();
    }
  }
}

void ColumnBuilder::end_view(std::size_t bytes) {
  // As ColumnView::view() has them; the buffer is number 0.
  bytes_.truncate(text_begin_ + bytes);
  std::byte* const view = data_.extend(type_->width);
  std::memset(view, 0, type_->width);
  const auto length = static_cast<std::int32_t>(bytes);
  std::memcpy(view, &length, sizeof(length));
  const std::byte* const text = bytes_.data() + text_begin_;
  if (bytes <= kInlineBytes) {
    if (bytes > 0) std::memcpy(view + 4, text, bytes);
    bytes_.truncate(text_begin_);
    return;
  }
  if (bytes_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    end_offset(bytes_.size());  // which says so
  }
  const auto offset = static_cast<std::int32_t>(text_begin_);
  std::memcpy(view + 4, text, 4);
  std::memcpy(view + 12, &offset, sizeof(offset));
  text_begin_ = bytes_.size();
}

void ColumnBuilder::share(const std::shared_ptr<ArrowArray>& whole, const ArrowArray& array,
                          std::size_t offset, std::size_t rows) {
  share_ = {whole, &array, offset};
  rows_ = rows;
}

void ColumnBuilder::finish(ArrowArray* array) {
  if (share_.whole != nullptr) {
    share_array(share_.whole, *share_.array, array);
    array->offset = static_cast<std::int64_t>(share_.offset);
    array->length = static_cast<std::int64_t>(rows_);
    if (array->null_count != 0) {
      array->null_count = type_->layout == Layout::null ? array->length : -1;  // not counted
    }
    share_ = {};
    rows_ = 0;
    return;
  }
  auto owned = std::make_unique<ExportedArray>();
  *array = {};
  array->length = static_cast<std::int64_t>(rows_);
  array->null_count = static_cast<std::int64_t>(nulls_);
  owned->children.resize(children_.size());
  for (std::size_t i = 0; i < children_.size(); ++i) {
    children_[i].finish(&owned->children[i]);
    owned->child_pointers.push_back(&owned->children[i]);
  }
  if (type_->layout == Layout::dictionary) {
    dictionaries_->share(type_->dictionary_id, &owned->dictionary);
    array->dictionary = &owned->dictionary;
  }
  for (ArrayBuffer* const each : {&validity_, &data_, &bytes_}) each->reserve(1);  // not null
  const Layout layout = type_->layout;
  if (layout != Layout::null) {
    owned->pointers.push_back(nulls_ == 0 ? nullptr : validity_.data());
    if (layout != Layout::structure && layout != Layout::fixed_list) {
      owned->pointers.push_back(data_.data());
    }
  }
  if (layout == Layout::binary32 || layout == Layout::binary64) {
    owned->pointers.push_back(bytes_.data());
  } else if (layout == Layout::view) {
    owned->view_bytes = static_cast<std::int64_t>(bytes_.size());
    owned->pointers.push_back(bytes_.data());
    owned->pointers.push_back(&owned->view_bytes);
  }
  array->n_buffers = static_cast<std::int64_t>(owned->pointers.size());
  array->buffers = owned->pointers.empty() ? nullptr : owned->pointers.data();
  array->n_children = static_cast<std::int64_t>(owned->child_pointers.size());
  array->children = owned->child_pointers.empty() ? nullptr : owned->child_pointers.data();
  std::size_t i = 0;
  for (ArrayBuffer* const each : {&validity_, &data_, &bytes_}) {
    const std::size_t before = each->size();
    owned->buffers[i++] = std::exchange(*each, {});
    each->reserve(before + before / 8);  // the next batch is like this one
  }
  begin();
  array->private_data = owned.release();
  array->release = release_array;
}

Dictionaries::Dictionaries(const ColumnType& table, const DictionaryTables& tables,
                           DictionaryPlaces places)
    : places_(std::move(places)) {
  make(table, tables);
}

void Dictionaries::make(const ColumnType& type, const DictionaryTables& tables) {
  if (type.layout == Layout::dictionary) {
    ColumnBuilder builder(type.values.front(), nullptr);
    for (const std::string_view value : tables[type.dictionary_id].values()) {
      const auto* from = reinterpret_cast<const std::byte*>(value.data());
      builder.append_value(from);
    }
    arrays_.push_back(shared_array());
    builder.finish(arrays_.back().get());
  }
  for (const ColumnType& child : type.children) make(child, tables);
}

void Dictionaries::share(std::size_t id, ArrowArray* array) const {
  share_array(arrays_[id], *arrays_[id], array);
}

}  // namespace xxl
