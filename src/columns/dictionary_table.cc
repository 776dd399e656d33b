#include "columns/dictionary_table.h"

#include <bit>
#include <utility>

#include "base/units.h"
#include "xxl/error.h"

namespace xxl {
namespace {

constexpr std::uint64_t kBytesOfEntry = 96;  // of the table, beside the value

void collect(const ColumnType& type, std::uint64_t most_bytes, DictionaryNumbers numbers,
             DictionaryTables& tables) {
  if (type.layout == Layout::dictionary) tables.emplace_back(type.name, most_bytes, numbers);
  for (const ColumnType& child : type.children) collect(child, most_bytes, numbers, tables);
}

}  // namespace

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

void begin_batch(DictionaryTables& tables, const ColumnView& batch) {
  if (batch.type->layout == Layout::dictionary) {
    tables[batch.type->dictionary_id].begin_batch(batch.values.front().rows);
  }
  for (const ColumnView& child : batch.children) begin_batch(tables, child);
}

}  // namespace xxl
