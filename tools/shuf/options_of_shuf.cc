// The options of shuf. What they share with sort is worded as there.
#include <array>

#include "cli/options_shared.h"

namespace xxl::cli {
namespace {

constexpr std::string_view kShuffling = "What to shuffle";

constexpr std::array kShufOptions{
    OptionSpec{.long_name = "head-count",
               .short_name = 'n',
               .value = ValueKind::required,
               .value_name = "N",
               .standard = true,
               .group = kShuffling,
               .help = "write at most N records, chosen at random",
               .details = "A simple random sample without replacement, in random order. Of several "
                          "numbers, also those of --limit, the least counts."},
    OptionSpec{.long_name = "output",
               .short_name = 'o',
               .value = ValueKind::required,
               .value_name = "FILE",
               .completion = Completion::file,
               .standard = true,
               .group = kShuffling,
               .help = kOutput.help,
               .details = kOutput.details},
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
    OptionSpec{.long_name = "zero-terminated",
               .short_name = 'z',
               .scope = Scope::lines,
               .standard = true,
               .group = kShuffling,
               .help = "lines end with a zero byte, not a newline"},
    kHelpStandard,
    kVersion,
    OptionSpec{.long_name = "seed",
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
    OptionSpec{.long_name = "malformed",
               .value = ValueKind::required,
               .value_name = "WHAT",
               .words = "error skip",
               .completion = Completion::words,
               .scope = Scope::rows,
               .group = kShuffling,
               .help = "rows that cannot be read: error (the default) or skip, and count them"},
    OptionSpec{.long_name = "files0-from",
               .value = ValueKind::required,
               .value_name = "FILE",
               .completion = Completion::file,
               .group = kShuffling,
               .help = "read the names of the inputs from FILE, each ended by a zero byte",
               .details = "If FILE is -, the names are read from standard input."},
    OptionSpec{.long_name = "skip",
               .value = ValueKind::required,
               .value_name = "N",
               .group = kShuffling,
               .help = "leave out the first N records of the result",
               .details = "With the same seed, --limit=N and --skip=N share all records among two "
                          "outputs."},
    OptionSpec{.long_name = "limit",
               .value = ValueKind::required,
               .value_name = "N",
               .group = kShuffling,
               .help = "like -n, but behind --skip"},
    kParts,
    kPartBytes,
    OptionSpec{.long_name = "buffer-size",
               .short_name = 'S',
               .value = ValueKind::required,
               .value_name = "SIZE",
               .group = kResources,
               .help = "use at most SIZE of memory (default: half of what is free)",
               .details = "As for xxl sort."},
    OptionSpec{.long_name = "temporary-directory",
               .short_name = 'T',
               .value = ValueKind::required,
               .value_name = "DIR",
               .completion = Completion::directory,
               .group = kResources,
               .help = "keep scratch files in DIR; repeat it to use several disks",
               .details = "As for xxl sort. Scratch takes the size of the input, and 8 bytes for "
                          "each record."},
    OptionSpec{.long_name = "parallel",
               .value = ValueKind::required,
               .value_name = "N",
               .group = kResources,
               .help = "use N threads (default: one for each processor)"},
    OptionSpec{.long_name = "batch-size",
               .value = ValueKind::required,
               .value_name = "N",
               .group = kResources,
               .help = "merge at most N runs at once (default: as many as memory allows)"},
    OptionSpec{.long_name = "compress-program",
               .value = ValueKind::required,
               .value_name = "PROG",
               .completion = Completion::file,
               .group = kResources,
               .help = "compress scratch data with PROG, decompress with PROG -d"},
    OptionSpec{
        .long_name = "temp-compress",
        .value = ValueKind::optional,
        .value_name = "METHOD",
        .words = "lz4 zstd none",
        .implied = "lz4",
        .completion = Completion::words,
        .group = kResources,
        .help = "compress scratch data: lz4 (the default) or zstd, with a level as in zstd:3"},
    kIo,
    OptionSpec{.long_name = "progress",
               .value = ValueKind::optional,
               .value_name = "WHEN",
               .words = "auto always never",
               .implied = "always",
               .completion = Completion::words,
               .group = kAsking,
               .help = "show progress on standard error: auto (on a terminal), always, never"},
    kStats,
    kTimeLine,
    kReport,
    kExplain,
};

constexpr std::array kShufSections{
    Section{"RECORDS",
            "Text:\n"
            "\n"
            "  lines    lines of text; without --record\n"
            "  csv      rows as RFC 4180 has them: fields separated by commas; a field in\n"
            "           quotes may hold commas and line breaks\n"
            "  tsv      the same, with tabs\n"
            "\n"
            "Binary records, of one size, between which nothing lies:\n"
            "\n"
            "  fixed:N                    N bytes\n"
            "  u32 i32 f32, u64 i64 f64   4 and 8 bytes\n"
            "  kv32 kv64 gensort          8, 16 and 100 bytes\n"},
    kPartsSection,
    Section{"STATISTICS", "--stats=json and --explain --stats=json are those of xxl sort.\n"},
    Section{"EXIT STATUS",
            "  0    the output is complete: a permutation of the input, or the records that were "
            "asked for\n"
            "  2    an error; no output file was written\n"},
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
      .options = kShufOptions,
      .sections = kShufSections};
}

}  // namespace xxl::cli
