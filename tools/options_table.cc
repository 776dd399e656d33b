#include "options_table.h"

#include <array>

namespace xxl::cli {
namespace {

constexpr std::string_view kRecordWords = "u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:";

constexpr OptionSpec kHelp{.long_name = "help", .help = "print this help and exit"};

constexpr OptionSpec kKey{
    .long_name = "key",
    .value = ValueKind::required,
    .value_name = "SPEC",
    .help = "what to sort by: OFFSET:TYPE[:desc] (see KEYS); repeatable",
    .details =
        "The first --key is the most significant. Without --key, the key is the one that "
        "belongs to the record type."};

constexpr OptionSpec kReverse{
    .long_name = "reverse",
    .short_name = 'r',
    .help = "invert the order of every key without :asc or :desc of its own",
    .details = "Records with equal keys keep the order of the input, as always."};

constexpr OptionSpec kParallel{.long_name = "parallel",
                               .value = ValueKind::required,
                               .value_name = "N",
                               .help = "use N threads (default: one for each processor)"};

constexpr OptionSpec kOutput{
    .long_name = "output",
    .short_name = 'o',
    .value = ValueKind::required,
    .value_name = "FILE",
    .completion = Completion::file,
    .help = "write to FILE instead of standard output",
    .details =
        "FILE appears complete or not at all; one that exists is replaced only when the new "
        "one is complete and on disk. FILE may be one of the inputs."};

constexpr std::array kSortOptions{
    OptionSpec{.long_name = "record",
               .value = ValueKind::required,
               .value_name = "SPEC",
               .words = kRecordWords,
               .completion = Completion::words,
               .help = "what a record is (see RECORDS)"},
    kKey,
    kReverse,
    OptionSpec{.long_name = "unique",
               .short_name = 'u',
               .help = "of records with equal keys, write only the first",
               .details = "With -c: check that keys are strictly ascending."},
    OptionSpec{.long_name = "merge",
               .short_name = 'm',
               .help = "merge files that are sorted already",
               .details = "A file that turns out not to be sorted is an error."},
    OptionSpec{.long_name = "check",
               .value = ValueKind::optional,
               .value_name = "WHEN",
               .words = "diagnose-first quiet silent",
               .implied = "diagnose-first",
               .completion = Completion::words,
               .help = "check that one file is sorted; --check=quiet is -C",
               .details = "The first record that is out of order is reported as "
                          "FILE:NUMBER: disorder at byte OFFSET (records count from 1, bytes from "
                          "0), and the exit status is 1. Nothing is written."},
    OptionSpec{.short_name = 'c', .help = "like --check"},
    OptionSpec{.short_name = 'C', .help = "like -c, but say nothing"},
    kOutput,
    OptionSpec{.long_name = "stable", .short_name = 's', .help = "accepted; every sort is stable"},
    OptionSpec{.long_name = "buffer-size",
               .short_name = 'S',
               .value = ValueKind::required,
               .value_name = "SIZE",
               .help = "use at most SIZE of memory (default: half of what is free)",
               .details =
                   "A number with b (bytes), K (the default), M, G, T, P or %. It bounds the "
                   "whole process, except for a constant of 48 MiB for code, stacks and "
                   "libraries. Without -S it is half of the memory that is available, or "
                   "half of the limit of the control group if that is less."},
    OptionSpec{.long_name = "temporary-directory",
               .short_name = 'T',
               .value = ValueKind::required,
               .value_name = "DIR",
               .completion = Completion::directory,
               .help = "keep scratch files in DIR; repeat it to use several disks",
               .details =
                   "Without -T it is $TMPDIR, or else /var/tmp, or else /tmp. /var/tmp comes "
                   "first because /tmp is often held in memory. Space is reserved before "
                   "the sort starts. Scratch files have no name, so nothing is left behind "
                   "when the sort is killed."},
    OptionSpec{.long_name = "parallel",
               .value = ValueKind::required,
               .value_name = "N",
               .help = "use N threads (default: one for each processor)",
               .details = "Fewer are used, with a warning, when the memory of -S is too little for "
                          "so many."},
    OptionSpec{.long_name = "batch-size",
               .value = ValueKind::required,
               .value_name = "N",
               .help = "merge at most N runs at once (default: as many as memory allows)"},
    OptionSpec{.long_name = "io",
               .value = ValueKind::required,
               .value_name = "KIND",
               .words = "auto io_uring threads",
               .completion = Completion::words,
               .help = "how to talk to the disks: auto, io_uring or threads"},
    OptionSpec{.long_name = "device",
               .value = ValueKind::required,
               .value_name = "KIND",
               .words = "auto cpu",
               .completion = Completion::words,
               .help = "what sorts: auto or cpu (gpu is not built yet)"},
    OptionSpec{.long_name = "progress",
               .value = ValueKind::optional,
               .value_name = "WHEN",
               .words = "auto always never",
               .implied = "always",
               .completion = Completion::words,
               .help = "show progress on standard error: auto (on a terminal), always, never"},
    OptionSpec{.long_name = "stats",
               .value = ValueKind::optional,
               .value_name = "FORMAT",
               .words = "table json",
               .implied = "table",
               .completion = Completion::words,
               .help = "report on standard error what was done: table or json"},
    OptionSpec{.long_name = "explain",
               .help = "print the plan and the scratch space it needs, and stop"},
    kHelp,
    // What sort(1) has beyond this.
    OptionSpec{.long_name = "ignore-leading-blanks",
               .short_name = 'b',
               .support = Support::text_only,
               .help = "ignore leading blanks"},
    OptionSpec{.long_name = "dictionary-order",
               .short_name = 'd',
               .support = Support::text_only,
               .help = "consider only blanks and alphanumeric characters"},
    OptionSpec{.long_name = "ignore-case",
               .short_name = 'f',
               .support = Support::text_only,
               .help = "fold lower case to upper case"},
    OptionSpec{.long_name = "general-numeric-sort",
               .short_name = 'g',
               .support = Support::text_only,
               .help = "compare as floating-point numbers"},
    OptionSpec{.long_name = "human-numeric-sort",
               .short_name = 'h',
               .support = Support::text_only,
               .help = "compare human-readable numbers (2K 1G)"},
    OptionSpec{.long_name = "ignore-nonprinting",
               .short_name = 'i',
               .support = Support::text_only,
               .help = "consider only printable characters"},
    OptionSpec{.long_name = "month-sort",
               .short_name = 'M',
               .support = Support::text_only,
               .help = "compare month names"},
    OptionSpec{.long_name = "numeric-sort",
               .short_name = 'n',
               .support = Support::text_only,
               .help = "compare as decimal numbers"},
    OptionSpec{.long_name = "random-sort",
               .short_name = 'R',
               .support = Support::text_only,
               .help = "shuffle, but keep equal keys together"},
    OptionSpec{.long_name = "version-sort",
               .short_name = 'V',
               .support = Support::text_only,
               .help = "compare version numbers"},
    OptionSpec{.long_name = "sort",
               .value = ValueKind::required,
               .value_name = "WORD",
               .support = Support::text_only,
               .help = "as the option for general-numeric, human-numeric, month, ..."},
    OptionSpec{.short_name = 'k',
               .value = ValueKind::required,
               .value_name = "KEYDEF",
               .support = Support::text_only,
               .help = "sort by a part of the line"},
    OptionSpec{.long_name = "field-separator",
               .short_name = 't',
               .value = ValueKind::required,
               .value_name = "SEP",
               .support = Support::text_only,
               .help = "character between fields"},
    OptionSpec{.long_name = "zero-terminated",
               .short_name = 'z',
               .support = Support::text_only,
               .help = "lines end with a zero byte"},
    OptionSpec{
        .long_name = "header", .support = Support::text_only, .help = "the first line is a header"},
    OptionSpec{.long_name = "random-source",
               .value = ValueKind::required,
               .value_name = "FILE",
               .support = Support::text_only,
               .help = "random bytes for -R"},
    OptionSpec{.long_name = "debug",
               .support = Support::text_only,
               .help = "show which part of a line is the key"},
    OptionSpec{.long_name = "compress-program",
               .value = ValueKind::required,
               .value_name = "PROG",
               .support = Support::not_built,
               .help = "compress scratch files with PROG"},
    OptionSpec{.long_name = "files0-from",
               .value = ValueKind::required,
               .value_name = "FILE",
               .support = Support::not_built,
               .help = "read the names of the inputs from FILE"},
    OptionSpec{.long_name = "limit",
               .value = ValueKind::required,
               .value_name = "N",
               .support = Support::not_built,
               .help = "write only the first N records"},
    OptionSpec{.long_name = "resume",
               .support = Support::not_built,
               .help = "continue a sort that was interrupted"},
    OptionSpec{.long_name = "temp-compress",
               .value = ValueKind::optional,
               .value_name = "METHOD",
               .support = Support::not_built,
               .help = "compress scratch files"},
};

constexpr std::array kGenOptions{
    OptionSpec{.long_name = "record",
               .value = ValueKind::required,
               .value_name = "SPEC",
               .words = kRecordWords,
               .completion = Completion::words,
               .help = "what a record is (see RECORDS; default: gensort)"},
    OptionSpec{.long_name = "key",
               .value = ValueKind::required,
               .value_name = "SPEC",
               .help = "where the keys are: OFFSET:TYPE[:desc] (see KEYS); repeatable",
               .details = "The distribution is that of the first key."},
    OptionSpec{.long_name = "ascii",
               .short_name = 'a',
               .help = "gensort records as text instead of binary"},
    OptionSpec{
        .long_name = "skewed", .short_name = 's', .help = "gensort records with skewed keys"},
    OptionSpec{.long_name = "start",
               .value = ValueKind::required,
               .value_name = "N",
               .help = "number of the first record (default: 0)",
               .details =
                   "A record depends on its number (and the seed) alone: a file may be made in "
                   "pieces, also on several machines."},
    OptionSpec{.long_name = "total",
               .value = ValueKind::required,
               .value_name = "N",
               .help = "records of the whole file that these are a part of",
               .details = "Without it, these records are the last ones of the file. Keys that are "
                          "zipf, sorted, reverse or nearly-sorted depend on it."},
    OptionSpec{.long_name = "distribution",
               .value = ValueKind::required,
               .value_name = "NAME",
               .words = "uniform normal zipf: sorted reverse nearly-sorted few-distinct constant",
               .completion = Completion::words,
               .help = "keys of records other than gensort (default: uniform)",
               .details = "See DISTRIBUTIONS."},
    OptionSpec{.long_name = "seed",
               .value = ValueKind::required,
               .value_name = "N",
               .help = "seed of records other than gensort (default: 1)"},
    OptionSpec{.long_name = "checksum",
               .help = "print the sum of the CRC-32 of each record on standard error",
               .details = "The sum that gensort -c and valsort print."},
    kParallel,
    kOutput,
    kHelp,
};

constexpr std::array kValidateOptions{
    OptionSpec{.long_name = "record",
               .value = ValueKind::required,
               .value_name = "SPEC",
               .words = kRecordWords,
               .completion = Completion::words,
               .help = "what a record is (see RECORDS)"},
    kKey,
    kReverse,
    kParallel,
    kHelp,
};

constexpr std::array kProbeOptions{
    OptionSpec{.long_name = "size",
               .value = ValueKind::required,
               .value_name = "SIZE",
               .help = "size of each of the two test files (default: 1G)",
               .details = "As for sort -S. They have no name and are gone afterwards."},
    OptionSpec{.long_name = "seconds",
               .value = ValueKind::required,
               .value_name = "N",
               .help = "time to measure each directory (default: 5)"},
    OptionSpec{.long_name = "json", .help = "print one JSON object instead of a table"},
    kHelp,
};

constexpr std::array kInfoOptions{kHelp};
constexpr std::array kHelpOptions{kHelp};

constexpr std::array kProbeSections{
    Section{"JSON",
            "--json prints one object:\n"
            "\n"
            "  directories    for each DIR: directory, backend, direct, choice (a row), rows\n"
            "  a row          block_bytes, depth, read_bytes_per_second,\n"
            "                 write_bytes_per_second, both_bytes_per_second\n"},
};

constexpr Section kRecords{
    "RECORDS",
    "All records of a file have the same size, and nothing lies between them.\n"
    "\n"
    "  fixed:N    N bytes; the key is the whole record, unless --key says otherwise\n"
    "  u32 u64    an unsigned number of 4 or 8 bytes, little-endian\n"
    "  i32 i64    a signed number\n"
    "  f32 f64    a floating-point number (IEEE 754)\n"
    "  kv32       u32 key, 4 bytes of value\n"
    "  kv64       u64 key, 8 bytes of value\n"
    "  gensort    100 bytes, the key is the first 10\n"};

constexpr Section kKeys{
    "KEYS",
    "A key is given as OFFSET:TYPE, OFFSET being bytes from the start of the record, from 0. TYPE "
    "is\n"
    "\n"
    "  u8 u16 u32 u64    unsigned number, little-endian; u16be and so on: big-endian\n"
    "  i8 i16 i32 i64    signed number; i16be and so on: big-endian\n"
    "  f32 f64           floating-point number; f32be, f64be: big-endian\n"
    "  bytesN            N bytes, compared as unsigned numbers\n"
    "\n"
    "Behind it may stand :desc for descending, or :asc, which also keeps -r away from this key.\n"
    "\n"
    "Floating-point keys are in the total order of IEEE 754: -NaN, -infinity, ..., -0.0, +0.0, "
    "..., "
    "+infinity, +NaN; NaNs by their bits.\n"};

constexpr std::array kSortSections{
    kRecords,
    kKeys,
    Section{"STATISTICS",
            "--stats=json prints one object on standard error:\n"
            "\n"
            "  record, record_kind     the record as given; how its keys are sorted\n"
            "  records_in, records_out\n"
            "  checksum                multiset hash of the output, as hexadecimal text\n"
            "  input_bytes             0 when it could not be known beforehand\n"
            "  runs, merge_degree, passes    of merging: runs formed, most merged at once,\n"
            "                          passes over the data (0: sorted in memory)\n"
            "  memory_bytes, sort_memory_bytes, block_bytes, threads, backend\n"
            "  scratch_bytes           most scratch space in use at once\n"
            "  scratch                 for each -T: directory, bytes_written\n"
            "  seconds, gb_per_second  of the whole sort\n"
            "  peak_memory_bytes       resident memory of the process\n"
            "  phases                  for each phase: name, seconds, bytes_read, bytes_written,\n"
            "                          gb_per_second (read and written), read_wait_seconds,\n"
            "                          write_wait_seconds (nothing to do but wait for the disk),\n"
            "                          worker_busy_seconds (summed over threads)\n"},
    Section{"EXIT STATUS",
            "  0    the output is complete: an ordered permutation of the input\n"
            "  1    -c or -C found a record that is out of order\n"
            "  2    an error; no output file was written\n"},
    Section{"EXAMPLES",
            "  xxl sort --record=u64 numbers.bin -o sorted.bin\n"
            "  xxl sort --record=gensort -S 512M -T /disk1 -T /disk2 big.dat -o big.sorted\n"
            "  xxl sort --record=fixed:32 --key=8:i64:desc --key=0:u32 events -o events.sorted\n"
            "  producer | xxl sort --record=kv64 -u | consumer\n"},
};

constexpr Section kDistributions{
    "DISTRIBUTIONS",
    "Of the keys of records other than gensort:\n"
    "\n"
    "  uniform        over all values; floating-point numbers from 0 to 1\n"
    "  normal         around the middle of the range; floating-point numbers around 0\n"
    "  zipf:THETA     the i-th most frequent key is as likely as 1 / i^THETA\n"
    "  sorted         ascending over the whole range\n"
    "  reverse        descending\n"
    "  nearly-sorted  sorted, but one record in a hundred has changed places\n"
    "  few-distinct   16 values\n"
    "  constant       one value\n"
    "\n"
    "Behind the key of kv32 and kv64 stands the number of the record; all other bytes are random. "
    "A key of bytes has the distribution in its first 8.\n"};

constexpr std::array kGenSections{
    kRecords,
    kKeys,
    kDistributions,
    Section{"EXAMPLES",
            "  xxl gen 10M -o big.dat                 one gigabyte as gensort makes it\n"
            "  xxl gen -a -s --checksum 1000 -o small.txt\n"
            "  xxl gen --record=u64 --distribution=zipf:0.75 --seed=7 1G -o keys.bin\n"},
};

constexpr std::array kValidateSections{
    kRecords,
    kKeys,
    Section{"EXIT STATUS",
            "  0    all records are in order\n"
            "  1    some are not\n"
            "  2    an error\n"},
};

constexpr std::array kCommands{
    CommandSpec{
        .name = "sort",
        .operands = "[FILE]...",
        .summary = "sort files of records larger than memory",
        .description =
            "Sorts the records of all FILEs together. Without FILE, or when FILE is -, standard "
            "input is read. Options may stand before and after the files, and long options may be "
            "abbreviated.\n"
            "\n"
            "Every sort is stable: records with equal keys keep the order of the input. The number "
            "of records and a checksum over them are compared from input to output in every "
            "sort.\n",
        .options = kSortOptions,
        .sections = kSortSections},
    CommandSpec{
        .name = "gen",
        .operands = "RECORDS",
        .summary = "make test data",
        .description =
            "Writes RECORDS records of test data; the number may have a suffix k, M, G or T for "
            "powers of 1000. gensort records are those of the sort benchmark's program gensort, "
            "byte "
            "for byte.\n",
        .options = kGenOptions,
        .sections = kGenSections},
    CommandSpec{
        .name = "validate",
        .operands = "[FILE]",
        .summary = "check that a file is sorted, and sum it up",
        .description =
            "Prints what valsort of the sort benchmark prints: the number of records, the sum of "
            "their CRC-32, how many records have the same key as the one before, and whether all "
            "are in order. Without FILE, or when FILE is -, standard input is read.\n",
        .options = kValidateOptions,
        .sections = kValidateSections},
    CommandSpec{
        .name = "probe",
        .operands = "[DIR]...",
        .operands_are_directories = true,
        .summary = "measure disks",
        .description =
            "Measures each DIR (default: the default scratch directory): reading, writing and both "
            "at once, over block sizes and numbers of transfers in flight. The choice is the "
            "smallest that comes close to the best rate of reading and writing at once.\n",
        .options = kProbeOptions,
        .sections = kProbeSections},
    CommandSpec{.name = "info",
                .operands = "",
                .summary = "print version, build features and hardware",
                .description =
                    "Prints the version, how the program was built, and what it found of the "
                    "machine: processors, memory, how it talks to the disks.\n",
                .options = kInfoOptions,
                .sections = {}},
    CommandSpec{.name = "help",
                .operands = "[COMMAND]",
                .summary = "print help on a command",
                .description = "Prints the same as xxl COMMAND --help.\n",
                .options = kHelpOptions,
                .sections = {}},
};

}  // namespace

std::string OptionSpec::key() const {
  return long_name.empty() ? std::string("-") + short_name : std::string(long_name);
}

std::span<const CommandSpec> commands() {
  return kCommands;
}

const CommandSpec* find_command(std::string_view name) {
  for (const CommandSpec& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace xxl::cli
