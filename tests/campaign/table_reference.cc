#include "table_reference.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstdint>

#include "contents.h"
#include "split.h"

namespace xxl::campaign {
namespace {

constexpr std::size_t kAmount = 2;  // of kTableColumns; floats

struct TableKey {
  std::size_t column = 0;
  bool descending = false;
  bool nulls_first = false;
};

struct TableRow {
  std::string_view line;  // with its end
  std::vector<std::string_view> fields;
};

// COLUMN[:desc][:nulls-first]
std::optional<TableKey> read_key(const std::string& text) {
  const std::vector<std::string_view> parts = split(text, ':');
  TableKey key;
  const auto named = std::ranges::find(kTableColumns, parts[0]);
  if (named != std::end(kTableColumns))
    key.column = static_cast<std::size_t>(named - std::begin(kTableColumns));
  else if (std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), key.column).ec ==
           std::errc())
    --key.column;
  else
    return std::nullopt;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    key.descending |= parts[i] == "desc";
    key.nulls_first |= parts[i] == "nulls-first";
  }
  return key;
}

template <typename T>
T number(std::string_view text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// NaN is above all others.
std::weak_ordering compare_floats(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) <=> std::isnan(b);
  return a < b   ? std::weak_ordering::less
         : a > b ? std::weak_ordering::greater
                 : std::weak_ordering::equivalent;
}

std::weak_ordering compare_values(std::size_t column, std::string_view a, std::string_view b) {
  if (a.starts_with('\'')) return a <=> b;
  if (column == kAmount) {
    return compare_floats(std::bit_cast<double>(number<std::uint64_t>(a)),
                          std::bit_cast<double>(number<std::uint64_t>(b)));
  }
  return number<std::int64_t>(a) <=> number<std::int64_t>(b);
}

std::weak_ordering compare(const std::vector<TableKey>& keys, const TableRow& a,
                           const TableRow& b) {
  for (const TableKey& key : keys) {
    const std::string_view x = a.fields[key.column], y = b.fields[key.column];
    std::weak_ordering order = std::weak_ordering::equivalent;
    if (x == "-" || y == "-")
      order = key.nulls_first ? (y == "-") <=> (x == "-") : (x == "-") <=> (y == "-");
    else if (key.descending)
      order = compare_values(key.column, y, x);
    else
      order = compare_values(key.column, x, y);
    if (order != std::weak_ordering::equivalent) return order;
  }
  return std::weak_ordering::equivalent;
}

}  // namespace

std::optional<std::string> table_sort_reference(const Job& job,
                                                const std::vector<std::string_view>& inputs) {
  if (!has_only(job.options, {"--record", "--key", "--unique", "--stable", "--skip", "--limit",
                              "--files0-from", "--compression"}))
    return std::nullopt;
  std::vector<TableKey> keys;
  for (const std::string& text : values_of(job.options, "--key")) {
    const std::optional<TableKey> key = read_key(text);
    if (!key) return std::nullopt;
    keys.push_back(*key);
  }
  if (keys.empty()) return std::nullopt;
  std::vector<TableRow> rows;
  for (const std::string_view input : inputs) {
    for (std::size_t at = input.find('\n') + 1; at < input.size();) {
      const std::size_t end = input.find('\n', at);
      rows.push_back({input.substr(at, end + 1 - at), split(input.substr(at, end - at), '\t')});
      at = end + 1;
    }
  }
  std::ranges::stable_sort(
      rows, [&](const TableRow& a, const TableRow& b) { return compare(keys, a, b) < 0; });
  if (has(job.options, "--unique")) {
    const auto rest = std::ranges::unique(
        rows, [&](const TableRow& a, const TableRow& b) { return compare(keys, a, b) == 0; });
    rows.erase(rest.begin(), rest.end());
  }
  const auto count_of = [&](std::string_view option, std::size_t otherwise) {
    const auto value = value_of(job.options, option);
    return value ? std::min<std::size_t>(std::stoull(*value), rows.size()) : otherwise;
  };
  const std::size_t skip = count_of("--skip", 0);
  const std::size_t limit = count_of("--limit", rows.size());
  std::string text(inputs.front().substr(0, inputs.front().find('\n') + 1));
  for (std::size_t i = skip; i < std::min(rows.size(), skip + limit); ++i) text += rows[i].line;
  return text;
}

}  // namespace xxl::campaign
