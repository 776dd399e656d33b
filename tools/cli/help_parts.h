// What help texts and manual pages are made of.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help_topics.h"

namespace xxl::cli {

inline constexpr std::string_view kProgramDescription =
    "Sorts, joins, groups and shuffles files that do not fit in memory: lines of text as sort(1) "
    "and join(1) do, rows of CSV files, tables in Parquet and Arrow files, and binary records.\n";

// "-o, --output=FILE"; `dash` is how a hyphen is written ("-", or "\-" in roff).
std::string synopsis(const OptionSpec& option, std::string_view dash);

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

// Calls `begin` with the title of each group of these options, and `each` with those that are in
// it.
template <class Begin, class Each>
void for_each_group(const std::vector<OptionSpec>& options, Begin begin, Each each) {
  std::vector<std::string_view> titles;
  for (const OptionSpec& option : options) {
    if (!option.help.empty() && std::ranges::count(titles, option.group) == 0) {
      titles.push_back(option.group);
    }
  }
  std::ranges::stable_sort(titles, {}, rank_of_group);
  for (const std::string_view title : titles) {
    begin(title);
    for (const OptionSpec& option : options) {
      if (!option.help.empty() && option.group == title) each(option);
    }
  }
}

}  // namespace xxl::cli
