#include "record/csv_spec.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "base/units.h"
#include "record/csv_rows.h"
#include "record/date_format.h"
#include "record/digits.h"
#include "record/number_format.h"

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

constexpr std::uint64_t kMostColumns = 1u << 31;
// A mistyped range is not to fill the memory.
constexpr std::size_t kMostOfRange = 10000;

struct TypeName {
  std::string_view name;
  CsvType type;
};

// The first one of each type is its usual name.
constexpr std::array<TypeName, 15> kTypeNames = {{{"text", CsvType::text},
                                                  {"number", CsvType::number},
                                                  {"integer", CsvType::integer},
                                                  {"date", CsvType::date},
                                                  {"ci", CsvType::ci},
                                                  {"natural", CsvType::natural},
                                                  {"version", CsvType::version},
                                                  {"t", CsvType::text},
                                                  {"num", CsvType::number},
                                                  {"n", CsvType::number},
                                                  {"numeric", CsvType::number},
                                                  {"float", CsvType::number},
                                                  {"int", CsvType::integer},
                                                  {"i", CsvType::integer},
                                                  {"d", CsvType::date}}};

std::optional<CsvType> type_of(std::string_view word) {
  const auto found = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                  [&](const TypeName& type) { return type.name == word; });
  if (found == kTypeNames.end()) return {};
  return found->type;
}

// Numbers of columns, as far as they matter.
std::uint64_t number_of(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char c : digits) {
    number = std::min(number * 10 + static_cast<std::uint64_t>(c - '0'), kMostColumns);
  }
  return number;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Reads the value of an option from the front: words with a ':' before each but the first; in a
// list also several of these, with commas between.
class SpecReader {
 public:
  SpecReader(std::string_view spec, std::string_view option, bool is_list)
      : rest_(spec), spec_(spec), option_(option), is_list_(is_list) {}

  [[noreturn]] void fail(const std::string& why) const { throw_bad_option(option_, spec_, why); }
  std::string_view option() const { return option_; }
  bool at_end() const { return rest_.empty(); }

  // Goes on to the next word, or item of the list.
  bool next_word() { return take(':'); }
  bool next_item() { return is_list_ && take(','); }

  Word word() {
    if (!rest_.starts_with(kQuote)) return {std::string(take_up_to(rest_.find_first_of(ends())))};
    Word word{.text = {}, .quoted = true};
    rest_.remove_prefix(1);
    while (true) {
      const std::size_t quote = rest_.find(kQuote);
      if (quote == rest_.npos) fail("the quote is not closed");
      word.text.append(rest_.substr(0, quote));
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with(kQuote)) break;
      word.text.push_back(kQuote);
      rest_.remove_prefix(1);
    }
    if (!rest_.empty() && ends().find(rest_[0]) == ends().npos)
      fail("text after the closing quote");
    if (word.text.empty()) fail("the name of the column is empty");
    return word;
  }

  // The format of `type`, if one comes next. `names`: a word in quotes is not one but a name, as is
  // one that starts with a letter.
  std::string format(CsvType type, bool names) {
    const bool is_date = type == CsvType::date;
    if (!is_date && type != CsvType::number && type != CsvType::integer) return {};
    if (!rest_.starts_with(':')) return {};
    const std::string_view text = rest_.substr(1);
    std::string format;
    if (text.starts_with(kQuote)) {
      if (names) return {};
      rest_.remove_prefix(1);
      format = word().text;
    } else {
      const std::size_t size =
          is_date ? date_format_size(text) : NumberFormat::example_at(text, is_list_, !names);
      if (size == 0) return {};
      rest_.remove_prefix(1);
      format = take_up_to(size);
    }
    check_format(format, is_date);
    return format;
  }

 private:
  std::string_view ends() const { return is_list_ ? ":," : ":"; }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view take_up_to(std::size_t end) {
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(text.size());
    return text;
  }

  std::size_t date_format_size(std::string_view text) const {
    if (!text.starts_with('%')) return 0;
    std::size_t end = 0;
    do {
      end = text.find_first_of(ends(), end + 1);
      if (end == text.npos) return text.size();
    } while (
        text.substr(std::min(text.find_first_not_of(' ', end + 1), text.size())).starts_with('%'));
    return end;
  }

  void check_format(const std::string& format, bool is_date) const {
    if (is_date) {
      if (const auto fault = DateFormat::fault_of(format)) {
        fail("the format " + in_quotes(format) + ": " + *fault);
      }
    } else if (!NumberFormat::parse(format)) {
      fail("the format " + in_quotes(format) + " is not a number, as in 1.234,56 or $1,234.56");
    }
  }

  std::string_view rest_;
  std::string_view spec_;
  std::string_view option_;
  bool is_list_;
};

