// The options of sort. Those of sort(1) are in its order, in which it lists the possibilities of an
// ambiguous abbreviation; our own follow.
#include <array>

#include "cli/options_shared.h"

namespace xxl::cli {
namespace {

constexpr std::string_view kOrdering = "What to sort by";
constexpr std::string_view kDoing = "What to do";
constexpr std::string_view kFolding = "What to make of the records of each key";

constexpr OptionSpec fold(std::string_view name, Scope scope, std::string_view help) {
  return {.long_name = name,
          .value = ValueKind::required,
          .value_name = "FIELD",
          .scope = scope,
          .group = kFolding,
          .help = help,
          .details = "See FOLDS."};
}

constexpr std::array kSortOptions{
    OptionSpec{.long_name = "ignore-leading-blanks",
               .short_name = 'b',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "ignore blanks before keys"},
    OptionSpec{.long_name = "check",
               .value = ValueKind::optional,
               .value_name = "WHEN",
               .words = "quiet silent diagnose-first",
               .implied = "diagnose-first",
               .completion = Completion::words,
               .scope = Scope::records,
               .standard = true,
               .group = kDoing,
               .help = "check that one file is sorted; --check=quiet is -C",
               .details =
                   "The first line that is out of order is reported as FILE:LINE: disorder: "
                   "TEXT, a row of CSV or TSV as FILE: row NUMBER: disorder: TEXT (a header "
                   "counts), a binary record as FILE:NUMBER: disorder at byte OFFSET (records "
                   "count from 1, bytes from 0), and the exit status is 1. Nothing is "
                   "written. With -u, keys must be strictly ascending."},
    OptionSpec{.long_name = "compress-program",
               .value = ValueKind::required,
               .value_name = "PROG",
               .completion = Completion::file,
               .scope = Scope::text,
               .standard = true,
               .group = kResources,
               .help = "compress scratch data with PROG, decompress with PROG -d"},
    OptionSpec{.long_name = "debug",
               .scope = Scope::lines,
               .standard = true,
               .group = kAsking,
               .help = "underline the keys of each line; warn of doubtful usage"},
    OptionSpec{.long_name = "dictionary-order",
               .short_name = 'd',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "consider only blanks, letters and digits"},
    OptionSpec{.long_name = "ignore-case",
               .short_name = 'f',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "take lower case letters for upper case ones"},
    OptionSpec{.long_name = "files0-from",
               .value = ValueKind::required,
               .value_name = "FILE",
               .completion = Completion::file,
               .standard = true,
               .group = kDoing,
               .help = "read the names of the inputs from FILE, each ended by a zero byte",
               .details = "If FILE is -, the names are read from standard input."},
    OptionSpec{.long_name = "general-numeric-sort",
               .short_name = 'g',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "compare as floating-point numbers, such as 1e-3, inf"},
    OptionSpec{.long_name = "ignore-nonprinting",
               .short_name = 'i',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "consider only printable characters"},
    OptionSpec{.long_name = "key",
               .short_name = 'k',
               .value = ValueKind::required,
               .value_name = "KEY",
               .standard = true,
               .group = kOrdering,
               .help = "sort by a part of the record (see KEYS); repeatable",
               .details = "The first key is the most significant. Without one, lines and rows are "
                          "compared as a whole, and binary records by the key of their type."},
    OptionSpec{.long_name = "merge",
               .short_name = 'm',
               .scope = Scope::records,
               .standard = true,
               .group = kDoing,
               .help = "merge files that are sorted already",
               .details = "A binary file that turns out not to be sorted is an error."},
    OptionSpec{.long_name = "month-sort",
               .short_name = 'M',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "compare names of months: unknown < JAN < ... < DEC"},
    OptionSpec{.long_name = "numeric-sort",
               .short_name = 'n',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "compare as decimal numbers of any length"},
    OptionSpec{.long_name = "human-numeric-sort",
               .short_name = 'h',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "compare sizes as people write them: 2K, 1G"},
    OptionSpec{.long_name = "version-sort",
               .short_name = 'V',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "compare version numbers within text"},
    OptionSpec{.long_name = "random-sort",
               .short_name = 'R',
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "shuffle, but keep equal keys together"},
    OptionSpec{.long_name = "random-source",
               .value = ValueKind::required,
               .value_name = "FILE",
               .completion = Completion::file,
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "take random bytes for -R from FILE: the same bytes, the same order"},
    OptionSpec{.long_name = "sort",
               .value = ValueKind::required,
               .value_name = "WORD",
               .words = "general-numeric human-numeric month numeric random version",
               .completion = Completion::words,
               .scope = Scope::lines,
               .standard = true,
               .group = kOrdering,
               .help = "the same as -g, -h, -M, -n, -R or -V: general-numeric, human-numeric, "
                       "month, numeric, random, version"},
    OptionSpec{.long_name = "output",
               .short_name = 'o',
               .value = ValueKind::required,
               .value_name = "FILE",
               .completion = Completion::file,
               .standard = true,
               .group = kDoing,
               .help = kOutput.help,
               .details = kOutput.details},
    OptionSpec{.long_name = "reverse",
               .short_name = 'r',
               .standard = true,
               .group = kOrdering,
               .help = "reverse the order of all keys without an order of their own"},
    OptionSpec{.long_name = "stable",
               .short_name = 's',
               .standard = true,
               .group = kOrdering,
               .help = "lines with equal keys keep the order of the input",
               .details = "Without -s and -u, lines with equal keys are compared as a whole, "
                          "unless there are no keys. Rows and binary records with equal keys keep "
                          "the order of the input in any case."},
    OptionSpec{.long_name = "batch-size",
               .value = ValueKind::required,
               .value_name = "N",
               .scope = Scope::records,
               .standard = true,
               .group = kResources,
               .help = "merge at most N runs at once (default: as many as memory allows)"},
    OptionSpec{.long_name = "buffer-size",
               .short_name = 'S',
               .value = ValueKind::required,
               .value_name = "SIZE",
               .standard = true,
               .group = kResources,
               .help = "use at most SIZE of memory (default: half of what is free)",
               .details =
                   "A number with b (bytes), K (the default), M, G, T, P or %. It bounds the "
                   "whole process, except for a constant of 48 MiB for code, stacks and "
                   "libraries. Without -S it is half of what the process may still take: of the "
                   "memory that is free, or that its control groups (containers) or ulimit -v and "
                   "-d leave, if that is less; % is a part of the same. For lines, as in "
                   "sort(1), a size that is too small is raised to the least that will do."},
    OptionSpec{.long_name = "field-separator",
               .short_name = 't',
               .value = ValueKind::required,
               .value_name = "SEP",
               .scope = Scope::text,
               .standard = true,
               .group = kOrdering,
               .help = "the character between fields; \\0 is the zero byte",
               .details = "Of lines, it may have several bytes in a locale of UTF-8. Without -t, a "
                          "field of a line starts where blanks follow a character "
                          "that is not blank; those of a CSV file are separated by commas, those "
                          "of a TSV file by tabs."},
    OptionSpec{.long_name = "temporary-directory",
               .short_name = 'T',
               .value = ValueKind::required,
               .value_name = "DIR",
               .completion = Completion::directory,
               .standard = true,
               .group = kResources,
               .help = "keep scratch files in DIR; repeat it to use several disks",
               .details =
                   "Without -T it is $TMPDIR, or else /var/tmp, or else /tmp. /var/tmp comes "
                   "first because /tmp is often held in memory. Space is reserved before "
                   "the sort starts. Scratch files have no name, so nothing is left behind "
                   "when the sort is killed."},
    OptionSpec{.long_name = "unique",
               .short_name = 'u',
               .standard = true,
               .group = kDoing,
               .help = "of records with equal keys, write only the first",
               .details = "With -c: check that keys are strictly ascending."},
    OptionSpec{.long_name = "zero-terminated",
               .short_name = 'z',
               .scope = Scope::lines,
               .standard = true,
               .group = kDoing,
               .help = "lines end with a zero byte, not a newline"},
    OptionSpec{.long_name = "parallel",
               .value = ValueKind::required,
               .value_name = "N",
               .standard = true,
               .group = kResources,
               .help = "use N threads (default: one for each processor)",
               .details = "Fewer are used when -S is too small for N, or if that saves a pass."},
    kHelpStandard,
    kVersion,
    OptionSpec{.short_name = 'c', .scope = Scope::records, .group = kDoing, .help = "like --check"},
    OptionSpec{.short_name = 'C',
               .scope = Scope::records,
               .group = kDoing,
               .help = "like -c, but say nothing"},

    OptionSpec{
        .long_name = "record",
        .value = ValueKind::required,
        .value_name = "SPEC",
        .words = "lines csv tsv parquet arrow u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:",
        .completion = Completion::words,
        .group = kOrdering,
        .help = "what a record is (see RECORDS; default: lines)"},
    OptionSpec{.long_name = "header",
               .scope = Scope::text,
               .group = kDoing,
               .help = "the first record of each input is a header: keep the first one in front",
               .details = "The columns of CSV and TSV files can then be called by their names."},
    OptionSpec{.long_name = "empty",
               .value = ValueKind::required,
               .value_name = "WHERE",
               .words = "first last",
               .completion = Completion::words,
               .scope = Scope::rows,
               .group = kOrdering,
               .help = "where rows go whose key is empty: first (the default) or last"},
    OptionSpec{.long_name = "invalid",
               .value = ValueKind::required,
               .value_name = "WHERE",
               .words = "error first last",
               .completion = Completion::words,
               .scope = Scope::rows,
               .group = kOrdering,
               .help = "where rows go with no number or date in a key of that type: error "
                       "(malformed, the default), first or last",
               .details = "They are ordered by the text of the field, with or without desc, and "
                          "stand behind empty ones of the same end."},
    OptionSpec{.long_name = "malformed",
               .value = ValueKind::required,
               .value_name = "WHAT",
               .words = "error skip",
               .completion = Completion::words,
               .scope = Scope::rows,
               .group = kDoing,
               .help = "rows that cannot be read: error (the default) or skip, and count them"},
    OptionSpec{.long_name = "quote",
               .value = ValueKind::required,
               .value_name = "WHAT",
               .words = "double none",
               .completion = Completion::words,
               .scope = Scope::rows,
               .group = kDoing,
               .help = "what fields of rows may be in: double quotes (the default) or none",
               .details = "With none, quotes are bytes like any other, and each line is a row."},
    OptionSpec{
        .long_name = "keep-order",
        .scope = Scope::records,
        .group = kDoing,
        .help = "with -u: leave records where they are, without those whose key was there before",
        .details =
            "The first record of each key is kept, in the order of the input; keys only say which "
            "records are equal. It takes two sorts at once, each in half of the memory, and "
            "scratch for both. Not with -m, -c, --part-by, --count and other folds, or on GPUs."},
    OptionSpec{.long_name = "count",
               .scope = Scope::records,
               .group = kFolding,
               .help = "as -u, with the number of records of each key",
               .details = "It stands in front of a line, is the last column of a row, and follows "
                          "a binary record as 8 bytes, little-endian: those of u64 become kv64."},
    fold("sum", Scope::fields, "as -u, with the sum over the records of each key in this field"),
    fold("min", Scope::fields, "the same, with the least value"),
    fold("max", Scope::fields, "the same, with the greatest value"),
    fold("mean", Scope::fields, "the same, with the sum divided by the number of values"),
    fold("first", Scope::fields, "the same, with the value of the first record of the input"),
    fold("last", Scope::fields, "the same, with the value of the last record of the input"),
    fold("collect", Scope::rows, "the same, with all values, separated by semicolons"),
    OptionSpec{.long_name = "skip",
               .value = ValueKind::required,
               .value_name = "N",
               .group = kDoing,
               .help = "leave out the first N records of the result"},
    OptionSpec{.long_name = "limit",
               .value = ValueKind::required,
               .value_name = "N",
               .group = kDoing,
               .help = "write only the first N records of the result, or behind --skip"},
    OptionSpec{
        .long_name = "temp-compress",
        .value = ValueKind::optional,
        .value_name = "METHOD",
        .words = "lz4 zstd none",
        .implied = "lz4",
        .completion = Completion::words,
        .group = kResources,
        .help = "compress scratch data: lz4 (the default) or zstd, with a level as in zstd:3"},
    kCompression,
    kIo,
    kVerify,
    OptionSpec{.long_name = "device",
               .value = ValueKind::required,
               .value_name = "KIND",
               .completion = Completion::none,
               .scope = Scope::records,
               .group = kResources,
               .help = "what sorts: auto, cpu, gpu, gpu:all, or gpu:LIST",
               .details = "auto takes GPUs, if there are any, for input that does not fit in the "
                          "memory of -S and is at least a GiB. gpu takes as many as hold all of "
                          "the input, gpu:0,2 those and no others."},
    kGpuMemory,
    kMultiGpu,
    OptionSpec{.long_name = "gpu-merge",
               .value = ValueKind::required,
               .value_name = "WHEN",
               .words = "auto always never",
               .completion = Completion::words,
               .scope = Scope::records,
               .group = kResources,
               .help = "merge binary records on the GPUs that sort: auto, always or never",
               .details = "auto starts on the CPU, and lets GPUs take over where processors, not "
                          "disks, are what the merge waits for. -m uses GPUs if --device names "
                          "them."},
    OptionSpec{.long_name = "progress",
               .value = ValueKind::optional,
               .value_name = "WHEN",
               .words = "auto always never",
               .implied = "always",
               .completion = Completion::words,
               .group = kAsking,
               .help = "show progress on standard error: auto (on a terminal), always, never",
               .details = "Called as sort, the default is never."},
    kParts,
    kPartBytes,
    kPartBy,
    kStats,
    kTimeLine,
    kReport,
    kExplain,
    OptionSpec{.short_name = 'y',
               .value = ValueKind::number,
               .support = Support::ignored,
               .scope = Scope::lines,
               .help = "accepted and ignored"},
};

constexpr Section kTextRecords{
    "RECORDS OF TEXT",
    "  lines    lines of text, as sort(1) sorts them; without --record\n"
    "  csv      rows as RFC 4180 has them: fields separated by commas; a field in\n"
    "           quotes may hold commas and line breaks\n"
    "  tsv      the same, with tabs\n"};

constexpr Section kTextKeys{
    "KEYS OF LINES",
    "A key is given as F[.C][OPTS][,F[.C][OPTS]]: from field F, character C, to field F, character "
    "C; both count from 1. Without C, a key starts with the first character of its field and ends "
    "with the last; without the second part, it ends with the line. OPTS are any of bdfghiMnRrV, "
    "for this key instead of those given for all.\n"
    "\n"
    "  -k 2,2n        the number in the second field\n"
    "  -k 3.5,3.8r    four characters of the third, backwards\n"};

constexpr Section kRowKeys{
    "KEYS OF ROWS",
    "A key is given as COLUMN[:TYPE][:desc], COLUMN being a number from 1 or, with --header, a "
    "name. TYPE is\n"
    "\n"
    "  text       bytes (the default)\n"
    "  number     decimal numbers, floating-point ones too\n"
    "  integer    whole numbers\n"
    "  date       2026-11-30, with or without a time\n"
    "\n"
    "It may end in :desc for descending, or :asc, which also keeps -r away from this key.\n"};

constexpr Section kColumnKeys{
    "KEYS OF COLUMNS",
    "A key is given as COLUMN[:desc][:nulls-first], COLUMN being a name or a number from 1; a name "
    "that is all digits or has a ':' goes in quotes, as in '\"a:b\":desc'. Numbers, dates and "
    "times "
    "are sorted by value, NaN above all others; text by its bytes. Nulls come last, whether "
    "descending or not, unless the key says :nulls-first. :asc and :nulls-last say the usual; :asc "
    "also keeps -r away from this key.\n"};

constexpr Section kRowFolds{
    "FOLDS",
    "With --count, --sum and the like there is one record for each key: the first one, with what "
    "the option says of all of them in place of a field. They can be repeated and combined, each "
    "with a field of its own. Lines have --count only, and Parquet and Arrow files none of them. "
    "(Of binary records, see FOLDS OF BINARY RECORDS.)\n"
    "\n"
    "Of rows, FIELD is COLUMN[:NAME], or for --min and --max COLUMN[:TYPE][:NAME], with columns "
    "and "
    "types as in --key; without a TYPE, values are numbers. With a NAME the field stays, and the "
    "result is a new column of that name (without --header, a column is all that it makes), in the "
    "order of the options, before that of --count. Rows with fewer columns than the header are "
    "filled up before; more are an error. A NAME that is a TYPE or has a ':' goes in quotes.\n"
    "\n"
    "  --sum=amount --max=amount:largest --min=day:date:since\n"
    "\n"
    "Numbers are decimal and sums exact, to the last digit. A mean is the exact sum divided, "
    "rounded "
    "to six decimals more than the sum has, to the nearest, ties to even; zeros at the end of "
    "these "
    "six are left out. --min, --max, --first and --last write the field as it was; of equal ones, "
    "that of the first row. --collect writes the values in the order of the input with ';' between "
    "them, in one field; a value that has a ';', a quote or a line break is in quotes, as in a CSV "
    "file with semicolons. They may take a sixteenth of -S. Empty fields do not count, but for "
    "--first and --last.\n"};

constexpr std::array kSortSections{
    kTextRecords,
    kTextKeys,
    kRowKeys,
    kColumns,
    kColumnKeys,
    Section{"BINARY RECORDS", kRecords.text},
    Section{"KEYS OF BINARY RECORDS", kKeys.text},
    kRowFolds,
    Section{"FOLDS OF BINARY RECORDS", kFolds.text},
    kPartsSection,
    Section{
        "STATISTICS",
        "--stats=json prints one object on standard error:\n"
        "\n"
        "  record, record_kind     the record as given; how its keys are sorted\n"
        "  records_in, records_out, skipped (malformed rows left out)\n"
        "  checksum                multiset hash of the output, as hexadecimal text\n"
        "  input_bytes             0 when it could not be known beforehand\n"
        "  runs, merge_degree, passes    of merging: runs formed, most merged at once,\n"
        "                          passes over the data (0: sorted in memory)\n"
        "  merged_bytes, merged_on_gpu_bytes    records merged, in all passes; of them on GPUs\n"
        "  memory_bytes, sort_memory_bytes, block_bytes, threads, backend\n"
        "  device, no_accelerator  what sorted; why no GPU did, if one could have\n"
        "  devices                 for each GPU: name, sort_seconds, copy_in_seconds,\n"
        "                          copy_out_seconds, while runs were formed\n"
        "  scratch_bytes           most scratch space in use at once\n"
        "  scratch                 for each -T: directory, bytes_written\n"
        "  output_in_place         whether an existing output file was overwritten, because it\n"
        "                          could not be replaced without loss\n"
        "  seconds, gb_per_second  of the whole sort\n"
        "  peak_memory_bytes       resident memory of the process\n"
        "  phases                  for each phase: name, seconds, bytes_read, bytes_written,\n"
        "                          gb_per_second (read and written), read_wait_seconds,\n"
        "                          write_wait_seconds (nothing to do but wait for the disk),\n"
        "                          worker_busy_seconds (summed over threads)\n"
        "\n"
        "--explain --stats=json prints the plan as one object on standard output:\n"
        "\n"
        "  inputs, output, skip, limit, record, record_kind\n"
        "  input_bytes             null, as what follows from it, when it is not known\n"
        "  memory_bytes, sort_memory_bytes, block_bytes, threads, backend\n"
        "  device, no_accelerator\n"
        "  expected_runs           of random input; 1: sorted in memory\n"
        "  merge_degree, passes    most runs merged at once; passes over the data\n"
        "  scratch_bytes           reserved in the scratch_directories; with a limit, at most\n"
        "\n"
        "Columns have other members in both, see STATISTICS OF COLUMNS. Bytes of names that are "
        "not UTF-8 are written as \\udc80 to \\udcff, which os.fsencode() of Python undoes.\n"},
    kColumnStatistics,
    Section{
        "EXIT STATUS",
        "  0    the output is complete: an ordered permutation of the input\n"
        "  1    -c or -C found a record that is out of order (as in sort(1), also: the word of\n"
        "       --sort or --check is none of those there are)\n"
        "  2    an error; no output file was written, unless the message says that it was, or "
        "could not\n"
        "       be written itself\n"},
    Section{
        "EXAMPLES",
        "  xxl sort -t: -k3,3n /etc/passwd\n"
        "  xxl sort -S 2G -T /disk1 -T /disk2 access.log -o access.sorted\n"
        "  xxl sort --record=csv --header --key=price:number:desc --key=name goods.csv\n"
        "  xxl sort --record=csv --header --key=shop --sum=price --max=day:date:last --count "
        "sales\n"
        "  xxl sort --record=parquet --key=user --key=ts:desc 'log/*.parquet' -o sorted.parquet\n"
        "  xxl sort --record=u64 numbers.bin -o sorted.bin\n"
        "  xxl sort --record=fixed:32 --key=8:i64:desc --key=0:u32 events -o events.sorted\n"
        "  producer | xxl sort --record=kv64 -u | consumer\n"},
};

}  // namespace

CommandSpec sort_command() {
  return CommandSpec{
      .name = "sort",
      .operands = "[FILE]...",
      .summary = "sort text and records, of files larger than memory",
      .description =
          "Sorts the lines, rows or records of all FILEs together. Without FILE, or when FILE is "
          "-, standard input is read. Options may come before and after the files, and long "
          "options may be abbreviated.\n"
          "\n"
          "Lines are sorted as sort(1) does, with all of its options: called through a link named "
          "sort, this is that command. Rows and binary records with equal keys keep the order of "
          "the "
          "input, and so do lines with -s. The number of records and a checksum over them are "
          "compared from input to output in every sort.\n"
          "\n"
          "Files that end in .gz, .bgz, .zst, .lz4, .bz2 or .xz are decompressed as they are read, "
          "and so is text that begins like one of these. An output that ends in .gz, .zst or .lz4 "
          "is written compressed (not when called as sort).\n",
      .options = kSortOptions,
      .sections = kSortSections};
}

}  // namespace xxl::cli
