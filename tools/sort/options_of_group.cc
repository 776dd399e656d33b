// The options of group: those of a sort of rows, and what to make of each group.
#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

#include "cli/options_shared.h"
#include "cli/options_table.h"

namespace xxl::cli {
namespace {

constexpr OptionSpec aggregate(std::string_view synopsis, std::string_view help) {
  return option(kFolding, synopsis, help, {.scope = Scope::rows});
}

constexpr std::array kOwnOptions{
    option(kOrdering, "--by=COLUMNS", "columns that rows of a group have in common",
           {.scope = Scope::rows,
            .details = "COLUMN[:TYPE][:desc] each, with commas between, as in the keys of xxl "
                       "sort; repeatable. The "
                       "output is in their order. Without it, all rows are one group."}),
    aggregate("--count", "the number of rows"),
    aggregate("--sum=COLUMN", "the sum, exact to the last digit"),
    aggregate("--min=COLUMN[:TYPE]", "the least value"),
    aggregate("--max=COLUMN[:TYPE]", "the greatest value"),
    aggregate("--mean=COLUMN", "the sum divided by the number of values"),
    aggregate("--median=COLUMN", "the value in the middle, or the mean of two"),
    aggregate("--count-distinct=COLUMN[:TYPE]", "the number of different values"),
    aggregate("--first=COLUMN", "the value of the first row of the input"),
    aggregate("--last=COLUMN", "the value of the last row of the input"),
    aggregate("--collect=COLUMN", "all values, with semicolons between them"),
};

// Options of sort that groups do not have, or have in another way.
constexpr std::array<std::string_view, 24> kNotOfGroups = {
    "key", "reverse", "merge",  "unique",     "keep-order", "stable",    "check",       "-c",
    "-C",  "part-by", "device", "gpu-memory", "multi-gpu",  "gpu-merge", "compression", "count",
    "sum", "min",     "max",    "mean",       "first",      "last",      "collect",     "-y"};

const std::vector<OptionSpec>& group_options() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> made(kOwnOptions.begin(), kOwnOptions.end());
    for (OptionSpec option : sort_command().options) {
      if (!overlap(option.scope, Scope::rows)) continue;
      if (std::ranges::find(kNotOfGroups, option.key()) != std::end(kNotOfGroups)) continue;
      option.standard = false;
      made.push_back(for_records(option, Scope::rows));
    }
    return made;
  }();
  return options;
}

constexpr std::array kGroupSections{
    Section{"COLUMNS OF THE OUTPUT",
            "First the columns of --by, then the aggregates in the order of the command line, "
            "and no others. They are called as in SQL: shop, sum(price), count. "
            "COLUMN:NAME gives another name, as in --sum=price:revenue; a NAME that is a TYPE "
            "or has a ':' goes in quotes.\n",
            Scope::all, kFolding},
    Section{"VALUES",
            "Empty fields do not count, except in --count, --first and --last. If a group has "
            "no value, its sum, mean, median, least and greatest value are empty.\n"
            "\n"
            "--sum, --mean and --median need numbers. --min and --max compare numbers, unless "
            "TYPE says otherwise (text, integer, date); --count-distinct compares text. A mean "
            "has at most six decimals more than the sum, rounded to the nearest.\n"
            "\n"
            "--median and --count-distinct sort the rows of each group by their column, and keys "
            "are written as in the first of these. So they can be asked of one column at a time, "
            "and not together with --first, --last and --collect. A median may hold half of the "
            "different values of a group in memory, up to a sixteenth of -S, and --collect all "
            "of them.\n",
            Scope::all, kFolding},
    Section{"EXIT STATUS",
            "  0    the output is complete\n"
            "  2    an error; no output file was written, unless the message says so\n"},
};

}  // namespace

CommandSpec group_command() {
  return {
      .name = "group",
      .operands = "[FILE]...",
      .summary = "sum up groups of rows: one row for each",
      .description =
          "Writes one row for each group of rows of CSV and TSV FILEs that have the same values "
          "in the columns of --by: these values, and what the aggregates make of the other "
          "columns. The output is in the order of the groups. FILEs need not be sorted, and "
          "may be larger than memory.\n",
      .examples =
          "  xxl group --csv --by=shop --sum=price --count sales.csv\n"
          "  xxl group --csv --by=shop,day:date --mean=price sales.csv\n"
          "  xxl group --csv --by=page --count-distinct=user:visitors log.csv\n"
          "  xxl group --csv --count --sum=price --max=day:date sales.csv\n",
      .everyday = "by count sum mean min max null no-header output buffer-size",
      .records = Scope::rows,
      .options = group_options(),
      .sections = kGroupSections};
}

}  // namespace xxl::cli
