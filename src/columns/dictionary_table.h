// The values of a dictionary column, of all batches together: each batch may come with a dictionary
// of its own, and rows keep the number that a value has here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "columns/column_view.h"

namespace xxl {

class DictionaryTable {
 public:
  // Throws Error{no_space} when the values take more than `most_bytes`; `column` says of what.
  DictionaryTable(std::string column, std::uint64_t most_bytes)
      : column_(std::move(column)), most_bytes_(most_bytes) {}

  // Before the rows of a batch whose dictionary has `count` values.
  void begin_batch(std::size_t count) { numbers_.assign(count, kUnknown); }
  // The number of the value at `index` of the batch's dictionary; `bytes()` gives it as
  // append_value() writes it.
  template <class Bytes>
  std::uint32_t number(std::size_t index, Bytes&& bytes) {
    std::uint32_t& known = numbers_[index];
    if (known == kUnknown) known = number_of(bytes());
    return known;
  }

  // All values, in the order of their numbers.
  const std::vector<std::string_view>& values() const { return values_; }

 private:
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

  std::uint32_t number_of(std::string bytes);

  std::string column_;
  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint32_t> numbers_;  // of the batch's values
  std::unordered_map<std::string, std::uint32_t> known_;
  std::vector<std::string_view> values_;  // keys of known_, which stay where they are
};

// Those of a table, by ColumnType::dictionary_id.
using DictionaryTables = std::vector<DictionaryTable>;

// For all dictionaries of `table`.
DictionaryTables dictionary_tables(const ColumnType& table, std::uint64_t most_bytes);
// `table`, where indices are too narrow for the values of all batches, with wider ones.
ColumnType with_wide_indices(const ColumnType& table, const DictionaryTables& tables);
// Before the rows of a batch.
void begin_batch(DictionaryTables& tables, const ColumnView& batch);

}  // namespace xxl
