#include "record/csv_order.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "base/units.h"
#include "record/csv_rows.h"

namespace xxl {
namespace {

bool is_by_name(const CsvColumn& column) {
  return column.index == CsvColumn::kByName;
}

[[noreturn]] void throw_no_column(const std::string& number, std::size_t columns,
                                  std::string_view path) {
  throw Error(ErrorCode::usage,
              "there is no column " + number + ": there are " + format_count(columns, "column"),
              std::string(path));
}

// A column that is counted from the last one.
void resolve_place(CsvColumn& column, std::size_t columns, std::string_view path) {
  if (column.from_end == 0) return;
  if (column.from_end > columns) {
    throw_no_column("-" + std::to_string(column.from_end), columns, path);
  }
  column.index = columns - column.from_end;
}

}  // namespace

std::vector<CsvKey> resolve_places(const std::vector<CsvKey>& keys, std::size_t columns,
                                   std::string_view path) {
  std::vector<CsvKey> resolved;
  for (CsvKey key : keys) {
    resolve_place(key.column, columns, path);
    if (!key.to_last) {
      resolved.push_back(std::move(key));
      continue;
    }
    key.to_last = false;
    if (key.column.index >= columns)
      throw_no_column(std::to_string(key.column.index + 1), columns, path);
    for (; key.column.index < columns; ++key.column.index) resolved.push_back(key);
  }
  return resolved;
}

const CsvColumn* first_named(const CsvOrder& order) {
  for (const CsvKey& key : order.keys) {
    if (is_by_name(key.column) || key.to_last) return &key.column;
  }
  for (const CsvFold& fold : order.folds) {
    if (is_by_name(fold.column)) return &fold.column;
  }
  return nullptr;
}

namespace {

// What may be meant by the name of a column that is not one of `names`.
std::string advice_on_missing(const std::vector<std::string>& names) {
  if (names.front().starts_with('#')) return ": is it a comment? Add --comment='#'";
  if (names.size() == 1) {
    for (const char separator : {';', '\t', '|', ','}) {
      if (names.front().find(separator) == std::string::npos) continue;
      return separator == '\t' ? ": for tabs between columns use --tsv"
                               : ": is '" + std::string(1, separator) +
                                     "' the separator? Add -t '" + separator + "'";
    }
  }
  return "";
}

}  // namespace

void resolve_columns(CsvOrder& order, std::string_view header, std::string_view path) {
  RowFields fields;
  fields.parse(names_row(header, order.fields), order.fields);
  if (fields.fault()) {
    throw Error(ErrorCode::bad_input, "the header is malformed: " + fields.fault().describe(), path,
                0);
  }
  order.header_columns = fields.size();
  std::vector<std::string> names(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].append_value(names[i]);
  const auto resolve = [&](CsvColumn& column) {
    resolve_place(column, names.size(), path);
    if (!is_by_name(column)) return;
    const auto found = std::find(names.begin(), names.end(), column.name);
    if (found == names.end()) {
      std::string all;
      for (const std::string& name : names) {
        if (all.size() > 200) {
          all += ", ...";
          break;
        }
        all += (all.empty() ? "" : ", ") + in_quotes(name);
      }
      throw Error(ErrorCode::usage,
                  "the header has no column " + in_quotes(column.name) + ", only " + all +
                      advice_on_missing(names),
                  path);
    }
    if (std::find(found + 1, names.end(), column.name) != names.end()) {
      throw Error(ErrorCode::usage,
                  "the header has more than one column " + in_quotes(column.name) +
                      ": give its number instead",
                  path);
    }
    column.index = static_cast<std::size_t>(found - names.begin());
  };
  order.keys = resolve_places(order.keys, names.size(), path);
  for (CsvKey& key : order.keys) resolve(key.column);
  for (CsvFold& fold : order.folds) resolve(fold.column);
  if (order.group) return;
  for (const CsvFold& fold : order.folds) {
    if (fold.name.empty()) continue;
    if (std::find(names.begin(), names.end(), fold.name) != names.end()) {
      throw Error(ErrorCode::usage,
                  "there is a column " + in_quotes(fold.name) + " already: give that of --" +
                      std::string(name_of(fold.kind)) + " another name",
                  path);
    }
    names.push_back(fold.name);
  }
  if (order.count && std::find(names.begin(), names.end(), kCountColumn) != names.end()) {
    throw Error(ErrorCode::usage,
                "there is a column " + in_quotes(kCountColumn) +
                    " already, the name of the column that --count makes: rename it in the input",
                path);
  }
}

void number_members(CsvOrder& order) {
  std::vector<std::vector<std::string>> known;
  const auto number = [&known](CsvColumn& column) {
    auto found = std::find(known.begin(), known.end(), column.path);
    if (found == known.end()) found = known.insert(found, column.path);
    column.index = static_cast<std::size_t>(found - known.begin());
  };
  for (CsvKey& key : order.keys) number(key.column);
  for (CsvFold& fold : order.folds) number(fold.column);
}

void check_folds(const CsvOrder& order) {
  for (auto fold = order.folds.begin(); fold != order.folds.end(); ++fold) {
    const auto other = std::find_if(order.folds.begin(), fold, [&](const CsvFold& before) {
      return before.name.empty() && fold->name.empty() && before.column.index == fold->column.index;
    });
    if (other == fold) continue;
    throw Error(ErrorCode::usage, "--" + std::string(name_of(other->kind)) + " and --" +
                                      std::string(name_of(fold->kind)) +
                                      " both take the place of " + in_words(fold->column) +
                                      ": give one a name, as in COLUMN:NAME");
  }
}

void check_folds_keep_key(const CsvOrder& order) {
  const auto is_of_key = [&](const CsvColumn& column) {
    const auto names_it = [&](const CsvKey& key) { return key.column.index == column.index; };
    return order.keys.empty() || std::any_of(order.keys.begin(), order.keys.end(), names_it);
  };
  for (const CsvFold& fold : order.folds) {
    // The others leave the value of one of the rows, whose keys are equal.
    const bool makes_value = is_of_sum(fold.kind) || fold.kind == FoldKind::collect;
    if (!makes_value || !fold.name.empty() || !is_of_key(fold.column)) continue;
    throw Error(ErrorCode::usage, "--" + std::string(name_of(fold.kind)) + " would change " +
                                      in_words(fold.column) + ", which rows are sorted by" +
                                      (order.keys.empty() ? " without --key" : "") +
                                      ": make it a new column, as in COLUMN:NAME");
  }
}

std::vector<CsvKey> keys_within_groups(const CsvOrder& order) {
  const CsvFold* first = nullptr;
  std::optional<CsvKey> values;  // that texts stand for: equal texts are equal values
  bool is_text = false;
  const auto refuse = [](const CsvFold& a, const CsvFold& b) {
    throw Error(ErrorCode::usage, "--" + std::string(name_of(a.kind)) + " of " +
                                      in_words(a.column) + " and --" +
                                      std::string(name_of(b.kind)) + " of " + in_words(b.column) +
                                      " need different orders: ask for one at a time");
  };
  for (const CsvFold& fold : order.folds) {
    if (!needs_order_of_values(fold.kind)) continue;
    if (first != nullptr && first->column.index != fold.column.index) refuse(*first, fold);
    if (fold.type == CsvType::text) {
      is_text = true;
    } else {
      const CsvType type = fold.type == CsvType::integer ? CsvType::number : fold.type;
      CsvKey key{.column = fold.column, .type = type, .format = fold.format};
      if (values && *values != key) refuse(*first, fold);
      values = std::move(key);
    }
    first = &fold;
  }
  if (first == nullptr) return {};
  for (const CsvFold& fold : order.folds) {
    if (!needs_order_of_input(fold.kind)) continue;
    throw Error(ErrorCode::usage, "--" + std::string(name_of(fold.kind)) +
                                      " needs rows in the order of the input, --" +
                                      std::string(name_of(first->kind)) +
                                      " in that of its column: ask for one at a time");
  }
  std::vector<CsvKey> keys;
  if (values) keys.push_back(*values);
  if (is_text) keys.push_back({.column = first->column});
  return keys;
}

std::vector<std::string> names_of_groups(const CsvOrder& order, std::string_view header) {
  RowFields fields;
  if (!order.fields.json) fields.parse(names_row(header, order.fields), order.fields);
  const auto name_at = [&](const CsvColumn& column) {
    if (order.fields.json) return column.name;
    std::string name;
    if (column.index < fields.size()) fields[column.index].append_value(name);
    return name;
  };
  std::vector<std::string> names;
  for (const CsvKey& key : order.keys) names.push_back(name_at(key.column));
  for (const CsvFold& fold : order.folds) {
    std::string name = fold.name;
    if (name.empty()) {
      const bool is_distinct = fold.kind == FoldKind::count_distinct;
      name = (is_distinct ? "count(distinct " : std::string(name_of(fold.kind)) + "(") +
             name_at(fold.column) + ")";
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw Error(
          ErrorCode::usage,
          "two columns of the output would be called " + in_quotes(name) + ": " +
              (fold.kind == FoldKind::count ? "give the other one another name"
                                            : "give that of --" + std::string(name_of(fold.kind)) +
                                                  " another name, as in COLUMN:NAME"));
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::string in_quotes(std::string_view value) {
  constexpr std::size_t kShown = 40;
  const auto is_within_character = [&](std::size_t at) { return (value[at] & 0xc0) == 0x80; };
  std::size_t shown = std::min(kShown, value.size());
  while (shown < value.size() && shown + 3 > kShown && is_within_character(shown)) --shown;
  return "'" + escape_controls(value.substr(0, shown)) + (shown < value.size() ? "...'" : "'");
}

std::string in_words(const CsvColumn& column) {
  if (!column.path.empty()) return "member " + escape_controls(column.name);
  std::string text = "column " + std::to_string(column.index + 1);
  if (!column.name.empty()) text += " (" + escape_controls(column.name) + ")";
  return text;
}

}  // namespace xxl