CsvColumn numbered_column(const SpecReader& reader, std::string_view digits, bool from_end) {
  const std::uint64_t number = number_of(digits);
  if (number == 0) reader.fail("columns are counted from 1");
  if (number == kMostColumns) reader.fail("the number of the column is too large");
  CsvColumn column;
  (from_end ? column.from_end : column.index) = from_end ? number : number - 1;
  return column;
}

// The names in the text of a member. Those of a pointer have ~1 for a slash and ~0 for a tilde.
std::vector<std::string> path_of(const SpecReader& reader, const Word& word) {
  if (word.quoted) return {word.text};
  std::string_view rest = word.text;
  const bool is_pointer = rest.starts_with('/');
  if (is_pointer) rest.remove_prefix(1);
  const char separator = is_pointer ? '/' : '.';
  std::vector<std::string> path;
  while (true) {
    const std::size_t end = rest.find(separator);
    std::string name(rest.substr(0, end));
    if (is_pointer) {
      for (std::size_t at = 0; (at = name.find('~', at)) != name.npos; ++at) {
        const char code = at + 1 < name.size() ? name[at + 1] : ' ';
        if (code != '0' && code != '1') reader.fail("behind ~ there is a 0 or a 1");
        name.replace(at, 2, 1, code == '0' ? '~' : '/');
      }
    } else if (name.empty()) {
      reader.fail("the name of a member is empty (a name with dots goes in quotes)");
    }
    path.push_back(std::move(name));
    if (end == rest.npos) return path;
    rest.remove_prefix(end + 1);
  }
}

CsvColumn column_of(const SpecReader& reader, const Word& word, ColumnTypes types) {
  if (types == ColumnTypes::of_members) {
    if (word.text.empty()) reader.fail("it starts with the name of a member");
    CsvColumn member{.name = word.text};
    member.path = path_of(reader, word);
    return member;
  }
  const std::string_view text = word.text;
  if (text.empty()) reader.fail("it starts with a column: a number or a name");
  if (!word.quoted && is_number(text)) return numbered_column(reader, text, false);
  if (!word.quoted && text.starts_with('-') && is_number(text.substr(1))) {
    return numbered_column(reader, text.substr(1), true);
  }
  CsvColumn column;
  column.name = text;
  return column;
}

// FIRST-LAST, FIRST- (to_last of the key), or one column.
std::vector<CsvKey> columns_of(const SpecReader& reader, const Word& word, ColumnTypes types) {
  const std::string_view text = word.text;
  const std::size_t dash = text.find('-', 1);
  std::vector<CsvKey> keys;
  if (word.quoted || types == ColumnTypes::of_members || dash == text.npos ||
      !is_number(text.substr(0, dash)) ||
      (dash + 1 != text.size() && !is_number(text.substr(dash + 1)))) {
    keys.push_back({.column = column_of(reader, word, types)});
    return keys;
  }
  CsvKey key{.column = numbered_column(reader, text.substr(0, dash), false)};
  if (dash + 1 == text.size()) {
    key.to_last = true;
    keys.push_back(key);
    return keys;
  }
  const std::size_t last = numbered_column(reader, text.substr(dash + 1), false).index;
  const std::size_t distance =
      last > key.column.index ? last - key.column.index : key.column.index - last;
  if (distance >= kMostOfRange) {
    reader.fail("a range of more than " + std::to_string(kMostOfRange) + " columns");
  }
  for (;; key.column.index += last > key.column.index ? 1 : std::size_t{0} - 1) {
    keys.push_back(key);
    if (key.column.index == last) return keys;
  }
}

// The words behind a column. Two words of one kind exclude each other.
class KeyWords {
 public:
  KeyWords(SpecReader& reader, std::string_view spec, ColumnTypes types)
      : reader_(reader), spec_(spec), types_(types) {}

  void read(CsvKey& key) {
    while (reader_.next_word()) {
      const Word given = reader_.word();
      const std::string& word = given.text;
      if (given.quoted) {
        reader_.fail(in_quotes(word) + " stands where a type or an order is expected");
      } else if (word == "asc" || word == "desc") {
        set(direction_, word);
        key.descending = word == "desc";
      } else if (word == "nulls-first" || word == "nulls-last") {
        set(nulls_, word);
        key.empty_last = word == "nulls-last";
      } else if (const std::optional<CsvType> type = type_of(word)) {
        set(type_, word);
        key.type = *type;
        if (types_ != ColumnTypes::of_columns) key.format = reader_.format(*type, false);
      } else {
        throw_unknown(word);
      }
    }
    if (types_ == ColumnTypes::of_columns && !type_.empty()) {
      reader_.fail("columns of Parquet and Arrow files have types: leave out ':" + type_ + "'");
    }
  }
  bool has_direction() const { return !direction_.empty(); }

 private:
  void set(std::string& place, const std::string& word) const {
    if (place == word) reader_.fail("':" + word + "' is given twice");
    if (!place.empty()) reader_.fail("':" + place + "' and ':" + word + "' exclude each other");
    place = word;
  }

