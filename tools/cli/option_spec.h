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

// What a shell offers to complete the value of an option.
enum class Completion { none, file, directory, words };

enum class Support {
  works,
  ignored,  // accepted for compatibility, and not shown
};

// The records that an option is for.
enum class Scope {
  all,
  records,  // all but columns
  text,     // lines and rows
  lines,    // of text, as in sort(1)
  rows,     // of CSV and TSV
  binary,
  fields,  // rows, and binary records
  tables,  // rows, and columns
  columns,
};

struct OptionSpec {
  std::string_view long_name = {};  // without dashes; empty: none
  char short_name = 0;              // 0: none
  ValueKind value = ValueKind::none;
  std::string_view value_name = {};
  std::string_view words = {};    // the possible values, separated by blanks
  std::string_view implied = {};  // value when it is optional and not given
  Completion completion = Completion::none;
  Support support = Support::works;
  Scope scope = Scope::all;
  bool standard = false;  // of sort(1) or join(1): its abbreviations come before those of our own
  std::string_view group = {};    // its title in help; empty: "Options"
  std::string_view help = {};     // one line
  std::string_view details = {};  // more for the manual page

  // The name by which parsed options are looked up: "output", or "-c" without a long name.
  std::string key() const;
};

// A titled part of a manual page. Paragraphs are separated by empty lines; lines that start with
// two blanks are set verbatim.
struct Section {
  std::string_view title;
  std::string_view text;
};

struct CommandSpec {
  std::string_view name;
  std::string_view operands;              // "[FILE]..."
  std::string_view operations = {};       // what the first one may be, separated by blanks
  bool operands_are_directories = false;  // otherwise files
  std::string_view summary;               // "sort files of records larger than memory"
  std::string_view description;           // paragraphs, as in Section
  std::span<const OptionSpec> options;
  std::span<const Section> sections;
  std::string_view program = "xxl";  // that has the command
};

}  // namespace xxl::cli
