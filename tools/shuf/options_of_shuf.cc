// The options of shuf. What they share with sort is worded as there.
#include <array>

#include "cli/options_shared.h"
#include "cli/options_table.h"

namespace xxl::cli {
namespace {

// One that shuf(1) has as well.
OptionSpec as_standard(std::string_view name, Scope scope = Scope::all) {
  OptionSpec option = as_sort(name, scope);
  option.standard = true;
  return option;
}

const auto& shuf_options() {
  static const std::array options{
      option(kOutputTitle, "-n, --head-count=N", "write at most N records, chosen at random",
             {.standard = true,
              .details =
                  "A simple random sample without replacement, in random order. Of several "
                  "numbers, also those of --limit, the least counts. With --skip=M they are the "
                  "N records behind the first M of the result."}),
      as_standard("output"),
      option(kOrdering, "--random-source=FILE", "take the seed from FILE, its first 16 bytes",
             {.standard = true,
              .details = "The same bytes give the same order, but not that of shuf(1), which takes "
                         "bytes for each of its lines."}),
      as_standard("zero-terminated", Scope::lines),
      kHelpStandard,
      kVersion,
      option(kOrdering, "--seed=TEXT", "the same seed, the same order; any text",
             {.details =
                  "The order depends on the seed and on where in the input each record begins, "
                  "and on nothing else: not on -S, --parallel, or whether the input is a file or "
                  "a pipe. Without a seed it is another one each time."}),
      for_records(as_sort("format"), Scope::records),
      as_sort("no-header", Scope::rows),
      option(kInputTitle, "--header",
             "the first record of each input is a header: keep the first one in front",
             {.scope = Scope::text}),
      option(kInputTitle, "-t, --field-separator=SEP",
             "the character between fields, if not that of csv or tsv", {.scope = Scope::rows}),
      as_sort("malformed", Scope::rows),
      as_sort("rejects", Scope::rows),
      as_sort("max-rejects", Scope::rows),
      as_sort("quote", Scope::rows),
      as_sort("escape", Scope::rows),
      as_sort("comment", Scope::rows),
      as_sort("files0-from"),
      option(kOutputTitle, "--skip=N", "leave out the first N records of the result",
             {.details =
                  "With the same seed, -n N and --skip=N share all records among two outputs."}),
      option(kOutputTitle, "--limit=N", "the same as -n"),
      kParts,
      kPartBytes,
      with_details(as_sort("buffer-size"), "As for xxl sort."),
      with_details(
          as_sort("temporary-directory"),
          "As for xxl sort. Scratch takes the size of the input, and 8 bytes for each record."),
      as_sort("parallel"),
      as_sort("batch-size"),
      as_sort("compress-program"),
      as_sort("temp-compress"),
      kIo,
      kVerify,
      with_details(as_sort("progress"), {}),
      kStats,
      kTimeLine,
      kReport,
      kExplain,
  };
  return options;
}

constexpr std::array kShufSections{
    kAnyRecords,
    kPartsSection,
    Section{"STATISTICS", "--stats=json and --explain --stats=json are those of xxl sort.\n",
            Scope::all, kOnlyInManual},
    Section{"EXIT STATUS",
            "  0    the output is complete: a permutation of the input, or a part of it\n"
            "  2    an error; no output file was written, unless the message says so\n"},
};

}  // namespace

CommandSpec shuf_command() {
  return CommandSpec{
      .name = "shuf",
      .operands = "[FILE]...",
      .summary = "shuffle text and records, of files larger than memory",
      .description =
          "Writes the lines, rows or records of all FILEs together in random order: every order is "
          "equally likely. Without FILE, or when FILE is -, standard input is read. The number of "
          "records and a checksum over them are compared from input to output in every run.\n",
      .examples =
          "  xxl shuf lines -o shuffled\n"
          "  xxl shuf -n 1000 --csv people.csv\n"
          "  xxl shuf --seed=42 -S 4G train/*.txt -o shards/ --parts=64\n"
          "  xxl shuf --seed=42 --limit=9999 all -o test\n"
          "  xxl shuf --seed=42 --skip=9999 all -o train\n"
          "  xxl shuf --format=fixed:32 events -o events.shuffled\n",
      .everyday = "head-count seed format skip parts output buffer-size explain",
      .records = Scope::records,
      .options = shuf_options(),
      .sections = kShufSections};
}

}  // namespace xxl::cli