  [[noreturn]] void throw_unknown(std::string_view word) const {
    const std::string in_key = in_quotes(word) + " in " + std::string(reader_.option()) + " '" +
                               escape_controls(spec_) + "': use ";
    if (types_ == ColumnTypes::of_columns) {
      throw Error(ErrorCode::usage,
                  "unknown word " + in_key + "asc, desc, nulls-first or nulls-last");
    }
    throw Error(ErrorCode::usage, "unknown type or order " + in_key +
                                      "text, number, integer, date, ci, natural, version, asc or "
                                      "desc (a name with a ':' goes in quotes, as in "
                                      "'\"a:b\":number')");
  }

  SpecReader& reader_;
  std::string_view spec_;
  ColumnTypes types_;
  std::string direction_;
  std::string nulls_;
  std::string type_;
};

void append_keys(std::string_view option, std::string_view spec, bool descending, ColumnTypes types,
                 std::vector<CsvKey>& all) {
  SpecReader reader(spec, option, true);
  do {
    std::vector<CsvKey> keys = columns_of(reader, reader.word(), types);
    KeyWords words(reader, spec, types);
    CsvKey said;
    if (types == ColumnTypes::of_members) said.type = CsvType::value;
    words.read(said);
    for (CsvKey& key : keys) {
      key.type = said.type;
      key.format = said.format;
      key.descending = words.has_direction() ? said.descending : descending;
      key.empty_last = said.empty_last;
      all.push_back(std::move(key));
    }
  } while (reader.next_item());
  XXL_CHECK(reader.at_end());
}

}  // namespace

std::string_view type_word(CsvType type) {
  if (type == CsvType::value) return "value";
  return std::ranges::find(kTypeNames, type, &TypeName::type)->name;
}

std::optional<MalformedRows> malformed_rows_named(std::string_view word) {
  if (word.empty()) return MalformedRows::by_default;
  if (word == "error") return MalformedRows::error;
  if (word == "skip") return MalformedRows::skip;
  if (word == "keep") return MalformedRows::keep;
  return {};
}

CsvColumn parse_csv_column(std::string_view spec, std::string_view option) {
  SpecReader reader(spec, option, false);
  CsvColumn column = column_of(reader, reader.word(), ColumnTypes::of_keys);
  if (!reader.at_end()) reader.fail(kNameWithColon);
  return column;
}

std::vector<CsvKey> parse_csv_keys(std::span<const std::string> specs, bool descending,
                                   ColumnTypes types) {
  std::vector<CsvKey> keys;
  for (const std::string& spec : specs) append_keys("--key", spec, descending, types, keys);
  return keys;
}

CsvKey parse_csv_key(std::string_view spec, bool descending, ColumnTypes types) {
  std::vector<CsvKey> keys;
  append_keys("--part-by", spec, descending, types, keys);
  if (keys.size() != 1 || keys.front().to_last) {
    throw_bad_option("--part-by", spec, "more than one column, where one is needed");
  }
  return keys.front();
}

CsvFold parse_csv_fold(FoldKind kind, std::string_view spec, ColumnTypes types) {
  const std::string option = "--" + std::string(name_of(kind));
  SpecReader reader(spec, option, false);
  CsvFold fold;
  fold.kind = kind;
  if (kind == FoldKind::count) {  // whatever is in the first column
    if (!spec.empty()) reader.fail("it counts rows, not a column");
    fold.column.index = 0;
    fold.name = kCountColumn;
    return fold;
  }
  fold.column = column_of(reader, reader.word(), types);
  const bool is_extreme = kind == FoldKind::min || kind == FoldKind::max;
  const bool has_type = is_extreme || kind == FoldKind::count_distinct;
  if (is_extreme || is_of_sum(kind)) fold.type = CsvType::number;
  const bool is_of_any = kind == FoldKind::count_distinct || kind == FoldKind::collect;
  if (types == ColumnTypes::of_members && is_of_any) fold.type = CsvType::value;
  bool may_be_type = true;
  while (reader.next_word()) {
    const auto [word, quoted] = reader.word();
    const std::optional<CsvType> type = quoted ? std::nullopt : type_of(word);
    if (type && may_be_type) {
      const bool is_numeric = *type == CsvType::number || *type == CsvType::integer;
      if (!has_type && !(is_of_sum(kind) && is_numeric)) {
        reader.fail((is_of_sum(kind) ? "it takes numbers only" : "it takes no type") +
                    std::string("; a name like that goes in quotes, as in 'a:\"") + word + "\"'");
      }
      fold.type = *type;
      fold.format = reader.format(*type, true);
      may_be_type = false;
      continue;
    }
    if (word.empty()) reader.fail("the name of the new column is empty");
    if (!reader.at_end()) reader.fail(kNameWithColon);
    fold.name = word;
  }
  return fold;
}

}  // namespace xxl
