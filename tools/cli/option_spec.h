// Commands and options, as data.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace xxl::cli {

enum class ValueKind {
  none,      // --reverse
  required,  // --output=FILE
  optional,  // --stats[=FORMAT]
  number,    // -y 10; an argument that is no number does not belong to it
};

// The records that an option is for.
enum class Scope : unsigned {
  lines = 1,  // of text, as in sort(1)
  rows = 2,   // of CSV and TSV
  binary = 4,
  columns = 8,
  text = lines | rows,
  records = text | binary,
  fields = rows | binary,
  tables = rows | columns,
  all = records | columns,
};

constexpr bool overlap(Scope a, Scope b) {
  return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) != 0;
}

struct OptionSpec {
  std::string_view long_name = {};  // without dashes; empty: none
  char short_name = 0;              // 0: none
  ValueKind value = ValueKind::none;
  std::string_view value_name = {};  // FILE and PROG are names of files, DIR is that of a directory
  std::string_view words = {};       // the possible values, separated by blanks
  std::string_view implied = {};     // value when it is optional and not given
  Scope scope = Scope::all;
  bool standard = false;  // of sort(1) or join(1): its abbreviations come before those of our own
  std::string_view group = {};    // the title of its group in help (help_topics.h)
  std::string_view help = {};     // one line; empty: it is not shown
  std::string_view details = {};  // more for the manual page
  bool set_by_command = false;    // the command sets it itself: the command line cannot

  // The name by which parsed options are looked up: "output", or "-c" without a long name.
  std::string key() const;
};

// The option that help shows as `synopsis`: "-o, --output=FILE", "--stats[=FORMAT]", "-t CHAR".
// `rest` is what the synopsis does not say.
constexpr OptionSpec option(std::string_view group, std::string_view synopsis,
                            std::string_view help, OptionSpec rest = {}) {
  rest.group = group;
  rest.help = help;
  if (synopsis[1] != '-') rest.short_name = synopsis[1];
  const std::size_t name = synopsis.find("--");
  const std::size_t end = synopsis.find_first_of("=[ ", name == synopsis.npos ? 0 : name);
  if (name != synopsis.npos) rest.long_name = synopsis.substr(name + 2, end - name - 2);
  if (end == synopsis.npos) return rest;
  const bool is_optional = synopsis[end] == '[';
  rest.value = is_optional ? ValueKind::optional : ValueKind::required;
  rest.value_name = synopsis.substr(end + 1);
  if (is_optional) rest.value_name = rest.value_name.substr(1, rest.value_name.size() - 2);
  return rest;
}

// Another name for an option, of every command that has that option and none of this name. Unknown
// to the drop-ins for sort(1) and join(1).
struct OtherName {
  std::string_view name;        // without dashes
  std::string_view key;         // of the option
  std::string_view value = {};  // that it gives; empty: it needs one if the option does
};

// A titled part of a manual page. Paragraphs are separated by empty lines; lines that start with
// two blanks are set verbatim. Help shows it in the topics of its records and group, or everywhere
// if it has neither.
struct Section {
  std::string_view title;
  std::string_view text;
  Scope scope = Scope::all;
  std::string_view group = {};
};
// The group of sections that only the manual page has.
inline constexpr std::string_view kOnlyInManual = "manual";

struct CommandSpec {
  std::string_view name;
  std::string_view operands;              // "[FILE]..."
  bool operands_are_directories = false;  // otherwise files
  std::string_view summary;               // "sort files larger than memory"
  std::string_view description;           // paragraphs, as in Section
  std::string_view examples = {};         // lines
  std::string_view everyday = {};         // keys of the options that short help shows, by blanks
  Scope records = Scope::all;             // that it works on
  std::span<const OptionSpec> options;
  std::span<const Section> sections;
  std::string_view program = "xxl";  // that has the command
};

}  // namespace xxl::cli
