#include "cli/option_scope.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace xxl::cli {
namespace {

// Options of rows that say how their fields are told apart.
constexpr std::string_view kOfFields[] = {"header", "no-header", "field-separator",
                                          "quote",  "escape",    "comment"};

std::string switch_name(const OptionSpec& option) {
  return option.long_name.empty() ? option.key() : "--" + std::string(option.long_name);
}

// What to give in place of an option of sort(1) that says how keys compare; null for others.
const char* line_order_word(std::string_view option) {
  if (option == "--numeric-sort" || option == "--general-numeric-sort") {
    return ": give the column a type, as in --key=COLUMN:number";
  }
  if (option == "--ignore-case") return ": give the column a type, as in --key=COLUMN:ci";
  if (option == "--version-sort") return ": give the column a type, as in --key=COLUMN:version";
  const bool is_order = option == "--human-numeric-sort" || option == "--month-sort" ||
                        option == "--dictionary-order" || option == "--sort";
  return is_order ? ": columns are compared as their type says (--key=COLUMN:TYPE)" : nullptr;
}

}  // namespace

const ScopeText& text_of(Scope scope) {
  static constexpr ScopeText kTexts[] = {
      {Scope::all, "all records", ""},
      {Scope::records, "text and binary records", "Not for columns."},
      {Scope::text, "text", "Lines and rows only."},
      {Scope::lines, "lines", "Lines only."},
      {Scope::rows, "rows of CSV and TSV", "Rows only."},
      {Scope::binary, "binary records", "Binary records only."},
      {Scope::fields, "rows of CSV and TSV and binary records", "Rows and binary records only."},
      {Scope::tables, "rows of CSV and TSV and columns", "Rows and columns only."},
      {Scope::columns, "columns", "Columns only."},
  };
  return *std::ranges::find(kTexts, scope, &ScopeText::scope);
}

Scope records_of_format(std::string_view format) {
  if (format == "parquet" || format == "arrow") return Scope::columns;
  return scope_of(text_kind(std::string(format)));
}

std::string details_of(const OptionSpec& option) {
  std::string details(text_of(option.scope).in_manual);
  if (!details.empty() && !option.details.empty()) details.push_back(' ');
  details.append(option.details);
  return details;
}

Scope scope_of(TextKind kind) {
  return kind == TextKind::lines  ? Scope::lines
         : kind == TextKind::rows ? Scope::rows
                                  : Scope::binary;
}

bool is_obsolescent_key(const Argument& argument) {
  return argument.string_key == "key" && argument.original_tokens.front().starts_with('+');
}

bool is_of_fields(const OptionSpec& option) {
  return std::ranges::find(kOfFields, option.long_name) != std::end(kOfFields);
}

void refuse_options_of_others(const ParsedOptions& options, Scope scope) {
  const auto refuse = [&](const std::string& what, Scope whose) {
    const std::string record = options.value("format", "lines");
    const bool of_columns = overlap(scope, Scope::rows);
    const bool is_for_rows = overlap(whose, Scope::rows) && !overlap(whose, Scope::lines);
    const bool is_order = whose == Scope::lines && line_order_word(what) != nullptr;
    throw_usage(options.command(),
                what + " is for " + std::string(text_of(whose).in_message) +
                    " only, not for --format=" + record +
                    (of_columns && is_order             ? line_order_word(what)
                     : record == "lines" && is_for_rows ? ": for a CSV file add --csv"
                                                        : ""));
  };
  for (const OptionSpec& option : options.command().options) {
    if (!options.has(option.key())) continue;
    if (!overlap(option.scope, scope)) refuse(switch_name(option), option.scope);
    if (!is_of_fields(option) || !is_json(options.value("format", "lines"))) continue;
    throw_usage(options.command(),
                switch_name(option) + " is for rows of CSV and TSV only, not for JSON lines");
  }
  for (const Argument& argument : options.arguments()) {
    if (is_obsolescent_key(argument) && scope != Scope::lines) {
      refuse("key " + argument.value.front(), Scope::lines);
    }
  }
}

}  // namespace xxl::cli
