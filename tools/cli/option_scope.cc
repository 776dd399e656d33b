#include "cli/option_scope.h"

#include <string>
#include <string_view>

namespace xxl::cli {
namespace {

std::string switch_name(const OptionSpec& option) {
  return option.long_name.empty() ? option.key() : "--" + std::string(option.long_name);
}

bool is_for(const OptionSpec& option, Scope scope) {
  switch (option.scope) {
    case Scope::all:
      return true;
    case Scope::records:
      return scope != Scope::columns;
    case Scope::text:
      return scope == Scope::lines || scope == Scope::rows;
    case Scope::lines:
    case Scope::rows:
    case Scope::columns:
      break;
    case Scope::binary:
      return scope == Scope::all;
    case Scope::fields:
      return scope == Scope::rows || scope == Scope::all;
    case Scope::tables:
      return scope == Scope::rows || scope == Scope::columns;
  }
  return option.scope == scope;
}

std::string_view scope_text(Scope scope) {
  switch (scope) {
    case Scope::all:
      break;
    case Scope::records:
      return "text and binary records";
    case Scope::text:
      return "text";
    case Scope::lines:
      return "lines";
    case Scope::rows:
      return "rows of CSV and TSV";
    case Scope::binary:
      return "binary records";
    case Scope::fields:
      return "rows of CSV and TSV and binary records";
    case Scope::tables:
      return "rows of CSV and TSV and columns";
    case Scope::columns:
      return "columns";
  }
  return "all records";
}

// What to give in place of an option of sort(1) that says how keys compare; null for others.
const char* line_order_word(std::string_view option) {
  if (option == "--numeric-sort" || option == "--general-numeric-sort") {
    return ": give the column a type, as in --key=COLUMN:number";
  }
  const bool is_order = option == "--ignore-case" || option == "--version-sort" ||
                        option == "--human-numeric-sort" || option == "--month-sort" ||
                        option == "--dictionary-order" || option == "--sort";
  return is_order ? ": columns are compared as text, number, integer or date (--key=COLUMN:TYPE)"
                  : nullptr;
}

bool is_for_rows(Scope scope) {
  return scope == Scope::rows || scope == Scope::fields || scope == Scope::tables;
}

}  // namespace

bool is_obsolescent_key(const Argument& argument) {
  return argument.string_key == "key" && argument.original_tokens.front().starts_with('+');
}

void refuse_options_of_others(const ParsedOptions& options, Scope scope) {
  const auto refuse = [&](const std::string& what, Scope whose) {
    const std::string record = options.value("record", "lines");
    const bool of_columns = scope == Scope::rows || scope == Scope::columns;
    const bool is_order = whose == Scope::lines && line_order_word(what) != nullptr;
    throw_usage(options.command(),
                what + " is for " + std::string(scope_text(whose)) +
                    " only, not for --record=" + record +
                    (of_columns && is_order                    ? line_order_word(what)
                     : record == "lines" && is_for_rows(whose) ? ": for a CSV file add --record=csv"
                                                               : ""));
  };
  for (const OptionSpec& option : options.command().options) {
    if (options.has(option.key()) && !is_for(option, scope)) {
      refuse(switch_name(option), option.scope);
    }
  }
  for (const Argument& argument : options.arguments()) {
    if (is_obsolescent_key(argument) && scope != Scope::lines) {
      refuse("key " + argument.value.front(), Scope::lines);
    }
  }
}

}  // namespace xxl::cli
