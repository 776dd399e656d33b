#include "record/csv_order.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/error.h"
#include "base/quote.h"
#include "record/csv_rows.h"
#include "record/digits.h"

namespace xxl {
namespace {

constexpr const char* kNameWithColon = "a name with a ':' goes in quotes, as in '\"a:b\"'";

[[noreturn]] void throw_bad_option(std::string_view option, std::string_view spec,
                                   const std::string& why) {
  throw Error(ErrorCode::usage,
              "invalid " + std::string(option) + " '" + std::string(spec) + "': " + why);
}

struct Word {
  std::string text;
  bool quoted = false;
};

// Takes a word off the front of `rest`; what is left starts with a ':' or is empty.
Word take_word(std::string_view& rest, std::string_view spec, std::string_view option) {
  if (!rest.starts_with(kQuote)) {
    const std::string_view text = rest.substr(0, rest.find(':'));
    rest.remove_prefix(text.size());
    return {std::string(text)};
  }
  Word word{.text = {}, .quoted = true};
  rest.remove_prefix(1);
  while (true) {
    const std::size_t quote = rest.find(kQuote);
    if (quote == rest.npos) throw_bad_option(option, spec, "the quote is not closed");
    word.text.append(rest.substr(0, quote));
    rest.remove_prefix(quote + 1);
    if (!rest.starts_with(kQuote)) break;
    word.text.push_back(kQuote);
    rest.remove_prefix(1);
  }
  if (!rest.empty() && rest[0] != ':') {
    throw_bad_option(option, spec, "text after the closing quote");
  }
  if (word.text.empty()) throw_bad_option(option, spec, "the name of the column is empty");
  return word;
}

CsvColumn take_column(std::string_view& rest, std::string_view spec, std::string_view option) {
  const auto [text, quoted] = take_word(rest, spec, option);
  if (text.empty()) throw_bad_option(option, spec, "it starts with a column: a number or a name");
  CsvColumn column;
  if (quoted || !std::all_of(text.begin(), text.end(), is_digit)) {
    column.name = text;
    return column;
  }
  std::uint64_t number = 0;
  for (const char c : text) {
    number = std::min<std::uint64_t>(number * 10 + static_cast<std::uint64_t>(c - '0'), 1u << 31);
  }
  if (number == 0) throw_bad_option(option, spec, "columns are counted from 1");
  if (number == 1u << 31) throw_bad_option(option, spec, "the number of the column is too large");
  column.index = number - 1;
  return column;
}

// In the order of CsvType.
constexpr std::array<std::string_view, 4> kTypeWords = {"text", "number", "integer", "date"};

std::optional<CsvType> type_of(std::string_view word) {
  const auto found = std::find(kTypeWords.begin(), kTypeWords.end(), word);
  if (found == kTypeWords.end()) return {};
  return static_cast<CsvType>(found - kTypeWords.begin());
}

bool is_by_name(const CsvColumn& column) {
  return column.index == CsvColumn::kByName;
}

}  // namespace

std::string_view type_word(CsvType type) {
  return kTypeWords[static_cast<std::size_t>(type)];
}

std::optional<InvalidKeys> invalid_keys_named(std::string_view word) {
  if (word == "error") return InvalidKeys::error;
  if (word == "first") return InvalidKeys::first;
  if (word == "last") return InvalidKeys::last;
  return {};
}

CsvColumn parse_csv_column(std::string_view spec, std::string_view option) {
  std::string_view rest = spec;
  CsvColumn column = take_column(rest, spec, option);
  if (!rest.empty()) throw_bad_option(option, spec, kNameWithColon);
  return column;
}

CsvKey parse_csv_key(std::string_view spec, bool descending) {
  std::string_view rest = spec;
  CsvKey key;
  key.column = take_column(rest, spec, "--key");
  bool has_type = false;
  bool has_direction = false;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(word.size());
    const bool is_direction = word == "asc" || word == "desc";
    if (is_direction) {
      if (has_direction) throw_bad_option("--key", spec, "more than one direction");
      has_direction = true;
      key.descending = word == "desc";
      continue;
    }
    const std::optional<CsvType> type = type_of(word);
    if (!type) {
      throw_bad_option("--key", spec,
                       "unknown type " + in_quotes(word) +
                           ", use text, number, integer or date, and asc or desc (a name with a "
                           "':' goes in quotes, as in '\"a:b\":number')");
    }
    if (has_type) throw_bad_option("--key", spec, "more than one type");
    has_type = true;
    key.type = *type;
  }
  if (!has_direction) key.descending = descending;
  return key;
}

