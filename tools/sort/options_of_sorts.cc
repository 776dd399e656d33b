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

// Of sort: how lines are checked, shuffled and looked at.
constexpr std::array<std::string_view, 7> kOnlyOfSort = {
    "check", "-c", "-C", "debug", "random-sort", "random-source", "-y"};
constexpr std::array<std::string_view, 8> kFolds = {"count", "sum",   "min",  "max",
                                                    "mean",  "first", "last", "collect"};
constexpr std::array<std::string_view, 4> kForGpus = {"device", "gpu-memory", "multi-gpu",
                                                      "gpu-merge"};

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

// Says in other words than sort what the option with this key does.
void reword(Options& options, std::string_view key, std::string_view help) {
  const auto option = std::ranges::find(options, key, &OptionSpec::key);
  option->help = help;
  option->details = {};
}

// The options of sort that commands on these records share.
Options sort_options(Scope records) {
  Options options;
  for (OptionSpec option : sort_command().options) {
    if (!overlap(option.scope, records)) continue;
    option.standard = false;
    options.push_back(for_records(option, records));
  }
  remove(options, kOnlyOfSort);
  return options;
}

void add_in_front(Options& options, std::initializer_list<OptionSpec> more) {
  options.insert(options.begin(), more);
}

const Options& uniq_options() {
  static const Options options = [] {
    Options made = sort_options(Scope::all);
    remove(made, kFolds);
    remove(made, {"dictionary-order", "ignore-nonprinting", "ignore-case", "merge", "stable"});
    hide(made, "unique");
    OptionSpec ignore_case = as_sort("ignore-case", Scope::lines);
    ignore_case.group = kOutputTitle;
    reword(made, "keep-order", "write the records in the order of the input");
    ignore_case.short_name = 'i';
    add_in_front(
        made,
        {option(
             kOutputTitle, "-c, --count", "write the number of records with each key as well",
             {.scope = Scope::records,
              .details = "It stands in front of a line, is the last column of a row, and follows "
                         "a binary record as 8 bytes, little-endian."}),
         option(kOutputTitle, "-d, --repeated",
                "write only records whose key appears more than once",
                {.scope = Scope::text, .details = "One for each key."}),
         option(kOutputTitle, "-u, --once", "write only records whose key appears once",
                {.scope = Scope::text}),
         ignore_case});
    return made;
  }();
  return options;
}

const Options& top_options() {
  static const Options options = [] {
    Options made = sort_options(Scope::all);
    remove(made, kFolds);
    remove(made, {"stable", "numeric-sort", "merge", "keep-order", "limit", "parts", "part-bytes",
                  "part-by"});
    hide(made, "reverse");
    reword(made, "empty", "where rows go whose key is empty: first, or last (the default)");
    add_in_front(
        made,
        {option(kOutputTitle, "-n, --limit=N", "write N records (default: 10)"),
         option(kOutputTitle, "--per=COLUMNS",
                "write the N best rows of each group with the same COLUMNS",
                {.scope = Scope::rows,
                 .details = "Groups are in the order of COLUMNS, which are keys as for --key: "
                            "--per=shop."}),
         option(kOutputTitle, "--least", "the least first, instead of the greatest")});
    return made;
  }();
  return options;
}

const Options& merge_options() {
  static const Options options = [] {
    Options made = sort_options(Scope::records);
    remove(made, {"keep-order"});
    hide(made, "merge");
    return made;
  }();
  return options;
}

const Options& check_options() {
  static const Options options = [] {
    Options made = sort_options(Scope::records);
    remove(made, kFolds);
    remove(made, kForGpus);
    remove(made, {"merge", "keep-order", "skip", "limit", "parts", "part-bytes", "part-by",
                  "temp-compress", "compress-program", "verify", "progress", "stats", "time-line",
                  "report", "explain", "batch-size", "rejects", "max-rejects", "output"});
    made.push_back(option_of(sort_command(), "check"));
    hide(made, "check");
    reword(made, "unique", "equal keys are out of order as well");
    add_in_front(made,
                 {option(kOutputTitle, "-q, --quiet", "print nothing: the exit status tells")});
    return made;
  }();
  return options;
}

