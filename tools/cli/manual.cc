#include "cli/manual.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "cli/option_scope.h"
#include "cli/options_shared.h"
#include "cli/version.h"

namespace xxl::cli {
namespace {

constexpr std::size_t kHelpColumn = 30;  // where the explanation of an option starts
constexpr std::size_t kLineWidth = 80;

constexpr std::string_view kProgramDescription =
    "Sorts and joins files that do not fit in memory: lines of text as sort(1) and join(1) do, "
    "rows of CSV, tables in Parquet and Arrow files, and binary records.\n";
constexpr std::string_view kReadOn =
    "'xxl help COMMAND' or 'xxl COMMAND --help' explains a command; 'xxl --version' prints the "
    "version.\n";

// "-o, --output=FILE"; `dash` is how a hyphen is written ("-", or "\-" in roff).
std::string synopsis(const OptionSpec& option, std::string_view dash) {
  std::string text;
  if (option.short_name != 0) text.append(dash).push_back(option.short_name);
  const bool is_long = !option.long_name.empty();
  if (is_long) {
    text.append(option.short_name != 0 ? ", " : "");
    text.append(dash).append(dash).append(option.long_name);
  }
  const std::string value(option.value_name);
  if (option.value == ValueKind::required) text.append(is_long ? "=" : " ").append(value);
  if (option.value == ValueKind::optional) text.append("[=").append(value).append("]");
  return text;
}

// Appends `text` at column `column`, broken at blanks; lines after the first start at `indent`.
void append_wrapped(std::string& out, std::string_view text, std::size_t column,
                    std::size_t indent) {
  std::istringstream words{std::string(text)};
  std::string word;
  bool first = true;
  while (words >> word) {
    if (!first && column + 1 + word.size() > kLineWidth) {
      out.append("\n").append(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) out.push_back(' ');
    column += word.size() + (first ? 0 : 1);
    out.append(word);
    first = false;
  }
  out.push_back('\n');
}

void append_option(std::string& out, const OptionSpec& option) {
  // Long names of options without a short one are aligned with those that have one.
  std::string left = option.short_name != 0 ? "  " : "      ";
  left.append(synopsis(option, "-"));
  if (left.size() + 2 > kHelpColumn) {
    out.append(left).append("\n").append(kHelpColumn, ' ');
  } else {
    out.append(left).append(kHelpColumn - left.size(), ' ');
  }
  append_wrapped(out, option.help, kHelpColumn, kHelpColumn);
}

// Calls `paragraph` for each paragraph and `verbatim` for each line that is set verbatim.
template <class Paragraph, class Verbatim>
void for_each_part(std::string_view text, Paragraph paragraph, Verbatim verbatim) {
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("  ")) {
      verbatim(line);
    } else {
      paragraph(line);
    }
  }
}

void append_section_text(std::string& out, std::string_view text) {
  for_each_part(
      text, [&](const std::string& line) { append_wrapped(out, line, 0, 0); },
      [&](const std::string& line) { out.append(line).append("\n"); });
}

// Calls `begin` with the title of each group of options, and `each` with those that are in it.
template <class Begin, class Each>
void for_each_group(const CommandSpec& command, Begin begin, Each each) {
  std::vector<std::string_view> titles;
  for (const OptionSpec& first : command.options) {
    if (first.help.empty() || std::ranges::count(titles, first.group) != 0) continue;
    begin(titles.emplace_back(first.group));
    for (const OptionSpec& option : command.options) {
      if (!option.help.empty() && option.group == first.group) each(option);
    }
  }
}

// Text as roff wants it: no escapes, hyphens that can be copied, no control lines.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool at_line_start = out.empty() || out.back() == '\n';
    if (at_line_start && (c == '.' || c == '\'')) out.append("\\&");
    if (c == '\\') {
      out.append("\\e");
    } else if (c == '-') {
      out.append("\\-");
    } else {
      out.push_back(c);
    }
  }
  return out;
}

void append_roff_text(std::string& out, std::string_view text) {
  bool in_verbatim = false;
  const auto end_verbatim = [&] {
    if (in_verbatim) out.append(".fi\n");
    in_verbatim = false;
  };
  for_each_part(
      text,
      [&](const std::string& line) {
        end_verbatim();
        out.append(line.empty() ? ".PP\n" : roff(line) + "\n");
      },
      [&](const std::string& line) {
        if (!in_verbatim) out.append(".nf\n");
        in_verbatim = true;
        out.append(roff(line)).append("\n");
      });
  end_verbatim();
}

