#include "report/key_words.h"

#include "base/quote.h"
#include "job/files/text_kind.h"
#include "record/csv_spec.h"
#include "record/line_order.h"
#include "record/record_format.h"

namespace xxl::cli {
namespace {

constexpr const char* kCsvTypes[] = {"text",    "number",           "whole number",
                                     "date",    "text of any case", "text with numbers in it",
                                     "version", "as JSON says"};
constexpr const char* kKeyTypes[] = {"u8",  "u16", "u32", "u64", "i8",   "i16",
                                     "i32", "i64", "f32", "f64", "bytes"};

std::string column_words(const CsvColumn& column) {
  if (column.from_end != 0) return "column " + std::to_string(column.from_end) + " from the end";
  if (column.path.empty() && column.name.empty()) {
    return "column " + std::to_string(column.index + 1);
  }
  std::string name = column.name;
  if (!column.path.empty()) {
    name.clear();
    for (const std::string& part : column.path) name.append(name.empty() ? "" : ".").append(part);
  }
  return (column.path.empty() ? "column " : "member ") + quote_name_always(name);
}

std::string csv_key_words(const CsvKey& key, bool empty_last) {
  std::string text = column_words(key.column);
  if (key.to_last) text += " and all after it";
  text.append(", ").append(kCsvTypes[static_cast<std::size_t>(key.type)]);
  if (!key.format.empty()) text += " written as " + quote_name_always(key.format);
  text += key.descending ? ", descending" : ", ascending";
  return text + (key.empty_last.value_or(empty_last) ? ", empty last" : ", empty first");
}

std::string place_words(std::size_t field, std::size_t character) {
  return "field " + std::to_string(field + 1) +
         (character != 0 ? " character " + std::to_string(character) : "");
}

std::string flag_words(const LineKeyFlags& flags) {
  std::string text = flags.numeric           ? "number"
                     : flags.general_numeric ? "floating-point number"
                     : flags.human_numeric   ? "size such as 2K"
                     : flags.month           ? "name of a month"
                     : flags.version         ? "version"
                     : flags.random          ? "at random"
                                             : "text";
  if (flags.fold) text += " of any case";
  if (flags.dictionary) text += ", blanks, letters and digits only";
  if (flags.printing && !flags.dictionary) text += ", printable characters only";
  return text + (flags.reverse ? ", descending" : ", ascending");
}

std::string line_key_words(const LineKeyField& key, const LineKeyFlags& all) {
  const LineKeyFlags& flags = key.flags == LineKeyFlags{} ? all : key.flags;
  const bool is_field =
      key.start_char == 0 && key.end_field == key.start_field && key.end_char == 0;
  std::string text = place_words(key.start_field, key.start_char != 0 ? key.start_char + 1 : 0);
  if (key.end_field == LineKeyField::kLineEnd) {
    text += " to the end of the line";
  } else if (!is_field) {
    text += " to " + place_words(key.end_field, key.end_char);
  }
  return text + ", " + flag_words(flags);
}

std::string field_words(const KeyField& key) {
  const std::size_t last = key.offset + key.length - 1;
  return (key.length == 1 ? "byte " : "bytes " + std::to_string(key.offset) + " to ") +
         std::to_string(last) + ", " + kKeyTypes[static_cast<std::size_t>(key.type)] +
         (key.big_endian && key.length > 1 ? " big-endian" : "") +
         (key.descending ? ", descending" : ", ascending");
}

}  // namespace

std::vector<std::string> key_words(const SortSpec& spec) {
  std::vector<std::string> words;
  const TextKind kind = text_kind(spec.format);
  if (spec.shuffle_seed) return words;
  if (kind == TextKind::none) {
    for (const KeyField& key : format_of(spec).key) words.push_back(field_words(key));
    if (!spec.part_by.empty()) words.front().insert(0, "parts by ");
  } else if (kind == TextKind::rows) {
    const FieldSyntax fields = fields_of_rows(spec.format, spec);
    const ColumnTypes types = column_types(fields);
    for (const CsvKey& key : parse_csv_keys(spec.per, false, types)) {
      words.push_back("groups by " + csv_key_words(key, spec.empty_last));
    }
    std::vector<CsvKey> keys = parse_csv_keys(spec.keys, spec.reverse, types);
    if (!spec.part_by.empty()) {
      const CsvKey key = parse_csv_key(spec.part_by, spec.reverse, types);
      if (!keys.empty() && keys.front() == key) keys.erase(keys.begin());
      words.push_back("parts by " + csv_key_words(key, spec.empty_last));
    }
    for (const CsvKey& key : keys) words.push_back(csv_key_words(key, spec.empty_last));
    if (words.empty() && !spec.group) {
      words.push_back(std::string("the whole row, column by column as text, ") +
                      (spec.reverse ? "descending" : "ascending"));
    }
  } else if (spec.line_order) {
    if (const std::string& by = spec.part_by; !by.empty()) {
      words.push_back("parts by " +
                      line_key_words(parse_line_key(by + "," + by), spec.line_order->flags));
    }
    for (const LineKeyField& key : spec.line_order->fields) {
      words.push_back(line_key_words(key, spec.line_order->flags));
    }
    if (words.empty()) words.push_back("the whole line, " + flag_words(spec.line_order->flags));
  }
  return words;
}

}  // namespace xxl::cli
