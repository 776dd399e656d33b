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

}  // namespace

bool is_obsolescent_key(const Argument& argument) {
  return argument.string_key == "key" && argument.original_tokens.front().starts_with('+');
}

void refuse_options_of_others(const ParsedOptions& options, Scope scope) {
  const auto refuse = [&](const std::string& what, Scope whose) {
    throw_usage(options.command(),
                what + " is for " + std::string(scope_text(whose)) +
                    " only, not for --record=" + options.value("record", "lines"));
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
