#include "cli/input_format.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "cli/option_scope.h"
#include "job/files/text_kind.h"
#include "record/line_order.h"

namespace xxl::cli {
namespace {

constexpr std::pair<std::string_view, std::string_view> kSuffixes[] = {
    {".csv", "csv"},      {".tsv", "tsv"},         {".tab", "tsv"},    {".jsonl", "jsonl"},
    {".ndjson", "jsonl"}, {".parquet", "parquet"}, {".pq", "parquet"}, {".arrow", "arrow"},
    {".arrows", "arrow"}, {".feather", "arrow"},   {".ipc", "arrow"}};
constexpr std::string_view kCompressed[] = {".gz", ".bgz", ".zst", ".lz4", ".bz2", ".xz"};

bool is_columnar(std::string_view format) {
  return format == "parquet" || format == "arrow";
}

// What the first bytes of a regular file say.
std::string_view format_of_content(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};  // a pipe is read once
  std::array<char, 6> start{};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  const std::string_view magic(start.data(), start.size());
  if (magic.starts_with("PAR1")) return "parquet";
  return magic == "ARROW1" ? "arrow" : std::string_view();
}

// The first file of a directory, by its name, that is not hidden or about the others.
std::string first_file(const std::string& directory) {
  std::error_code error;
  std::set<std::string> names;
  for (std::filesystem::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    const bool is_hidden = name.starts_with('.') || name.starts_with('_');
    if (!is_hidden && at->is_regular_file(error)) names.insert(at->path());
  }
  return names.empty() ? std::string() : *names.begin();
}

std::string_view format_of_input(const std::string& input) {
  std::error_code error;
  if (input == "-") return {};
  const std::string file = std::filesystem::is_directory(input, error) ? first_file(input) : input;
  const std::string_view named = format_of_name(file);
  return named.empty() ? format_of_content(file) : named;
}

bool is_line_key(const std::string& key) {
  try {
    parse_line_key(key);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Whether an option was given that rows have and lines have not, or one of sort(1)'s for lines.
struct Hints {
  bool of_rows = false, of_lines = false;
};

Hints hints_of(const ParsedOptions& options) {
  Hints hints;
  for (const Argument& argument : options.arguments()) {
    if (is_operand(argument)) continue;
    const OptionSpec& option = options.spec(argument.string_key);
    const bool is_long = argument.original_tokens.front().starts_with("--");
    const bool is_key = option.long_name == "key" || option.long_name == "on" ||
                        option.long_name == "left-on" || option.long_name == "right-on";
    if (is_key) {
      // --key=2 may be either.
      const bool is_field = is_obsolescent_key(argument) || is_line_key(argument.value.front());
      hints.of_rows |= !is_field;
      hints.of_lines |= is_field && !is_long;
    } else {
      hints.of_rows |= !overlap(option.scope, Scope::lines);
      hints.of_lines |=
          !overlap(option.scope, Scope::rows) || (option.short_name == 't' && !is_long);
    }
  }
  return hints;
}

// The format of all inputs that tell theirs. Throws Error{usage} if they differ.
std::string_view format_of_inputs(const ParsedOptions& options, std::string& first) {
  std::string_view format;
  for (const std::string& input : options.operands()) {
    const std::string_view other = format_of_input(input);
    if (other.empty() || other == format) continue;
    if (!format.empty()) {
      throw_usage(options.command(), quote_controls(first) + " and " + quote_controls(input) +
                                         " look like files of different formats: say which one "
                                         "with --format");
    }
    format = other;
    first = input;
  }
  return format;
}

[[noreturn]] void ask_for_format(const ParsedOptions& options, const std::string& input,
                                 std::string_view format) {
  std::string looks = quote_controls(input) + " looks like ";
  looks += (format == "csv"       ? "a CSV file: add --csv"
            : format == "tsv"     ? "a TSV file: add --tsv"
            : format == "jsonl"   ? "a file of JSON lines: add --jsonl"
            : format == "parquet" ? "a Parquet file: add --parquet"
                                  : "an Arrow file: add --arrow");
  looks += " (or --format=lines)";
  throw_usage(options.command(), looks);
}

// The format of inputs without --format; empty: lines. Throws Error{usage} if it would be a guess.
std::string_view resolved_format(const ParsedOptions& options) {
  std::string input;
  const std::string_view format = format_of_inputs(options, input);
  if (format.empty() || is_columnar(format)) return format;
  const Hints hints = hints_of(options);
  if (hints.of_lines && !hints.of_rows) return {};
  if (format == "jsonl" && options.command().name == "shuf") return {};  // as good as lines
  if (hints.of_rows) return format;
  ask_for_format(options, input, format);
}

}  // namespace

std::string_view format_of_name(std::string_view file) {
  for (const std::string_view suffix : kCompressed) {
    if (!file.ends_with(suffix)) continue;
    file.remove_suffix(suffix.size());
    break;
  }
  for (const auto& [suffix, format] : kSuffixes) {
    if (file.ends_with(suffix)) return format;
  }
  return {};
}

void check_listed_files(const ParsedOptions& options, const std::vector<std::string>& files) {
  if (options.has("format")) return;
  const bool are_lines = hints_of(options).of_lines;
  for (const std::string& file : files) {
    const std::string_view format = format_of_name(file);
    if (!format.empty() && (is_columnar(format) || !are_lines)) {
      ask_for_format(options, file, format);
    }
  }
}

std::string format_words(const ParsedOptions& options) {
  const std::string record = options.value("format", "lines");
  std::string text = record + ", as no option or name says otherwise";
  for (const Argument& argument : options.arguments()) {
    if (argument.string_key != "format") continue;
    const std::vector<std::string>& tokens = argument.original_tokens;
    // set() leaves the name of the option alone.
    const bool is_found = tokens.size() == 1 && tokens.front() == "--format";
    text = record + (is_found ? ", as the name or first bytes of the input say" : ", as given");
  }
  if (!options.knows("header") || text_kind(record) != TextKind::rows || is_json(record))
    return text;
  return text + (options.has("header") ? "; with a header" : "; without a header");
}

void resolve_format(const Caller& caller, ParsedOptions& options) {
  if (caller.stands_in || options.has_mistake() || options.asks_for_text()) return;
  const bool has_sides = options.has("record1") || options.has("record2");
  if (!options.has("format") && !has_sides) {
    const std::string_view format = resolved_format(options);
    if (!format.empty()) options.set("format", std::string(format));
  }
  const std::string record = options.value("format", "lines");
  if (is_json(record)) return;
  const bool is_rows = text_kind(record) == TextKind::rows;
  if (options.has("no-header") && options.has("header")) {
    throw_usage(options.command(), "--header and --no-header exclude each other");
  }
  if (is_rows && !options.has("no-header")) options.set("header", "");
}

}  // namespace xxl::cli
