// The commands that are a sort with some options set: uniq, top, merge, check, union, intersect and
// except. Their options are those of sort, less what makes no sense with them (command_sort.cc).
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options_shared.h"
#include "cli/options_table.h"

namespace xxl::cli {
namespace {

using Options = std::vector<OptionSpec>;

constexpr std::string_view kWhich = "Which records to write";

// Of sort: how lines are checked, shuffled and looked at.
constexpr std::array<std::string_view, 7> kOnlyOfSort = {
    "check", "-c", "-C", "debug", "random-sort", "random-source", "-y"};
constexpr std::array<std::string_view, 8> kFolds = {"count", "sum",   "min",  "max",
                                                    "mean",  "first", "last", "collect"};
constexpr std::array<std::string_view, 5> kGpus = {"device", "gpu-memory", "multi-gpu", "gpu-merge",
                                                   "compression"};

// Takes out the options with these keys.
template <class Keys>
void remove(Options& options, const Keys& keys) {
  std::erase_if(options, [&](const OptionSpec& option) {
    return std::ranges::find(keys, option.key()) != std::end(keys);
  });
}
void remove(Options& options, std::initializer_list<std::string_view> keys) {
  remove(options, std::vector<std::string_view>(keys));
}

// The command sets the option with this key itself: the command line cannot.
void hide(Options& options, std::string_view key) {
  const auto option = std::ranges::find(options, key, &OptionSpec::key);
  option->help = {};
  option->short_name = 0;
  option->set_by_command = true;
}

// The options of sort that the commands share.
Options sort_options() {
  const CommandSpec sort = sort_command();
  Options options(sort.options.begin(), sort.options.end());
  for (OptionSpec& option : options) option.standard = false;
  remove(options, kOnlyOfSort);
  return options;
}

void add_in_front(Options& options, std::initializer_list<OptionSpec> more) {
  options.insert(options.begin(), more);
}

const Options& uniq_options() {
  static const Options options = [] {
    Options made = sort_options();
    remove(made, kFolds);
    remove(made, {"dictionary-order", "ignore-nonprinting", "ignore-case", "merge", "stable"});
    hide(made, "unique");
    OptionSpec ignore_case = as_sort("ignore-case", kWhich, Scope::lines);
    ignore_case.short_name = 'i';
    add_in_front(
        made,
        {option(
             kWhich, "-c, --count", "write the number of records with each key, too",
             {.scope = Scope::records,
              .details = "It stands in front of a line, is the last column of a row, and follows "
                         "a binary record as 8 bytes, little-endian."}),
         option(kWhich, "-d, --repeated", "write only records whose key appears more than once",
                {.scope = Scope::text, .details = "One for each key."}),
         option(kWhich, "-u, --once", "write only records whose key appears once",
                {.scope = Scope::text}),
         ignore_case});
    return made;
  }();
  return options;
}

const Options& top_options() {
  static const Options options = [] {
    Options made = sort_options();
    remove(made, kFolds);
    remove(made, {"stable", "numeric-sort", "merge", "keep-order", "limit", "parts", "part-bytes",
                  "part-by"});
    hide(made, "reverse");
    add_in_front(made, {option(kWhich, "-n, --limit=N", "write N records (default: 10)"),
                        option(kWhich, "--least", "the least first, instead of the greatest")});
    return made;
  }();
  return options;
}

const Options& merge_options() {
  static const Options options = [] {
    Options made = sort_options();
    remove(made, {"keep-order"});
    hide(made, "merge");
    return made;
  }();
  return options;
}

const Options& check_options() {
  static const Options options = [] {
    Options made = sort_options();
    remove(made, kFolds);
    remove(made, kGpus);
    remove(made, {"merge", "keep-order", "skip", "limit", "parts", "part-bytes", "part-by",
                  "temp-compress", "compress-program", "verify", "progress", "stats", "time-line",
                  "report", "explain", "batch-size", "rejects", "max-rejects", "output"});
    made.push_back(option_of(sort_command(), "check"));
    hide(made, "check");
    add_in_front(made, {option(kWhich, "-q, --quiet", "print nothing: the exit status tells")});
    return made;
  }();
  return options;
}

const Options& set_options() {
  static const Options options = [] {
    Options made = sort_options();
    remove(made, kFolds);
    remove(made, kGpus);
    remove(made, {"sort", "unique", "stable", "keep-order", "part-by"});
    add_in_front(
        made,
        {option(kWhich, "--all", "count equal records, instead of writing one of them",
                {.details = "If a record is m, n, ... times in the inputs, union writes it m + n + "
                            "... times, intersect the least of these numbers, and except m - n - "
                            "... times if that is more than 0."})});
    return made;
  }();
  return options;
}

constexpr Section kExitStatus{
    "EXIT STATUS",
    "  0    the output is complete\n"
    "  2    an error; no output file was written, unless the message says so\n"};

constexpr std::array kUniqSections{
    kExitStatus, Section{"EXAMPLES",
                         "  xxl uniq urls.txt -o unique.txt\n"
                         "  xxl uniq --keep-order urls.txt -o unique.txt\n"
                         "  xxl uniq -c words.txt | xxl top -n 20 -k1,1n\n"
                         "  xxl uniq --csv --key=email people.csv -o people.once.csv\n"
                         "  xxl uniq --csv --key=email --repeated people.csv\n"}};

constexpr std::array kTopSections{
    kExitStatus, Section{"EXAMPLES",
                         "  xxl top -n 100 -k2,2n scores.txt\n"
                         "  xxl top -n 5 --csv --key=amount:n sales.csv\n"
                         "  xxl top -n 5 --csv --key=amount:n --least sales.csv\n"}};

constexpr std::array kMergeSections{
    kExitStatus, Section{"EXAMPLES",
                         "  xxl merge monday.sorted tuesday.sorted -o days.sorted\n"
                         "  xxl merge --csv --key=ts:date log-*.csv -o log.csv\n"}};

constexpr std::array kCheckSections{
    Section{"EXIT STATUS",
            "  0    the file is sorted\n"
            "  1    it is not: the first record out of order is printed\n"
            "  2    an error\n"},
    Section{"EXAMPLES",
            "  xxl check words.sorted\n"
            "  xxl check --csv --key=ts:date log.csv\n"}};

constexpr std::array kSetSections{
    Section{"WHICH OF EQUAL RECORDS",
            "With --key, equal records may differ elsewhere. Written are the first ones of the "
            "first input that has any. With except --all, each record of another input takes away "
            "one of the first input, the first one left.\n"},
    kExitStatus,
    Section{"EXAMPLES",
            "  xxl union old.txt new.txt -o all.txt\n"
            "  xxl intersect monday.txt tuesday.txt wednesday.txt\n"
            "  xxl except --csv --key=id people.csv left.csv -o staying.csv\n"
            "  producer | xxl except --all - seen.txt -o rest.txt\n"}};

CommandSpec set_command(std::string_view name, std::string_view summary,
                        std::string_view description) {
  return {.name = name,
          .operands = "FILE FILE...",
          .summary = summary,
          .description = description,
          .options = set_options(),
          .sections = kSetSections};
}

}  // namespace

std::vector<CommandSpec> sort_like_commands() {
  return {
      {.name = "uniq",
       .operands = "[FILE]...",
       .summary = "write one record for each key: remove duplicates",
       .description =
           "Writes the first record of each key. Without --key, records are equal if they are "
           "the same as a whole. FILEs need not be sorted. The output is in the order of the "
           "keys, or with --keep-order in that of the input.\n",
       .options = uniq_options(),
       .sections = kUniqSections},
      {.name = "top",
       .operands = "[FILE]...",
       .summary = "write the records with the greatest keys",
       .description =
           "Writes the N records with the greatest keys, the greatest first. Keys are those of "
           "xxl sort; a key with a direction of its own keeps it. Memory holds N records, so "
           "that no scratch is needed.\n",
       .options = top_options(),
       .sections = kTopSections},
      {.name = "merge",
       .operands = "[FILE]...",
       .summary = "merge sorted files",
       .description =
           "Merges FILEs, which are sorted by the same keys, into one. A file that is not sorted "
           "is an error.\n",
       .options = merge_options(),
       .sections = kMergeSections},
      {.name = "check",
       .operands = "[FILE]",
       .summary = "check that a file is sorted",
       .description =
           "Checks that FILE is in the order of the keys, and prints the first record that is "
           "not. With -u, equal keys are out of order, too.\n",
       .options = check_options(),
       .sections = kCheckSections},
      set_command("union", "write the records of any of the files",
                  "Writes the records that are in any of the FILEs: each once or, with --all, as "
                  "often as in all of them together. The output is sorted; FILEs need not be.\n"),
      set_command("intersect", "write the records that are in all files",
                  "Writes the records that are in all FILEs, each once or, with --all, as often "
                  "as in the file that has it least. The output is sorted; FILEs need not be.\n"),
      set_command("except", "write the records of the first file only",
                  "Writes the records of the first FILE that are in no other one, each once. With "
                  "--all, each record of another FILE takes away one. The output is sorted; FILEs "
                  "need not be.\n"),
  };
}

}  // namespace xxl::cli