CsvFold parse_csv_fold(FoldKind kind, std::string_view spec) {
  const std::string option = "--" + std::string(name_of(kind));
  std::string_view rest = spec;
  CsvFold fold;
  fold.kind = kind;
  fold.column = take_column(rest, spec, option);
  const bool has_type = kind == FoldKind::min || kind == FoldKind::max;
  if (has_type || is_of_sum(kind)) fold.type = CsvType::number;
  bool may_be_type = true;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const auto [word, quoted] = take_word(rest, spec, option);
    const std::optional<CsvType> type = quoted ? std::nullopt : type_of(word);
    if (type && may_be_type) {
      if (!has_type) {
        throw_bad_option(option, spec,
                         "only --min and --max take a type; a name like that goes in quotes, as in "
                         "'a:\"" +
                             word + "\"'");
      }
      fold.type = *type;
      may_be_type = false;
      continue;
    }
    if (word.empty()) throw_bad_option(option, spec, "the name of the new column is empty");
    if (!rest.empty()) throw_bad_option(option, spec, kNameWithColon);
    fold.name = word;
  }
  return fold;
}

const CsvColumn* first_named(const CsvOrder& order) {
  for (const CsvKey& key : order.keys) {
    if (is_by_name(key.column)) return &key.column;
  }
  for (const CsvFold& fold : order.folds) {
    if (is_by_name(fold.column)) return &fold.column;
  }
  return nullptr;
}

namespace {

// What may be meant by the name of a column that is not one of `names`.
std::string advice_on_missing(std::string_view name, const std::vector<std::string>& names) {
  if (names.size() == 1) {
    for (const char separator : {';', '\t', '|', ','}) {
      if (names.front().find(separator) == std::string::npos) continue;
      return separator == '\t' ? ": for tabs between columns use --record=tsv"
                               : ": is '" + std::string(1, separator) +
                                     "' the separator? Add -t '" + separator + "'";
    }
  }
  if (name.find(',') == name.npos) return "";
  return ": give each column a --key of its own (columns have no ranges: --key=2 is column 2)";
}

}  // namespace

void resolve_columns(CsvOrder& order, std::string_view header, std::string_view path) {
  RowFields fields;
  fields.parse(without_byte_order_mark(header), order.fields);
  if (fields.fault()) {
    throw Error(ErrorCode::bad_input, "malformed header: " + fields.fault().describe(), path);
  }
  order.header_columns = fields.size();
  std::vector<std::string> names(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].append_value(names[i]);
  const auto resolve = [&](CsvColumn& column) {
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
                      advice_on_missing(column.name, names),
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
  for (CsvKey& key : order.keys) resolve(key.column);
  for (CsvFold& fold : order.folds) resolve(fold.column);
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

std::string in_quotes(std::string_view value) {
  constexpr std::size_t kShown = 40;
  const auto is_within_character = [&](std::size_t at) { return (value[at] & 0xc0) == 0x80; };
  std::size_t shown = std::min(kShown, value.size());
  while (shown < value.size() && shown + 3 > kShown && is_within_character(shown)) --shown;
  return "'" + escape_controls(value.substr(0, shown)) + (shown < value.size() ? "...'" : "'");
}

std::string in_words(const CsvColumn& column) {
  std::string text = "column " + std::to_string(column.index + 1);
  if (!column.name.empty()) text += " (" + escape_controls(column.name) + ")";
  return text;
}

}  // namespace xxl
