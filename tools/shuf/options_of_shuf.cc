// The options of shuf. What they share with sort is worded as there.
#include <array>

#include "cli/options_shared.h"
#include "cli/options_table.h"

namespace xxl::cli {
namespace {

constexpr std::string_view kShuffling = "What to shuffle";

// An option of sort, in another place.
OptionSpec as_sort(std::string_view name, std::string_view group, Scope scope = Scope::all) {
  OptionSpec option = option_of_sort(name);
  option.group = group;
  option.scope = scope;
  return option;
}

// One that shuf(1) has as well.
OptionSpec as_standard(std::string_view name, std::string_view group, Scope scope = Scope::all) {
  OptionSpec option = as_sort(name, group, scope);
  option.standard = true;
  return option;
}

// One with more, or less, to say of it.
OptionSpec with_details(std::string_view name, std::string_view details) {
  OptionSpec option = option_of_sort(name);
  option.scope = Scope::all;
  option.details = details;
  return option;
}

const auto& shuf_options() {
  static const std::array options{
      OptionSpec{.long_name = "head-count",
                 .short_name = 'n',
                 .value = ValueKind::required,
                 .value_name = "N",
                 .standard = true,
                 .group = kShuffling,
                 .help = "write at most N records, chosen at random",
                 .details =
                     "A simple random sample without replacement, in random order. Of several "
                     "numbers, also those of --limit, the least counts. With --skip=M they are the "
                     "N records behind the first M of the result."},
      as_standard("output", kShuffling),
      OptionSpec{.long_name = "random-source",
                 .value = ValueKind::required,
                 .value_name = "FILE",
                 .completion = Completion::file,
                 .standard = true,
                 .group = kShuffling,
                 .help = "take the seed from FILE, its first 16 bytes",
                 .details =
                     "The same bytes give the same order, but not that of shuf(1), which takes "
                     "bytes for each of its lines."},
      as_standard("zero-terminated", kShuffling, Scope::lines),
      kHelpStandard,
      kVersion,
      OptionSpec{
          .long_name = "seed",
          .value = ValueKind::required,
          .value_name = "TEXT",
          .group = kShuffling,
          .help = "a number or any other text: the same seed, the same order",
          .details =
              "The order depends on the seed and on where in the input each record begins, "
              "and on nothing else: not on -S, --parallel, or whether the input is a file or "
              "a pipe. Without a seed it is another one each time."},
      OptionSpec{.long_name = "record",
                 .value = ValueKind::required,
                 .value_name = "SPEC",
                 .words = "lines csv tsv u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:",
                 .completion = Completion::words,
                 .group = kShuffling,
                 .help = "what a record is (see RECORDS; default: lines)"},
      OptionSpec{.long_name = "header",
                 .scope = Scope::text,
                 .group = kShuffling,
                 .help = "the first record of each input is a header: keep the first one in front"},
      OptionSpec{.long_name = "field-separator",
                 .short_name = 't',
                 .value = ValueKind::required,
                 .value_name = "SEP",
                 .scope = Scope::rows,
                 .group = kShuffling,
                 .help = "the character between fields, if not that of csv or tsv"},
      as_sort("malformed", kShuffling, Scope::rows),
      as_sort("quote", kShuffling, Scope::rows),
      as_sort("files0-from", kShuffling),
      OptionSpec{
          .long_name = "skip",
          .value = ValueKind::required,
          .value_name = "N",
          .group = kShuffling,
          .help = "leave out the first N records of the result",
          .details = "With the same seed, -n N and --skip=N share all records among two outputs."},
      OptionSpec{.long_name = "limit",
                 .value = ValueKind::required,
                 .value_name = "N",
                 .group = kShuffling,
                 .help = "the same as -n"},
      kParts,
      kPartBytes,
      with_details("buffer-size", "As for xxl sort."),
      with_details(
          "temporary-directory",
          "As for xxl sort. Scratch takes the size of the input, and 8 bytes for each record."),
      as_sort("parallel", kResources),
      as_sort("batch-size", kResources),
      as_sort("compress-program", kResources),
      as_sort("temp-compress", kResources),
      kIo,
      kVerify,
      with_details("progress", {}),
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
    Section{"STATISTICS", "--stats=json and --explain --stats=json are those of xxl sort.\n"},
    Section{"EXIT STATUS",
            "  0    the output is complete: a permutation of the input, or the records that were "
            "asked for\n"
            "  2    an error; no output file was written, unless the message says that it was, or "
            "could not\n"
            "       be written itself\n"},
    Section{"EXAMPLES",
            "  xxl shuf lines -o shuffled\n"
            "  xxl shuf -n 1000 --header --record=csv people.csv\n"
            "  xxl shuf --seed=42 -S 4G train/*.jsonl -o shards/ --parts=64\n"
            "  xxl shuf --seed=42 --limit=9999 all -o test\n"
            "  xxl shuf --seed=42 --skip=9999 all -o train\n"
            "  xxl shuf --record=fixed:32 events -o events.shuffled\n"},
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
      .options = shuf_options(),
      .sections = kShufSections};
}

}  // namespace xxl::cli
