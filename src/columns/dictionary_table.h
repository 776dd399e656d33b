// The values of a dictionary column, of all batches together: each batch may come with a dictionary
// of its own, and rows keep the number that a value has here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "columns/column_view.h"

namespace xxl {

// Which numbers values have: from `first` on, `step` apart.
struct DictionaryNumbers {
  std::uint32_t first = 0;
  std::uint32_t step = 1;
};

class DictionaryTable {
 public:
  // Of the dictionary `column`. Throws Error{no_space} when the values take more than `most_bytes`.
  DictionaryTable(const ColumnType& column, std::uint64_t most_bytes, DictionaryNumbers numbers);

  // Whether numbers are in the order of the values.
  bool is_ordered() const { return ordered_; }

  // Before the rows of a batch whose dictionary has `count` values.
  void begin_batch(std::size_t count);
  // And, if it is ordered, for each of them, in this order: bytes as append_value() writes it.
  // All batches must have one order, unless the type tells it.
  void add_in_order(std::size_t index, std::string bytes);
  // The places of the batch's values in that order.
  std::span<const std::uint32_t> places() const { return places_; }
  // The number of the value at `index` of the batch's dictionary; `bytes()` gives it as
  // append_value() writes it.
  template <class Bytes>
  std::uint32_t number(std::size_t index, Bytes&& bytes) {
    std::uint32_t& known = numbers_[index];
    if (known == kUnknown) known = number_of(bytes());
    return known;
  }

  // The number of a value, as append_value() writes it.
  std::uint32_t number_of(std::string bytes);

  // All values, in the order of their numbers.
  const std::vector<std::string_view>& values() const { return values_; }

 private:
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

  std::string column_;
  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::uint32_t first_;
  std::uint64_t next_;  // number of the next new value
  std::uint32_t step_;
  bool ordered_;
  bool complete_ = false;               // by its type
  std::size_t next_place_ = 0;          // of an ordered batch's next value, at least
  std::vector<std::uint32_t> places_;   // of an ordered batch's values
  std::vector<std::uint32_t> numbers_;  // of the batch's values
  std::unordered_map<std::string, std::uint32_t> known_;  // numbers
  std::vector<std::string_view> values_;  // keys of known_, which stay where they are
};

// Those of a table, by ColumnType::dictionary_id.
using DictionaryTables = std::vector<DictionaryTable>;

// Where the values of several ranks are in a dictionary of all: by ColumnType::dictionary_id, by
// rank, whose numbers are DictionaryNumbers{rank, ranks}, and by the order of these. Without ranks
// numbers are such places.
using DictionaryPlaces = std::vector<std::vector<std::vector<std::uint32_t>>>;

// For all dictionaries of `table`.
DictionaryTables dictionary_tables(const ColumnType& table, std::uint64_t most_bytes,
                                   DictionaryNumbers numbers = {});
bool has_dictionaries(const ColumnType& table);
// `table`, where indices are too narrow for the values of all batches, with wider ones.
ColumnType with_wide_indices(const ColumnType& table, const DictionaryTables& tables);

}  // namespace xxl
