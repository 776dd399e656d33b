// Makes the arrays of batches: a column, from values as rows have them (columns/value_bytes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "columns/column_type.h"
#include "columns/dictionary_table.h"
#include "xxl/arrow_c.h"

namespace xxl {

// Memory of an array. Aligned as Arrow recommends.
class ArrayBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  ArrayBuffer() = default;
  ArrayBuffer(ArrayBuffer&& other) noexcept { swap(other); }
  ArrayBuffer& operator=(ArrayBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  // Room for `bytes` more.
  void reserve(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(size_ + bytes);
  }
  // `bytes` more, to be filled.
  std::byte* extend(std::size_t bytes) {
    reserve(bytes);
    std::byte* const begin = data_.get() + size_;
    size_ += bytes;
    return begin;
  }
  void truncate(std::size_t bytes) { size_ = bytes; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  void grow(std::size_t bytes);
  void swap(ArrayBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Which values are there: bit `bit` of each row's bitmap. No bitmaps: all.
struct RowBits {
  std::span<const std::byte* const> bitmaps = {};
  std::size_t bit = 0;
};

// The dictionaries of a table, complete: what arrays of their columns refer to.
class Dictionaries;

class ColumnBuilder {
 public:
  // Both must outlive it. `dictionaries` may be null if `type` has none.
  ColumnBuilder(const ColumnType& type, const Dictionaries* dictionaries);

  std::size_t rows() const { return rows_; }

  // A value of each row, which is read from its place, which moves on.
  void append_values(std::span<const std::byte*> from, const RowBits& valid);
  // One value, likewise.
  void append_value(const std::byte*& from);
  void append_null();
  // One that is there, of layout fixed: to be filled.
  std::byte* append_fixed() {
    end_valid();
    return data_.extend(type_->width);
  }
  void append_boolean(bool value);
  // One of layout binary32, binary64 or view: room for `most` bytes, then how many they are.
  std::byte* begin_text(std::size_t most) { return bytes_.extend(most); }
  void end_text(std::size_t bytes);

  // In place of appending: the values are `rows` of `array` from its place `offset` on, which is
  // part of `whole` and has no dictionary. Until the next finish().
  void share(const std::shared_ptr<ArrowArray>& whole, const ArrowArray& array, std::size_t offset,
             std::size_t rows);

  // Fills `array` with what was appended, and begins again.
  void finish(ArrowArray* array);

  // Of a table, whose columns are appended to one by one: its columns, and finish() when all have
  // `rows` more.
  ColumnBuilder& child(std::size_t column) { return children_[column]; }
  void finish_table(std::size_t rows, ArrowArray* array) {
    rows_ = rows;
    finish(array);
  }

 private:
  struct Share {
    std::shared_ptr<ArrowArray> whole;
    const ArrowArray* array = nullptr;
    std::size_t offset = 0;
  };

  template <std::size_t kWidth>
  void append_fixed_values(std::span<const std::byte*> from, const RowBits& valid);
  // Appends an offset, of a layout with offsets.
  void end_offset(std::size_t end);
  void end_view(std::size_t bytes);
  void append_children(std::size_t count, const std::byte*& from);
  void end_valid() { end_row(true); }
  void end_row(bool valid);
  void begin();

  const ColumnType* type_;
  const Dictionaries* dictionaries_;
  std::size_t rows_ = 0;
  std::size_t nulls_ = 0;
  ArrayBuffer validity_;        // bits
  ArrayBuffer data_;            // values, offsets, views, indices, bits
  ArrayBuffer bytes_;           // of strings
  std::size_t text_begin_ = 0;  // in bytes_, of the value that is next
  std::vector<ColumnBuilder> children_;
  Share share_;  // if set, of rows_ rows, in place of what follows rows_
};

// Arrays of the values that dictionary columns refer to, made once.
class Dictionaries {
 public:
  // By ColumnType::dictionary_id.
  Dictionaries(const ColumnType& table, const DictionaryTables& tables,
               DictionaryPlaces places = {});

  // Fills `array` with a share of those of the dictionary `id`.
  void share(std::size_t id, ArrowArray* array) const;
  // The index there of the value that rows have as `number`.
  std::uint64_t index(std::size_t id, std::uint32_t number) const {
    if (places_.empty()) return number;
    const auto& ranks = places_[id];
    return ranks[number % ranks.size()][number / ranks.size()];
  }

 private:
  void make(const ColumnType& type, const DictionaryTables& tables);

  std::vector<std::shared_ptr<ArrowArray>> arrays_;
  const DictionaryPlaces places_;
};

}  // namespace xxl
