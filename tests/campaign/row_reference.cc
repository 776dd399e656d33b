#include "row_reference.h"

#include <algorithm>
#include <cctype>
#include <compare>
#include <sstream>

#include "contents.h"
#include "row_folds.h"

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
  const auto column = column_of(job, part);
  if (!column) return std::nullopt;
  key.column = *column;
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

// Digits, with a sign and a decimal point if need be.
bool is_number(const std::string& field) {
  const std::size_t sign = field.starts_with('-') || field.starts_with('+') ? 1 : 0;
  const std::size_t after = field.find_first_not_of("0123456789.", sign);
  const auto points = std::ranges::count(field, '.');
  return after == std::string::npos && points <= 1 &&
         field.size() > sign + static_cast<std::size_t>(points);
}

// Where a field is among others: fields without a value are in front of those with one, or behind.
enum class Place { empty_first, value, empty_last };

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
  bool keeps_malformed;

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
    const RowKey empty{empty_last ? Place::empty_last : Place::empty_first, 0, ""};
    if (field.empty()) return empty;
    if (!key.is_number) return RowKey{Place::value, 0, field};
    if (is_number(field)) return RowKey{Place::value, hundredths(field), ""};
    return keeps_malformed ? std::optional(empty) : std::nullopt;
  }
};

bool has_known_options(const Job& job) {
  return has_only(job.options, {"--record",     "--key",
                                "--reverse",    "--unique",
                                "--header",     "--merge",
                                "--skip",       "--limit",
                                "--stable",     "--empty",
                                "--malformed",  "--all",
                                "--count",      "--sum",
                                "--mean",       "--min",
                                "--max",        "--first",
                                "--last",       "--collect",
                                "--keep-order", "--field-separator",
                                "--files0-from"});
}

// The keys of the job. Sets without one compare the contents of all fields.
std::optional<Order> order_of(const Job& job) {
  Order order{.keys = {},
              .empty_last = value_of(job.options, "--empty") == "last",
              .keeps_malformed = value_of(job.options, "--malformed") == "keep"};
  const auto malformed = value_of(job.options, "--malformed");
  if (malformed && malformed != "keep") return std::nullopt;
  for (const std::string& text : values_of(job.options, "--key")) {
    const auto key = parse_key(job, text);
    if (!key) return std::nullopt;
    order.keys.push_back(*key);
  }
  if (!order.keys.empty()) return order;
  // Inputs that come sorted are in the order of bytes.
  if (job.command != "set" || has(job.options, "--merge")) return std::nullopt;
  const bool descending = has(job.options, "--reverse");
  for (std::size_t i = 0; i < std::size(kColumns); ++i) {
    order.keys.push_back({.column = i, .descending = descending});
  }
  return order;
}

struct Rows {
  std::string header;  // that of the first input
  std::vector<std::vector<Row>> inputs;
  Order order;

  bool less(const Row& a, const Row& b) const { return order(a, b) < 0; }
};

std::string with_end(std::string_view row) {
  return std::string(row) + (row.ends_with('\n') ? "" : "\n");
}

// Nothing if there are options that are not known here, or rows that are malformed.
std::optional<Rows> read_rows(const Job& job, const std::vector<std::string_view>& inputs) {
  if (!has_known_options(job)) return std::nullopt;
  const bool splits_names = std::isalnum(static_cast<unsigned char>(separator_of(job))) != 0;
  if (splits_names && has(job.options, "--header")) return std::nullopt;
  const auto order = order_of(job);
  if (!order) return std::nullopt;
  Rows rows{.header = "", .inputs = {}, .order = *order};
  for (const std::string_view input : inputs) {
    std::vector<Row>& read = rows.inputs.emplace_back();
    std::vector<std::string_view> of_input = split_rows(input);
    if (has(job.options, "--header") && !of_input.empty()) {
      if (rows.header.empty()) rows.header = with_end(of_input.front());
      of_input.erase(of_input.begin());
    }
    for (const std::string_view bytes : of_input) {
      const std::vector<std::string> fields = fields_of(bytes, separator_of(job));
      Row& row = read.emplace_back(Row{bytes, {}});
      for (const Key& key : order->keys) {
        if (key.column >= fields.size()) return std::nullopt;
        const std::optional<RowKey> made = order->key_of(key, fields[key.column]);
        if (!made) return std::nullopt;
        row.keys.push_back(*made);
      }
    }
  }
  return rows;
}

}  // namespace

