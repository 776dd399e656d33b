#include "columns/dictionary_table.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "base/units.h"
#include "columns/files/column_metadata.h"
#include "xxl/error.h"

namespace xxl {
namespace {

constexpr std::uint64_t kBytesOfEntry = 96;  // of the table, beside the value

void collect(const ColumnType& type, std::uint64_t most_bytes, DictionaryNumbers numbers,
             DictionaryTables& tables) {
  if (type.layout == Layout::dictionary) tables.emplace_back(type, most_bytes, numbers);
  for (const ColumnType& child : type.children) collect(child, most_bytes, numbers, tables);
}

// "2;lo3;mid" are "lo" and "mid". None if it is something else.
std::vector<std::string_view> polars_values(const ColumnType& column) {
  auto text = column.metadata_of(kPolarsEnumKey);
  if (!text) text = column.metadata_of(kOldPolarsEnumKey);
  std::vector<std::string_view> values;
  if (column.values.front().key != KeyKind::text) return values;
  for (std::string_view rest = text.value_or(""); !rest.empty();) {
    std::size_t bytes = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), bytes);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (error != std::errc() || !rest.starts_with(';') || rest.size() - 1 < bytes) return {};
    values.push_back(rest.substr(1, bytes));
    rest.remove_prefix(1 + bytes);
  }
  return values;
}

}  // namespace

DictionaryTable::DictionaryTable(const ColumnType& column, std::uint64_t most_bytes,
                                 DictionaryNumbers numbers)
    : column_(column.name),
      most_bytes_(most_bytes),
      first_(numbers.first),
      next_(numbers.first),
      step_(numbers.step),
      ordered_(column.key == KeyKind::place) {
  if (!ordered_) return;
  for (const std::string_view value : polars_values(column)) {
    const auto bytes = static_cast<std::uint32_t>(value.size());
    std::string text(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
    number_of(text.append(value));
  }
  complete_ = !values_.empty();
}

void DictionaryTable::begin_batch(std::size_t count) {
  numbers_.assign(count, kUnknown);
  if (!ordered_) return;
  places_.assign(count, 0);
  next_place_ = 0;
}

void DictionaryTable::add_in_order(std::size_t index, std::string bytes) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::bad_input,
                "column " + column_ + ": " + what +
                    ": give it the same dictionary everywhere, or make the column text");
  };
  std::size_t place = next_place_;
  if (place == values_.size() || values_[place] != bytes) {
    const auto known = known_.find(bytes);
    if (known != known_.end()) {
      place = (known->second - first_) / step_;
      if (place < next_place_ && !complete_)
        fail("its dictionary is ordered, and comes in two orders");
    } else {
      if (complete_) fail("a value is not among those of its type");
      if (place != values_.size()) {
        fail("its dictionary is ordered, and one has a value more, whose place nothing tells");
      }
      number_of(std::move(bytes));
    }
  }
  places_[index] = static_cast<std::uint32_t>(place);
  numbers_[index] = first_ + step_ * places_[index];
  next_place_ = place + 1;
}

std::uint32_t DictionaryTable::number_of(std::string bytes) {
  const auto [entry, is_new] =
      known_.try_emplace(std::move(bytes), static_cast<std::uint32_t>(next_));
  if (!is_new) return entry->second;
  values_.push_back(entry->first);
  bytes_ += kBytesOfEntry + entry->first.size();
  next_ += step_;
  if (bytes_ > most_bytes_ || next_ >= kUnknown) {
    throw Error(ErrorCode::no_space,
                "column " + column_ + ": its dictionary has more values than fit in memory (" +
                    format_bytes(most_bytes_) +
                    "): give more, or the column as values in place of a dictionary");
  }
  return entry->second;
}

DictionaryTables dictionary_tables(const ColumnType& table, std::uint64_t most_bytes,
                                   DictionaryNumbers numbers) {
  DictionaryTables tables;
  collect(table, most_bytes, numbers, tables);
  return tables;
}

bool has_dictionaries(const ColumnType& table) {
  return table.layout == Layout::dictionary ||
         std::ranges::any_of(table.children, has_dictionaries);
}

ColumnType with_wide_indices(const ColumnType& table, const DictionaryTables& tables) {
  ColumnType type = table;
  for (ColumnType& child : type.children) child = with_wide_indices(child, tables);
  if (type.layout != Layout::dictionary) return type;
  const std::size_t count = tables[type.dictionary_id].values().size();
  const bool is_signed = type.format[0] >= 'a';  // c, s, i, l; unsigned ones are C, S, I, L
  const auto fits = [&](std::size_t width) {
    return width >= 8 || count <= std::size_t{1} << (8 * width - (is_signed ? 1 : 0));
  };
  constexpr std::string_view kFormats = "csil";
  while (!fits(type.width)) type.width *= 2;
  const char format = kFormats[static_cast<std::size_t>(std::countr_zero(type.width))];
  type.format = is_signed ? format : static_cast<char>(format - 'a' + 'A');
  return type;
}

}  // namespace xxl