void append_roff_option(std::string& out, const OptionSpec& option) {
  out.append(".TP\n.B \"").append(synopsis(option, "\\-")).append("\"\n");
  out.append(roff(option.help)).append(".\n");
  std::string details(text_of(option.scope).in_manual);
  if (!details.empty() && !option.details.empty()) details.push_back(' ');
  details.append(option.details);
  if (!details.empty()) out.append(".sp\n").append(roff(details)).append("\n");
}

std::string roff_header(std::string_view page, std::string_view summary) {
  std::string out(".\\\" Generated by xxl --man; do not edit.\n");
  out.append(".TH \"").append(page).append("\" 1 \"\" \"xxl ").append(kProgramVersion);
  out.append("\" \"User Commands\"\n.SH NAME\n");
  out.append(roff(page)).append(" \\- ").append(roff(summary)).append("\n");
  return out;
}

std::string page_name(const CommandSpec& command) {
  return std::string(command.program) + "-" + std::string(command.name);
}

}  // namespace

std::string help_text(const CommandSpec& command, std::string_view called_as) {
  std::string out("Usage: ");
  out.append(called_as).append(" [OPTION]...");
  if (!command.operands.empty()) out.append(" ").append(command.operands);
  out.append("\n\n");
  append_section_text(out, command.description);
  for_each_group(
      command, [&](std::string_view title) { out.append("\n").append(title).append(":\n"); },
      [&](const OptionSpec& option) { append_option(out, option); });
  for (const Section& section : command.sections) {
    out.append("\n").append(section.title).append("\n");
    append_section_text(out, section.text);
  }
  return out;
}

std::string version_text(const Caller& caller) {
  const std::string program = "xxl " + std::string(kProgramVersion);
  const std::string name = std::filesystem::path(caller.command).filename();
  return caller.stands_in ? name + " (" + program + ")\n" : program + "\n";
}

bool print_if_asked(const ParsedOptions& options, const Caller& caller) {
  if (!options.asks_for_text()) return false;
  std::fputs(
      (options.has("help") ? help_text(options.command(), caller.command) : version_text(caller))
          .c_str(),
      stdout);
  return true;
}

std::string help_text() {
  std::string out("Usage: xxl COMMAND [OPTION]... [OPERAND]...\n\n");
  append_wrapped(out, kProgramDescription, 0, 0);
  out.append("\nCommands:\n");
  for (const CommandSpec& command : commands()) {
    std::string left("  ");
    left.append(command.name);
    out.append(left).append(12 - left.size(), ' ').append(command.summary).append("\n");
  }
  out.append("\n");
  append_wrapped(out, kReadOn, 0, 0);
  return out;
}

std::string manual_page(const CommandSpec& command) {
  std::string out = roff_header(page_name(command), command.summary);
  out.append(".SH SYNOPSIS\n.B ").append(roff(command.program)).append(" ");
  out.append(command.name).append("\n[\\fIOPTION\\fR]...\n");
  if (!command.operands.empty()) out.append(roff(command.operands)).append("\n");
  out.append(".SH DESCRIPTION\n");
  append_roff_text(out, command.description);
  for_each_group(
      command,
      [&](std::string_view title) {
        out.append(out.find(".SH OPTIONS\n") == std::string::npos ? ".SH OPTIONS\n" : "");
        if (title != kOptions) out.append(".SS ").append(title).append("\n");
      },
      [&](const OptionSpec& option) { append_roff_option(out, option); });
  for (const Section& section : command.sections) {
    out.append(".SH \"").append(section.title).append("\"\n");
    append_roff_text(out, section.text);
  }
  out.append(".SH SEE ALSO\n.BR xxl (1)\n");
  return out;
}

std::string manual_page() {
  std::string out = roff_header("xxl", "sort and join files larger than memory");
  out.append(".SH SYNOPSIS\n.B xxl\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n");
  out.append(".SH DESCRIPTION\n");
  append_roff_text(out, kProgramDescription);
  out.append(".SH COMMANDS\n");
  for (const CommandSpec& command : commands()) {
    out.append(".TP\n.B ").append(command.name).append("\n");
    out.append(roff(command.summary)).append("\n");
  }
  out.append(".PP\n");
  append_roff_text(out, kReadOn);
  out.append(".SH SEE ALSO\n");
  for (const CommandSpec& command : commands()) {
    out.append(".BR ").append(roff(page_name(command))).append(" (1),\n");
  }
  out.append(".BR sort (1),\n.BR join (1)\n");
  return out;
}

}  // namespace xxl::cli
