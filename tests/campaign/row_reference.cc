#include "row_reference.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <compare>
#include <set>
#include <sstream>

#include "contents.h"

namespace xxl::campaign {
namespace {

struct Key {
  std::size_t column = 0;
  bool is_number = false;
  bool descending = false;
};

// COLUMN[:TYPE][:asc|:desc]; dates compare as text. Nothing if that is not what it is.
std::optional<Key> parse_key(const Job& job, const std::string& text) {
  Key key{.descending = has(job.options, "--reverse")};
  std::istringstream parts(text);
  std::string part;
  std::getline(parts, part, ':');
  if (has(job.options, "--header")) {
    const auto* const found = std::ranges::find(kColumns, part);
    if (found == std::end(kColumns)) return std::nullopt;
    key.column = static_cast<std::size_t>(found - std::begin(kColumns));
  } else {
    if (part.empty() || part.find_first_not_of("123456789") != std::string::npos) {
      return std::nullopt;
    }
    key.column = std::stoul(part) - 1;
  }
  while (std::getline(parts, part, ':')) {
    if (part == "number" || part == "integer")
      key.is_number = true;
    else if (part == "asc" || part == "desc")
      key.descending = part == "desc";
    else if (part != "text" && part != "date")
      return std::nullopt;
  }
  return key;
}

// Of numbers in hundredths, as contents.h makes them.
long hundredths(const std::string& number) {
  const std::size_t point = number.find('.');
  std::string fraction = point == std::string::npos ? "" : number.substr(point + 1);
  fraction.resize(2, '0');
  const long whole = std::stol(number) * 100;
  return number.starts_with('-') ? whole - std::stol(fraction) : whole + std::stol(fraction);
}

// Digits, with a sign and a decimal point if need be.
bool is_number(const std::string& field) {
  const std::size_t sign = field.starts_with('-') || field.starts_with('+') ? 1 : 0;
  const std::size_t after = field.find_first_not_of("0123456789.", sign);
  const auto points = std::ranges::count(field, '.');
  return after == std::string::npos && points <= 1 &&
         field.size() > sign + static_cast<std::size_t>(points);
}

// Where a field is among others: fields without a value are in front of those with one, or behind.
enum class Place { empty_first, invalid_first, value, empty_last, invalid_last };

struct RowKey {
  Place place = Place::value;
  long number = 0;
  std::string text;

  auto operator<=>(const RowKey&) const = default;
};

struct Row {
  std::string_view bytes;
  std::vector<RowKey> keys;
};

// How rows are compared: fields without a value come first, or last, whether descending or not.
struct Order {
  std::vector<Key> keys;
  bool empty_last = false;
  std::string invalid;

  std::strong_ordering operator()(const Row& a, const Row& b) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto order = a.keys[i] <=> b.keys[i];
      const bool values = a.keys[i].place == Place::value && b.keys[i].place == Place::value;
      if (order != 0) return values && keys[i].descending ? 0 <=> order : order;
    }
    return std::strong_ordering::equal;
  }

  // Nothing if the field makes its row malformed.
  std::optional<RowKey> key_of(const Key& key, const std::string& field) const {
    if (field.empty()) return RowKey{empty_last ? Place::empty_last : Place::empty_first, 0, ""};
    if (!key.is_number) return RowKey{Place::value, 0, field};
    if (is_number(field)) return RowKey{Place::value, hundredths(field), ""};
    if (invalid == "first") return RowKey{Place::invalid_first, 0, field};
    if (invalid == "last") return RowKey{Place::invalid_last, 0, field};
    return std::nullopt;
  }
};

bool has_known_options(const Job& job) {
  static constexpr std::array kKnown{"--record", "--key",   "--reverse",    "--unique",
                                     "--header", "--merge", "--skip",       "--limit",
                                     "--stable", "--empty", "--keep-order", "--field-separator",
                                     "--invalid"};
  return std::ranges::all_of(job.options, [](std::string_view option) {
    return std::ranges::find(kKnown, option.substr(0, option.find('='))) != kKnown.end();
  });
}

}  // namespace

std::vector<std::string> fields_of(std::string_view row, char separator) {
  while (row.ends_with('\n') || row.ends_with('\r')) row.remove_suffix(1);
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool doubled = quoted && row[i] == '"' && i + 1 < row.size() && row[i + 1] == '"';
    if (doubled)
      fields.back() += row[++i];
    else if (row[i] == '"')
      quoted = !quoted;
    else if (row[i] == separator && !quoted)
      fields.emplace_back();
    else
      fields.back() += row[i];
  }
  return fields;
}

std::vector<std::string_view> split_rows(std::string_view text) {
  std::vector<std::string_view> rows;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] != '\n' || quoted) continue;
    rows.push_back(text.substr(begin, i + 1 - begin));
    begin = i + 1;
  }
  if (begin < text.size()) rows.push_back(text.substr(begin));
  return rows;
}

std::optional<std::string> row_sort_reference(const Job& job,
                                              const std::vector<std::string_view>& inputs) {
  if (!has_known_options(job) || !has(job.options, "--key")) return std::nullopt;
  const bool splits_names = std::isalnum(static_cast<unsigned char>(separator_of(job))) != 0;
  if (splits_names && has(job.options, "--header")) return std::nullopt;
  Order order{.keys = {},
              .empty_last = value_of(job.options, "--empty") == "last",
              .invalid = value_of(job.options, "--invalid").value_or("error")};
  for (const std::string& text : values_of(job.options, "--key")) {
    const auto key = parse_key(job, text);
    if (!key) return std::nullopt;
    order.keys.push_back(*key);
  }
  std::string result;
  const auto write = [&](std::string_view row) {
    result += row;
    if (!row.ends_with('\n')) result += '\n';
  };
  std::vector<Row> rows;
  for (const std::string_view input : inputs) {
    std::vector<std::string_view> of_input = split_rows(input);
    if (has(job.options, "--header") && !of_input.empty()) {
      if (result.empty()) write(of_input.front());
      of_input.erase(of_input.begin());
    }
    for (const std::string_view bytes : of_input) {
      const std::vector<std::string> fields = fields_of(bytes, separator_of(job));
      Row& row = rows.emplace_back(Row{bytes, {}});
      for (const Key& key : order.keys) {
        if (key.column >= fields.size()) return std::nullopt;
        const std::optional<RowKey> made = order.key_of(key, fields[key.column]);
        if (!made) return std::nullopt;
        row.keys.push_back(*made);
      }
    }
  }
  const bool unique = has(job.options, "--unique");
  const auto before = [&](const Row& a, const Row& b) { return order(a, b) < 0; };
  if (has(job.options, "--keep-order")) {
    if (!unique || has(job.options, "--merge")) return std::nullopt;
    std::set<Row, decltype(before)> seen(before);
    std::erase_if(rows, [&](const Row& row) { return !seen.insert(row).second; });
  } else {
    std::ranges::stable_sort(rows, before);
    const auto same = [&](const Row& a, const Row& b) { return order(a, b) == 0; };
    if (unique) rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
  }
  const std::size_t skip = std::stoul(value_of(job.options, "--skip").value_or("0"));
  const auto limit = value_of(job.options, "--limit");
  std::size_t left = limit ? std::stoul(*limit) : rows.size();
  for (std::size_t i = skip; i < rows.size() && left > 0; ++i, --left) write(rows[i].bytes);
  return result;
}

}  // namespace xxl::campaign
