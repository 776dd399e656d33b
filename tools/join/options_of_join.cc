// The options of join. Those of join(1) are in its order, as far as that is the order in which it
// lists the possibilities of an ambiguous abbreviation.
#include <array>
#include <vector>

#include "cli/options_shared.h"

namespace xxl::cli {
namespace {

constexpr std::string_view kWhat = "What to join by";
constexpr std::string_view kRows = "Which rows to write";

constexpr std::array kJoinOptions{
    OptionSpec{.long_name = "ignore-case",
               .short_name = 'i',
               .scope = Scope::lines,
               .standard = true,
               .group = kWhat,
               .help = "ignore differences in case when comparing fields"},
    OptionSpec{
        .long_name = "check-order",
        .scope = Scope::records,
        .standard = true,
        .group = kWhat,
        .help = "check that the inputs are in the order of their keys, instead of sorting them",
        .details = "xxl join sorts its inputs: there, it is the same as --presorted. Called "
                   "as join, the check is made in any case once a line was found that has "
                   "no partner; with this option it is made always, and disorder ends the "
                   "join."},
    OptionSpec{.long_name = "nocheck-order",
               .scope = Scope::records,
               .standard = true,
               .group = kWhat,
               .help = "do not check that the inputs are in order",
               .details = "xxl join sorts its inputs, whatever their order; it excludes "
                          "--presorted."},
    OptionSpec{.long_name = "zero-terminated",
               .short_name = 'z',
               .scope = Scope::lines,
               .standard = true,
               .group = kWhat,
               .help = "lines end with a zero byte, not a newline"},
    OptionSpec{.long_name = "header",
               .scope = Scope::text,
               .standard = true,
               .group = kWhat,
               .help = "the first record of each input is a header: write both, joined, in front",
               .details = "The columns of CSV and TSV files can then be called by their names."},
    OptionSpec{.short_name = '1',
               .value = ValueKind::required,
               .value_name = "FIELD",
               .scope = Scope::text,
               .standard = true,
               .group = kWhat,
               .help = "join on this field of R (default: 1)",
               .details = "A number from 1: a field of a line, a column of a row. The same as "
                          "--key1=FIELD."},
    OptionSpec{.short_name = '2',
               .value = ValueKind::required,
               .value_name = "FIELD",
               .scope = Scope::text,
               .standard = true,
               .group = kWhat,
               .help = "join on this field of S (default: 1)"},
    OptionSpec{.short_name = 'j',
               .value = ValueKind::required,
               .value_name = "FIELD",
               .scope = Scope::text,
               .standard = true,
               .group = kWhat,
               .help = "the same as -1 FIELD -2 FIELD",
               .details = "The obsolescent -j1 FIELD and -j2 FIELD are those of join(1)."},
    OptionSpec{.short_name = 't',
               .value = ValueKind::required,
               .value_name = "CHAR",
               .scope = Scope::text,
               .standard = true,
               .group = kWhat,
               .help = "the character between fields; \\0 is the zero byte, '' none",
               .details =
                   "Without -t, fields of a line are separated by blanks, and those in front "
                   "of the line do not count; rows are written with a blank between their "
                   "fields. With -t '' a line is one field. In a locale of UTF-8 the character "
                   "may have several bytes. Fields of a CSV file are separated by commas, those "
                   "of a TSV file by tabs."},
    OptionSpec{.short_name = 'a',
               .value = ValueKind::required,
               .value_name = "FILENUM",
               .scope = Scope::text,
               .standard = true,
               .group = kRows,
               .help = "also write records of R (1) or S (2) that have no partner; repeatable"},
    OptionSpec{.short_name = 'v',
               .value = ValueKind::required,
               .value_name = "FILENUM",
               .scope = Scope::text,
               .standard = true,
               .group = kRows,
               .help = "like -a FILENUM, but leave out pairs"},
    OptionSpec{.short_name = 'o',
               .value = ValueKind::required,
               .value_name = "FORMAT",
               .scope = Scope::lines,
               .standard = true,
               .group = kRows,
               .help = "list of fields that rows consist of, or auto (not a file: --output)",
               .details =
                   "auto: as many fields of each side as its first line has. The output file "
                   "is given with --output."},
    OptionSpec{.short_name = 'e',
               .value = ValueKind::required,
               .value_name = "STRING",
               .scope = Scope::text,
               .standard = true,
               .group = kRows,
               .help = "write STRING in place of fields that are missing or empty",
               .details = "As join(1) does. Without -o it is not known which fields of lines are "
                          "missing, unless they are keys."},

    OptionSpec{
        .long_name = "record",
        .value = ValueKind::required,
        .value_name = "SPEC",
        .words = "lines csv tsv parquet arrow u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:",
        .completion = Completion::words,
        .group = kWhat,
        .help = "what a record is (see RECORDS; default: lines)"},
    OptionSpec{.long_name = "record1",
               .value = ValueKind::required,
               .value_name = "SPEC",
               .words = kRecordWords,
               .completion = Completion::words,
               .scope = Scope::binary,
               .group = kWhat,
               .help = "what a record of R is, if those of S are others"},
    OptionSpec{.long_name = "record2",
               .value = ValueKind::required,
               .value_name = "SPEC",
               .words = kRecordWords,
               .completion = Completion::words,
               .scope = Scope::binary,
               .group = kWhat,
               .help = "what a record of S is, if those of R are others"},
    OptionSpec{.long_name = "key",
               .value = ValueKind::required,
               .value_name = "SPEC",
               .group = kWhat,
               .help = "the key, or a part of it, of both sides (see KEYS); repeatable",
               .details = "The first one is the most significant in the order of the output. "
                          "Without one, lines and rows are joined on their first field, binary "
                          "records on the key of their type."},
    OptionSpec{.long_name = "key1",
               .value = ValueKind::required,
               .value_name = "SPEC",
               .group = kWhat,
               .help = "the key, or a part of it, of R; repeatable",
               .details = "Keys of R and S have as many parts, of the same types and directions."},
    OptionSpec{.long_name = "key2",
               .value = ValueKind::required,
               .value_name = "SPEC",
               .group = kWhat,
               .help = "the key, or a part of it, of S; repeatable"},
    OptionSpec{.long_name = "empty-keys",
               .value = ValueKind::required,
               .value_name = "WHAT",
               .words = "equal never",
               .completion = Completion::words,
               .scope = Scope::text,
               .group = kWhat,
               .help = "keys with an empty field: equal to each other, or to nothing (never)",
               .details = "equal is the default, as in join(1). never is what SQL does with NULL."},
    OptionSpec{.long_name = "presorted",
               .value = ValueKind::optional,
               .value_name = "SIDE",
               .words = "1 2 both",
               .implied = "both",
               .completion = Completion::words,
               .scope = Scope::records,
               .group = kWhat,
               .help = "R (1), S (2) or both are in the order of their keys: do not sort them",
               .details =
                   "They are read once, also from a pipe, and checked on the way: disorder is "
                   "an error."},
    OptionSpec{.long_name = "malformed",
               .value = ValueKind::required,
               .value_name = "WHAT",
               .words = "error skip",
               .completion = Completion::words,
               .scope = Scope::rows,
               .group = kWhat,
               .help = "rows that cannot be read: error (the default) or skip, and count them"},
    OptionSpec{.long_name = "quote",
               .value = ValueKind::required,
               .value_name = "WHAT",
               .words = "double none",
               .completion = Completion::words,
               .scope = Scope::rows,
               .group = kWhat,
               .help = "what fields of rows may be in: double quotes (the default) or none",
               .details = "With none, quotes are bytes like any other, and each line is a row."},
    OptionSpec{.long_name = "how",
               .value = ValueKind::required,
               .value_name = "KIND",
               .words = "inner left right full semi anti",
               .completion = Completion::words,
               .group = kRows,
               .help = "inner (the default), left, right, full, semi or anti",
               .details = "inner: a row for each pair of records with equal keys. left: and each "
                          "record of R that has no partner; right: of S; full: both. semi: each "
                          "record of R that has a partner, as it is; anti: that has none."},
    OptionSpec{.long_name = "layout",
               .value = ValueKind::required,
               .value_name = "LIST",
               .scope = Scope::binary,
               .group = kRows,
               .help = "what a row consists of (see ROWS OF BINARY RECORDS)"},
    OptionSpec{
        .long_name = "suffixes",
        .value = ValueKind::required,
        .value_name = "R,S",
        .scope = Scope::tables,
        .group = kRows,
        .help =
            "suffixes of column names that both sides have (default: _1,_2; of columns ,_right)",
        .details = "Of columns those of R keep their names: ,S."},
    OptionSpec{.long_name = "count", .group = kRows, .help = "write no rows: print their number"},
    OptionSpec{.long_name = "output",
               .value = ValueKind::required,
               .value_name = "FILE",
               .completion = Completion::file,
               .group = kRows,
               .help = kOutput.help,
               .details = kOutput.details},
    OptionSpec{
        .long_name = "method",
        .value = ValueKind::required,
        .value_name = "NAME",
        .words = "auto sort-merge hash",
        .completion = Completion::words,
        .group = kResources,
        .help = "how to join: auto, sort-merge or hash",
        .details =
            "sort-merge: both inputs are sorted, or come so; rows come in the order of "
            "their keys, within a key in that of R, then of S. hash, not of text: "
            "the smaller input, of columns S, is held in memory, and rows come in no particular "
            "order; if it does not fit, both are sorted. auto, of columns: hash. Else it sorts "
            "what is sorted already or fits in memory, or takes hash "
            "for binary records if the table fits in memory and much input is not expected to be "
            "sorted in clearly less time, else sorts on disk; --explain says why."},
    OptionSpec{.long_name = "buffer-size",
               .short_name = 'S',
               .value = ValueKind::required,
               .value_name = "SIZE",
               .group = kResources,
               .help = "use at most SIZE of memory (default: half of what is free)",
               .details =
                   "A number with b (bytes), K (the default), M, G, T, P or %. It bounds the "
                   "whole process, except for a constant of 48 MiB for code, stacks and "
                   "libraries. Without -S it is half of what the process may still take: of the "
                   "memory that is free, or that its control groups (containers) or ulimit -v and "
                   "-d leave, if that is less; % is a part of the same."},
    OptionSpec{.long_name = "temporary-directory",
               .short_name = 'T',
               .value = ValueKind::required,
               .value_name = "DIR",
               .completion = Completion::directory,
               .group = kResources,
               .help = "keep scratch files in DIR; repeat it to use several disks",
               .details = "Without -T it is $TMPDIR, or else /var/tmp, or else /tmp. Scratch files "
                          "have no name, so nothing is left behind when the join is killed."},
    OptionSpec{.long_name = "parallel",
               .value = ValueKind::required,
               .value_name = "N",
               .group = kResources,
               .help = kParallel.help,
               .details = "Fewer are used when -S is too small for N."},
    OptionSpec{
        .long_name = "batch-size",
        .value = ValueKind::required,
        .value_name = "N",
        .scope = Scope::records,
        .group = kResources,
        .help = "merge at most N runs of an input at once (default: as many as memory allows)"},
    kCompression,
    kIo,
    kVerify,
    OptionSpec{.long_name = "device",
               .value = ValueKind::required,
               .value_name = "KIND",
               .scope = Scope::records,
               .group = kResources,
               .help = "what sorts and joins: auto, cpu, gpu, gpu:all, or gpu:LIST",
               .details = "auto takes GPUs, if there are any, for input that does not fit in the "
                          "memory of -S and is at least a GiB. Text is sorted and joined on the "
                          "CPU."},
    kGpuMemory,
    kMultiGpu,
    kHelpStandard,
    kVersion,
    OptionSpec{.long_name = "progress",
               .value = ValueKind::optional,
               .value_name = "WHEN",
               .words = "auto always never",
               .implied = "always",
               .completion = Completion::words,
               .group = kAsking,
               .help = "show progress on standard error: auto (on a terminal), always, never"},
    kParts,
    kPartBytes,
    kPartBy,
    kStats,
    kTimeLine,
    kReport,
    kExplain,
};

constexpr std::array kJoinSections{
    Section{"RECORDS OF TEXT",
            "  lines    lines of text, as join(1) joins them; without --record\n"
            "  csv      rows as RFC 4180 has them: fields separated by commas; a field in\n"
            "           quotes may hold commas and line breaks\n"
            "  tsv      the same, with tabs\n"},
    Section{
        "KEYS OF LINES",
        "A key is given as the number of a field, from 1. Fields are compared as join(1) does: in "
        "the order of the locale; with -i by bytes, upper and lower case being equal. A field that "
        "is missing is empty. Several keys are given in order of significance.\n"},
    Section{
        "KEYS OF ROWS",
        "A key is given as COLUMN[:TYPE][:desc], COLUMN being a number from 1 or, with --header, "
        "a name. TYPE is text (bytes; the default), number, integer or date, as for xxl sort. "
        "Numbers are equal if their values are: 1.0 matches 1.\n"},
    Section{
        "ROWS OF LINES",
        "FORMAT is a list of fields, separated by commas or blanks: 0 is the key, 1.N field N of "
        "R, 2.N field N of S. Without -o, a row is the key, then the other fields of R, then "
        "those of S.\n"},
    Section{
        "ROWS OF CSV AND TSV",
        "A row is the columns of the key (as R has them; of a row without R, as S has them), then "
        "R's other columns, then S's. Fields are copied as they were written. Columns of a side "
        "that a row has no record of are empty. Rows that have fewer columns than the header, or "
        "the first row, are filled up; more are an error. With -e, what it says is written in "
        "place of all fields that are missing or empty, in quotes too.\n"},
    kColumns,
    Section{
        "KEYS AND ROWS OF COLUMNS",
        "A key is the name of a column, or its number from 1; a name that is all digits goes in "
        "quotes. A null equals nothing. A row is the columns of R, then the others of S; columns "
        "that are joined by are there once, with R's name. Rows come in the order of R, those of S "
        "alone last; or, by sort-merge, in that of their keys. "
        "R and S may be directories or quoted patterns.\n"},
    Section{"BINARY RECORDS", kRecords.text},
    Section{"KEYS OF BINARY RECORDS", kKeys.text},
    Section{"KEYS OF TWO FORMATS",
            "The keys of R and S have as many parts, of the same types and lengths and in the same "
            "directions; where they lie and in what byte order they are stored may differ.\n"},
    Section{"ROWS OF BINARY RECORDS",
            "A row is the key once, then R's other bytes, then S's; of semi and anti joins, R's "
            "record. With --layout it is a list of parts separated by commas:\n"
            "\n"
            "  0                 the key\n"
            "  1.OFFSET:BYTES    bytes of R's record\n"
            "  2.OFFSET:BYTES    bytes of S's record\n"
            "  m                 one byte: 1 if the row has an R, plus 2 if it has an S\n"
            "\n"
            "Bytes of a missing record are zero.\n"},
    Section{
        "CALLED AS JOIN",
        "Through a link named join, the program is join(1): it takes the options of join(1) only, "
        "expects its inputs in order, joins them as they are read, and what it prints is what "
        "GNU join 9.1 prints, to the letter. Its exit status is 1 on errors.\n"},
    kPartsSection,
    Section{
        "STATISTICS",
        "--stats=json prints one object on standard error:\n"
        "\n"
        "  record, kind, method    the records as given; how they were joined\n"
        "  because                 why this method\n"
        "  inputs                  for each of R and S: records, skipped, matched (records\n"
        "                          with a partner), runs, passes (merge passes before the\n"
        "                          last), presorted, device\n"
        "  rows, bytes_written, checksum    of the output (with --count, rows only); checksum is\n"
        "                          a multiset hash of its rows, as hexadecimal text\n"
        "  devices                 for each GPU: name, sort_seconds, copy_in_seconds,\n"
        "                          copy_out_seconds\n"
        "  memory_bytes, table_bytes, threads, backend, no_accelerator\n"
        "  spilled_bytes           of groups of equal keys that did not fit in memory\n"
        "  scratch_bytes           most scratch space in use at once\n"
        "  output_in_place         whether an existing output file was overwritten, because it\n"
        "                          could not be replaced without loss\n"
        "  seconds, peak_memory_bytes\n"
        "  phases                  for each phase: name, seconds, bytes_read, bytes_written,\n"
        "                          gb_per_second, read_wait_seconds, write_wait_seconds,\n"
        "                          worker_busy_seconds\n"
        "\n"
        "--explain --stats=json prints the plan as one object on standard output:\n"
        "\n"
        "  inputs                  for each of R and S: file, record, input_bytes (null, as what\n"
        "                          follows from it, when it is not known), presorted,\n"
        "                          expected_runs, passes, scratch_bytes, device\n"
        "  output, kind, method, because, memory_bytes, table_bytes, threads, backend,\n"
        "  no_accelerator, scratch_directories\n"
        "\n"
        "Columns have other members in both, see STATISTICS OF COLUMNS. Bytes of names that are "
        "not UTF-8 are written as \\udc80 to \\udcff, which os.fsencode() of Python undoes.\n"},
    kColumnStatistics,
    Section{"EXAMPLES",
            "  xxl join -a1 -o auto -e - users.txt orders.txt\n"
            "  xxl join --record=csv --header --key1=id --key2=user_id users.csv orders.csv\n"
            "  xxl join --record=parquet --key1=id --key2=user users.parquet orders.parquet\n"
            "      --how=left --output=both.parquet\n"
            "  xxl join --record=kv64 --how=semi --presorted=1 big.bin small.bin\n"},
    Section{"EXIT STATUS",
            "  0    the output is complete\n"
            "  2    an error (1, if the program is called as join); no output file was written, "
            "unless\n"
            "       the message says that it was, or could not be written itself\n"},
};

// The options that join(1) has.
const std::vector<OptionSpec>& standard_options() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> standard;
    for (const OptionSpec& option : kJoinOptions) {
      if (option.standard) standard.push_back(option);
    }
    return standard;
  }();
  return options;
}

constexpr std::array kStandInSections{
    Section{
        "FORMAT",
        "A list of fields, separated by commas or blanks: 0 is the field joined on, 1.N field N "
        "of R, 2.N field N of S. Without -o, a row is the field joined on, then the other "
        "fields of R, then those of S.\n"},
};

}  // namespace

CommandSpec join_command() {
  return {.name = "join",
          .operands = "R S",
          .summary = "join files larger than memory",
          .description =
              "Writes a row for each pair of a record of R and one of S that have equal keys. The "
              "inputs may be in any order and of any size; what is not said to be sorted is sorted "
              "on the way. One of them may be -, standard input. For lines, options and rows are "
              "those of join(1).\n",
          .options = kJoinOptions,
          .sections = kJoinSections};
}

CommandSpec stand_in_join_command() {
  CommandSpec command = join_command();
  command.description =
      "Writes a row for each pair of a line of R and one of S that have equal fields, as join(1) "
      "does. Both must be in the order of these fields. One of them may be -, standard input.\n";
  command.options = standard_options();
  command.sections = kStandInSections;
  return command;
}

}  // namespace xxl::cli