std::optional<std::size_t> column_of(const Job& job, const std::string& text) {
  if (has(job.options, "--header")) {
    const auto* const found = std::ranges::find(kColumns, text);
    if (found == std::end(kColumns)) return std::nullopt;
    return static_cast<std::size_t>(found - std::begin(kColumns));
  }
  if (text.empty() || text.find_first_not_of("123456789") != std::string::npos) return std::nullopt;
  return std::stoul(text) - 1;
}

long hundredths(const std::string& number) {
  const std::size_t point = number.find('.');
  std::string fraction = point == std::string::npos ? "" : number.substr(point + 1);
  fraction.resize(2, '0');
  const long whole = std::stol(number) * 100;
  return number.starts_with('-') ? whole - std::stol(fraction) : whole + std::stol(fraction);
}

std::vector<std::string> raw_fields_of(std::string_view row, char separator) {
  while (row.ends_with('\n') || row.ends_with('\r')) row.remove_suffix(1);
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : row) {
    if (c == '"') quoted = !quoted;
    if (c == separator && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

std::string unquoted(std::string_view field) {
  std::string value;
  bool quoted = false;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const bool doubled = quoted && field.substr(i).starts_with("\"\"");
    if (field[i] != '"' || doubled) value += field[i];
    if (doubled)
      ++i;
    else if (field[i] == '"')
      quoted = !quoted;
  }
  return value;
}

std::vector<std::string> fields_of(std::string_view row, char separator) {
  std::vector<std::string> fields = raw_fields_of(row, separator);
  for (std::string& field : fields) field = unquoted(field);
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

std::optional<RankedInputs> rank_rows(const Job& job, const std::vector<std::string_view>& inputs) {
  const std::optional<Rows> rows = read_rows(job, inputs);
  const auto folds = RowFolds::of(job, {});
  if (!rows || !folds || folds->any()) return std::nullopt;
  std::vector<Row> all;
  for (const auto& input : rows->inputs) all.insert(all.end(), input.begin(), input.end());
  const auto ranks = ranks_of(all, [&](const Row& a, const Row& b) { return rows->less(a, b); });
  RankedInputs ranked{.header = rows->header, .inputs = {}};
  for (const auto& input : rows->inputs) {
    auto& records = ranked.inputs.emplace_back();
    for (const Row& row : input) records.push_back({with_end(row.bytes), ranks.at(row)});
  }
  return ranked;
}

std::optional<std::string> row_sort_reference(const Job& job,
                                              const std::vector<std::string_view>& inputs) {
  const std::optional<Rows> rows = read_rows(job, inputs);
  if (!rows) return std::nullopt;
  std::vector<std::size_t> columns;
  for (const Key& key : rows->order.keys) columns.push_back(key.column);
  const std::optional<RowFolds> folds = RowFolds::of(job, columns);
  if (!folds) return std::nullopt;
  std::vector<Row> sorted;
  for (const auto& input : rows->inputs) sorted.insert(sorted.end(), input.begin(), input.end());
  std::ranges::stable_sort(sorted, [&](const Row& a, const Row& b) { return rows->less(a, b); });
  std::vector<std::string> result;
  for (auto from = sorted.begin(); from != sorted.end();) {
    const auto end =
        std::find_if(from, sorted.end(), [&](const Row& row) { return rows->less(*from, row); });
    std::vector<std::string_view> group;
    for (; from != end; ++from) group.push_back(from->bytes);
    if (folds->any()) {
      result.push_back(folds->folded(group));
    } else {
      if (has(job.options, "--unique")) group.resize(1);
      for (const std::string_view row : group) result.push_back(with_end(row));
    }
  }
  const std::string header =
      folds->any() && !rows->header.empty() ? folds->header(rows->header) : rows->header;
  return header + cut_records(job, result);
}

}  // namespace xxl::campaign