const Options& set_options() {
  static const Options options = [] {
    Options made = sort_options(Scope::records);
    remove(made, kFolds);
    remove(made, kForGpus);
    remove(made, {"sort", "unique", "stable", "keep-order", "part-by"});
    add_in_front(
        made,
        {option(kOutputTitle, "--all", "count equal records, instead of writing one",
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

constexpr std::array kSections{kExitStatus};

constexpr std::array kCheckSections{
    Section{"EXIT STATUS",
            "  0    the file is sorted\n"
            "  1    it is not: the first record out of order is printed\n"
            "  2    an error\n"},
};

constexpr std::array kSetSections{
    Section{"WHICH OF EQUAL RECORDS",
            "With --key, equal records may differ elsewhere. Written are the first ones of the "
            "first input that has any. With except --all, each record of another input takes away "
            "one of the first input, the first one left.\n"},
    kExitStatus,
};

CommandSpec set_command(std::string_view name, std::string_view summary,
                        std::string_view description, std::string_view examples) {
  return {.name = name,
          .operands = "FILE FILE...",
          .summary = summary,
          .description = description,
          .examples = examples,
          .everyday = "all format key ignore-case no-header output buffer-size explain",
          .records = Scope::records,
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
       .examples = "  xxl uniq urls.txt -o unique.txt\n"
                   "  xxl uniq --keep-order urls.txt -o unique.txt\n"
                   "  xxl uniq -c words.txt | xxl top -n 20 -k1,1n\n"
                   "  xxl uniq --csv --key=email people.csv -o people.once.csv\n"
                   "  xxl uniq --csv --key=email --repeated people.csv\n",
       .everyday = "count repeated once keep-order format key ignore-case output buffer-size "
                   "explain",
       .options = uniq_options(),
       .sections = kSections},
      {.name = "top",
       .operands = "[FILE]...",
       .summary = "write the records with the greatest keys",
       .description =
           "Writes the N records with the greatest keys, the greatest first. Keys are those of "
           "xxl sort; a key with a direction of its own keeps it. Memory holds N records, so "
           "that no scratch is needed.\n",
       .examples = "  xxl top -n 100 -k2,2n scores.txt\n"
                   "  xxl top -n 5 --csv --key=amount:n sales.csv\n"
                   "  xxl top -n 5 --csv --key=amount:n --least sales.csv\n"
                   "  xxl top -n 3 --csv --per=shop --key=amount:n sales.csv\n"
                   "  xxl uniq -c words.txt | xxl top -n 20 -k1,1n\n",
       .everyday = "limit least format key field-separator skip null no-header output explain",
       .options = top_options(),
       .sections = kSections},
      {.name = "merge",
       .operands = "[FILE]...",
       .summary = "merge sorted files",
       .description =
           "Merges FILEs, which are sorted by the same keys, into one. A file that is not sorted "
           "is an error.\n",
       .examples = "  xxl merge monday.sorted tuesday.sorted -o days.sorted\n"
                   "  xxl merge -t: -k3,3n users.1 users.2\n"
                   "  xxl merge -u seen.sorted new.sorted -o all.sorted\n"
                   "  xxl merge --csv --key=ts:date log-*.csv -o log.csv\n",
       .everyday = "format key reverse numeric-sort unique field-separator limit output "
                   "buffer-size explain",
       .records = Scope::records,
       .options = merge_options(),
       .sections = kSections},
      {.name = "check",
       .operands = "[FILE]",
       .summary = "check that a file is sorted",
       .description =
           "Checks that FILE is in the order of the keys, and prints the first record that is "
           "not. With -u, equal keys are out of order as well.\n",
       .examples = "  xxl check words.sorted && echo in order\n"
                   "  xxl check -t: -k3,3n users.sorted\n"
                   "  xxl check -u -q ids.sorted\n"
                   "  xxl check --csv --key=ts:date log.csv\n",
       .everyday = "quiet format key reverse numeric-sort unique field-separator ignore-case "
                   "no-header buffer-size",
       .records = Scope::records,
       .options = check_options(),
       .sections = kCheckSections},
      set_command("union", "write the records of any of the files",
                  "Writes the records that are in any of the FILEs: each once or, with --all, as "
                  "often as in all of them together. The output is sorted; FILEs need not be.\n",
                  "  xxl union old.txt new.txt -o all.txt\n"
                  "  xxl union --all monday.txt tuesday.txt wednesday.txt\n"
                  "  xxl union --csv --key=email list1.csv list2.csv -o list.csv\n"
                  "  producer | xxl union - seen.txt -o all.txt\n"),
      set_command("intersect", "write the records that are in all files",
                  "Writes the records that are in all FILEs, each once or, with --all, as often "
                  "as in the file that has it least. The output is sorted; FILEs need not be.\n",
                  "  xxl intersect monday.txt tuesday.txt wednesday.txt\n"
                  "  xxl intersect --all old.txt new.txt -o both.txt\n"
                  "  xxl intersect --csv --key=id people.csv paid.csv -o paid.people.csv\n"
                  "  producer | xxl intersect - known.txt\n"),
      set_command("except", "write the records of the first file only",
                  "Writes the records of the first FILE that are in no other one, each once. With "
                  "--all, each record of another FILE removes one. The output is sorted; FILEs "
                  "need not be.\n",
                  "  xxl except today.txt yesterday.txt -o new.txt\n"
                  "  xxl except all.txt done.txt failed.txt -o open.txt\n"
                  "  xxl except --csv --key=id people.csv left.csv -o staying.csv\n"
                  "  producer | xxl except --all - seen.txt -o rest.txt\n"),
  };
}

}  // namespace xxl::cli
