// The options of sort. Those of sort(1) are in its order, in which it lists the possibilities of an
// ambiguous abbreviation; our own follow.
#include <array>

#include "cli/options_shared.h"

namespace xxl::cli {
namespace {

constexpr OptionSpec fold(std::string_view synopsis, Scope scope, std::string_view help) {
  return option(kFolding, synopsis, help, {.scope = scope});
}

constexpr std::array kSortOptions{
    option(kOrdering, "-b, --ignore-leading-blanks", "ignore blanks before keys",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "--check[=WHEN]", "check that one file is sorted; --check=quiet is -C",
           {.words = "quiet silent diagnose-first",
            .implied = "diagnose-first",
            .scope = Scope::records,
            .standard = true,
            .details = "The first line that is out of order is reported as FILE:LINE: disorder: "
                       "TEXT, a row of CSV or TSV as FILE: row NUMBER: disorder: TEXT (a header "
                       "counts), a binary record as FILE:NUMBER: disorder at byte OFFSET (records "
                       "count from 1, bytes from 0), and the exit status is 1. Nothing is "
                       "written. With -u, keys must be strictly ascending."}),
    option(kExperts, "--compress-program=PROG",
           "compress scratch data with PROG, decompress with PROG -d",
           {.scope = Scope::text, .standard = true}),
    option(kOrdering, "--debug", "underline the keys of each line; warn of doubtful usage",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "-d, --dictionary-order", "consider only blanks, letters and digits",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "-f, --ignore-case", "take lower case letters for upper case ones",
           {.scope = Scope::lines, .standard = true}),
    option(kInputTitle, "--files0-from=FILE",
           "read the names of the inputs from FILE, each ended by a zero byte",
           {.standard = true, .details = "If FILE is -, the names are read from standard input."}),
    option(kOrdering, "-g, --general-numeric-sort",
           "compare as floating-point numbers, such as 1e-3, inf",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "-i, --ignore-nonprinting", "consider only printable characters",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "-k, --key=KEY",
           "the key is this part or column; repeatable (xxl help sort keys)",
           {.standard = true,
            .details = "The first key is the most significant. Without one, lines and rows are "
                       "compared as a whole, and binary records by the key of their type."}),
    option(kInputTitle, "-m, --merge", "merge files that are sorted already",
           {.scope = Scope::records,
            .standard = true,
            .details = "A binary file that turns out not to be sorted is an error."}),
    option(kOrdering, "-M, --month-sort", "compare names of months: unknown < JAN < ... < DEC",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "-n, --numeric-sort", "compare as decimal numbers of any length",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "-h, --human-numeric-sort", "compare sizes as people write them: 2K, 1G",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "-V, --version-sort", "compare version numbers within text",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "-R, --random-sort", "shuffle, but keep equal keys together",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "--random-source=FILE",
           "take random bytes for -R from FILE: the same bytes, the same order",
           {.scope = Scope::lines, .standard = true}),
    option(kOrdering, "--sort=WORD",
           "the same as -g, -h, -M, -n, -R or -V: general-numeric, human-numeric, "
           "month, numeric, random, version",
           {.words = "general-numeric human-numeric month numeric random version",
            .scope = Scope::lines,
            .standard = true}),
    option(kOutputTitle, "-o, --output=FILE", kOutput.help,
           {.standard = true, .details = kOutput.details}),
    option(kOrdering, "-r, --reverse", "reverse the order of keys without one of their own",
           {.standard = true}),
    option(kOrdering, "-s, --stable", "lines with equal keys keep the order of the input",
           {.standard = true,
            .details = "Without -s and -u, lines with equal keys are compared as a whole, "
                       "unless there are no keys. Rows and binary records with equal keys keep "
                       "the order of the input in any case."}),
    option(kExperts, "--batch-size=N",
           "merge at most N runs at once (default: as many as memory allows)",
           {.scope = Scope::records, .standard = true}),
    option(
        kResources, "-S, --buffer-size=SIZE",
        "use at most SIZE of memory (default: half of what is free)",
        {.standard = true,
         .details = "A number with b (bytes), K (the default), M, G, T, P or %. It bounds the "
                    "whole process, except for a constant of 48 MiB for code, stacks and "
                    "libraries. Without -S it is half of what the process may still take: of the "
                    "memory that is free, or that its control groups (containers) or ulimit -v and "
                    "-d leave, if that is less; % is a part of the same. For lines, as in "
                    "sort(1), a size that is too small is raised to the least that will do."}),
    option(kInputTitle, "-t, --field-separator=SEP",
           "the character between fields; \\t is a tab, \\0 the zero byte",
           {.scope = Scope::text,
            .standard = true,
            .details = "Of lines, it may have several bytes in a locale of UTF-8. Without -t, a "
                       "field of a line starts where blanks follow a character "
                       "that is not blank; those of a CSV file are separated by commas, those "
                       "of a TSV file by tabs."}),
    option(kResources, "-T, --temporary-directory=DIR",
           "keep scratch files in DIR; repeat it to use several disks",
           {.standard = true,
            .details = "Without -T it is $TMPDIR, or else /var/tmp, or else /tmp. /var/tmp comes "
                       "first because /tmp is often held in memory. Space is reserved before "
                       "the sort starts. Scratch files have no name, so nothing is left behind "
                       "when the sort is killed."}),
    option(kOutputTitle, "-u, --unique", "of records with equal keys, write only the first",
           {.standard = true, .details = "With -c: check that keys are strictly ascending."}),
    option(kInputTitle, "-z, --zero-terminated", "lines end with a zero byte, not a newline",
           {.scope = Scope::lines, .standard = true}),
    option(kResources, "--parallel=N", "use N threads (default: one for each processor)",
           {.standard = true,
            .details = "Fewer are used when -S is too small for N, or if that saves a pass."}),
    kHelpStandard,
    kVersion,
    option(kOrdering, "-c", "like --check", {.scope = Scope::records}),
    option(kOrdering, "-C", "like -c, but say nothing", {.scope = Scope::records}),

    kFormat,
    option(kInputTitle, "--no-header", "the first row is data, not the names of columns",
           {.scope = Scope::rows}),
    option(kInputTitle, "--header",
           "the first record of each input is a header: keep the first one in front",
           {.scope = Scope::text,
            .details = "The columns of CSV and TSV files can then be called by their names."}),
    option(kOrdering, "--empty=WHERE",
           "where rows go whose key is empty: first (the default) or last",
           {.words = "first last",
            .scope = Scope::rows,
            .details = "A key says otherwise with :nulls-first or :nulls-last."}),
    option(kDirty, "--null=TEXT", "TEXT (NA, \\N) in a field means empty; repeatable",
           {.scope = Scope::rows,
            .details = "They are empty in keys and in what --sum and the like read, and are "
                       "written unchanged. Blanks around them do "
                       "not count where a number or a date is expected."}),
    kMalformed,
    kRejects,
    kMaxRejects,
    option(kInputTitle, "--quote=WHAT",
           "what fields of rows may be in: double quotes (the default) or none",
           {.words = "double none",
            .scope = Scope::rows,
            .details = "With none, quotes are bytes like any other, and each line is a row."}),
    kEscape,
    kComment,
    option(
        kOutputTitle, "--keep-order",
        "with -u: leave records where they are, without those whose key was there before",
        {.scope = Scope::records,
         .details =
             "The first record of each key is kept, in the order of the input; keys only say which "
             "records are equal. It takes two sorts at once, each in half of the memory, and "
             "scratch for both. Not with -m, -c, --part-by, --count and other folds, or on GPUs."}),
    option(kFolding, "--count", "as -u, with the number of records of each key",
           {.scope = Scope::records,
            .details = "It stands in front of a line, is the last column of a row, and follows "
                       "a binary record as 8 bytes, little-endian: those of u64 become kv64."}),
    fold("--sum=FIELD", Scope::fields,
         "as -u, with the sum over the records of each key in this field"),
    fold("--min=FIELD", Scope::fields, "the same, with the least value"),
    fold("--max=FIELD", Scope::fields, "the same, with the greatest value"),
    fold("--mean=FIELD", Scope::fields, "the same, with the sum divided by the number of values"),
    fold("--first=FIELD", Scope::fields,
         "the same, with the value of the first record of the input"),
    fold("--last=FIELD", Scope::fields, "the same, with the value of the last record of the input"),
    fold("--collect=FIELD", Scope::rows, "the same, with all values, separated by semicolons"),
    option(kOutputTitle, "--skip=N", "leave out the first N records of the result"),
    option(kOutputTitle, "--limit=N",
           "write only the first N records of the result (after --skip)"),
    option(kResources, "--temp-compress[=METHOD]",
           "compress scratch data: lz4 (the default) or zstd, with a level as in zstd:3",
           {.words = "lz4 zstd none", .implied = "lz4"}),
    kCompression,
    kIo,
    kVerify,
    option(kGpus, "--device=KIND", "what sorts: auto, cpu, gpu, gpu:all, or gpu:LIST",
           {.scope = Scope::records,
            .details = "auto takes GPUs, if there are any, for input that does not fit in the "
                       "memory of -S and is at least a GiB. gpu takes as many as hold all of "
                       "the input, gpu:0,2 those and no others."}),
    kGpuMemory,
    kMultiGpu,
    option(kGpus, "--gpu-merge=WHEN",
           "merge binary records on the GPUs that sort: auto, always or never",
           {.words = "auto always never",
            .scope = Scope::records,
            .details = "auto starts on the CPU, and lets GPUs take over where processors, not "
                       "disks, are what the merge waits for. -m uses GPUs if --device names "
                       "them."}),
    option(kAsking, "--progress[=WHEN]",
           "show progress on standard error: auto (on a terminal), always, never",
           {.words = "auto always never",
            .implied = "always",
            .details = "Called as sort, the default is never."}),
    kParts,
    kPartBytes,
    kPartBy,
    kStats,
    kTimeLine,
    kReport,
    kExplain,
    option(kOrdering, "-y", "", {.value = ValueKind::number, .scope = Scope::lines}),
};

constexpr Section kTextRecords{
    "RECORDS OF TEXT",
    "  lines    lines of text, as sort(1) sorts them; without --record\n"
    "  csv      rows as RFC 4180 has them: fields separated by commas; a field in\n"
    "           quotes may hold commas and line breaks\n"
    "  tsv      the same, with tabs\n",
    Scope::text, kInputTitle};

constexpr Section kTextKeys{
    "KEYS OF LINES",
    "A key is given as F[.C][OPTS][,F[.C][OPTS]]: from field F, character C, to field F, character "
    "C; both count from 1. Without C, a key starts with the first character of its field and ends "
    "with the last; without the second part, it ends with the line. OPTS are any of bdfghiMnRrV, "
    "for this key instead of those given for all.\n"
    "\n"
    "  -k 2,2n        the number in the second field\n"
    "  -k 3.5,3.8r    four characters of the third, backwards\n",
    Scope::lines, kOrdering};

constexpr Section kRowKeys{
    "KEYS OF ROWS",
    "A key is a list of columns with commas between, the most significant first. COLUMN is a "
    "number from 1, or from the last column back (-1), or a name of the header. 2-4 is three "
    "columns, 2- all from the second. A name that is a number, or has a ':' or a ',', goes in "
    "quotes: '\"a,b\":desc'. Words follow the column, each after a ':', in any order. One is its "
    "type:\n"
    "\n"
    "  text, t                 bytes (the default)\n"
    "  number, num, n, float   decimal numbers of any length, exponents too\n"
    "  integer, int, i         whole numbers\n"
    "  date, d                 2026-11-30, with or without a time\n"
    "  ci                      text without regard to upper and lower case\n"
    "  natural                 text with numbers in it: file2 before file10\n"
    "  version                 as sort -V: 1.9 before 1.10\n"
    "\n"
    "Others are :desc, :asc (which also keeps -r away from this key), :nulls-first and :nulls-last "
    "(for empty fields, instead of --empty).\n"
    "\n"
    "  --key=amount:n:desc,name\n"
    "  --key=name:ci,date:d:desc:nulls-last\n"
    "  --key=-1:int\n"
    "\n"
    "A number written in another way has a FORMAT after its type, an example: "
    "price:number:1.234,56 or price:number:$1,234.56 or share:number:12,5 %. It says which mark is "
    "between thousands and which before decimals. The mark between thousands and the letters or "
    "signs around the number may be missing in a field. A date has a FORMAT with %d %m %Y %y %b %B "
    "%j %H %M %S %f %p %z, as strptime(3) has them: day:date:%d/%m/%Y. A FORMAT may be in quotes, "
    "and must be if the words after it could belong to it.\n",
    Scope::rows, kOrdering};

constexpr Section kColumnKeys{
    "KEYS OF COLUMNS",
    "Keys are given as those of rows, without types: COLUMN[:desc][:nulls-first], several with "
    "commas between. Numbers, dates and times are sorted by value, NaN above all others; text by "
    "its bytes. Nulls come last, whether descending or not, unless the key says :nulls-first.\n",
    Scope::columns, kOrdering};

constexpr Section kRowFolds{
    "FOLDS",
    "With --count, --sum and the like there is one record for each key: the first one, with "
    "what the option says of all of them in place of a field. They can be repeated and "
    "combined, each with a field of its own. Lines have --count only, and Parquet and Arrow "
    "files cannot have them.\n"
    "\n"
    "Of rows, FIELD is COLUMN[:NAME], or for --min and --max COLUMN[:TYPE][:NAME], with columns "
    "and types as in --key; without a TYPE, values are numbers. A FORMAT stands after the type, "
    "for --sum and --mean as well (price:number:1.234,56), which then write their result like "
    "that. With a NAME the field stays, "
    "and the result is a new column of that name (without --header, a column is all that it "
    "makes), in the order of the options, before that of --count. Rows with fewer columns than "
    "the header are filled up before; more are an error. A NAME that is a TYPE, has a ':' or "
    "looks like a FORMAT goes in quotes.\n"
    "\n"
    "  --sum=amount --max=amount:largest --min=day:date:since\n"
    "\n"
    "Numbers are decimal and sums exact, to the last digit. A mean is the exact sum divided, "
    "rounded to six decimals more than the sum has, to the nearest, ties to even; zeros at the "
    "end of these six are left out. --min, --max, --first and --last write the field as it was; "
    "of equal ones, that of the first row. --collect writes the values in the order of the "
    "input with ';' between them, in one field; a value that has a ';', a quote or a line break "
    "is in quotes, as in a CSV file with semicolons. They may take a sixteenth of -S. Empty "
    "fields do not count, but for --first and --last.\n",
    Scope::rows, kFolding};

constexpr std::array kSortSections{
    kTextRecords,
    kTextKeys,
    kRowKeys,
    kColumns,
    kColumnKeys,
    Section{"BINARY RECORDS", kRecords.text, Scope::binary},
    Section{"KEYS OF BINARY RECORDS", kKeys.text, Scope::binary, kOrdering},
    kRowFolds,
    Section{"FOLDS OF BINARY RECORDS", kFolds.text, Scope::binary, kFolding},
    kPartsSection,
    Section{
        "STATISTICS",
        "--stats=json prints one object on standard error:\n"
        "\n"
        "  record, record_kind     the record as given; how its keys are sorted\n"
        "  records_in, records_out, skipped (malformed rows left out),\n"
        "  kept (malformed rows in the output), first_fault\n"
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
        "not UTF-8 are written as \\udc80 to \\udcff, which os.fsencode() of Python undoes.\n",
        Scope::all, kOnlyInManual},
    kColumnStatistics,
    Section{"EXIT STATUS",
            "  0    the output is complete: an ordered permutation of the input\n"
            "  1    -c or -C found a record out of order, or the word of --sort or --check is\n"
            "       unknown, as in sort(1)\n"
            "  2    an error; no output file was written, unless the message says so\n"},
};

}  // namespace

CommandSpec sort_command() {
  return CommandSpec{
      .name = "sort",
      .operands = "[FILE]...",
      .summary = "sort text and records, of files larger than memory",
      .description =
          "Sorts the lines, rows or records of all FILEs together. Without FILE, or when FILE "
          "is -, standard input is read. Options may come before and after the files, and long "
          "options may be abbreviated.\n"
          "\n"
          "Lines are sorted as sort(1) does, with all of its options: called through a link "
          "named sort, this is that command. Rows and binary records with equal keys keep the "
          "order of the input, and so do lines with -s. The number of records and a checksum "
          "over them are compared from input to output in every sort.\n"
          "\n"
          "Files that end in .gz, .bgz, .zst, .lz4, .bz2 or .xz are decompressed as they are "
          "read, and so is text that begins like one of these. An output that ends in .gz, .zst "
          "or .lz4 is written compressed (not when called as sort).\n",
      .examples =
          "  xxl sort --csv --key=price:number:desc,name goods.csv -o sorted.csv\n"
          "  xxl sort -t: -k3,3n /etc/passwd\n"
          "  xxl sort -S 2G -T /disk1 -T /disk2 access.log -o access.sorted\n"
          "  xxl sort --parquet --key=user,ts:desc 'log/*.parquet' -o sorted.parquet\n"
          "  xxl sort --format=fixed:32 --key=8:i64:desc events -o events.sorted\n"
          "  producer | xxl sort --format=kv64 -u | consumer\n",
      .everyday =
          "format key reverse numeric-sort unique field-separator limit output buffer-size explain",
      .options = kSortOptions,
      .sections = kSortSections};
}

}  // namespace xxl::cli
