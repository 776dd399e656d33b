// The options of join. Those of join(1) are in its order, as far as that is the order in which it
// lists the possibilities of an ambiguous abbreviation.
#include <array>
#include <vector>

#include "cli/options_shared.h"

namespace xxl::cli {
namespace {

constexpr std::array kJoinOptions{
    option(kOrdering, "-i, --ignore-case", "ignore differences in case when comparing fields",
           {.scope = Scope::lines, .standard = true}),
    option(kInputTitle, "--check-order",
           "check that the inputs are in the order of their keys, instead of sorting them",
           {.scope = Scope::records,
            .standard = true,
            .details = "xxl join sorts its inputs: there, it is the same as --presorted. Called "
                       "as join, the check is made in any case once a line was found that has "
                       "no partner; with this option it is made always, and disorder ends the "
                       "join."}),
    option(kInputTitle, "--nocheck-order", "do not check that the inputs are in order",
           {.scope = Scope::records,
            .standard = true,
            .details = "xxl join sorts its inputs, whatever their order; it excludes "
                       "--presorted."}),
    option(kInputTitle, "-z, --zero-terminated", "lines end with a zero byte, not a newline",
           {.scope = Scope::lines, .standard = true}),
    option(kInputTitle, "--header",
           "the first record of each input is a header: write both, joined, in front",
           {.scope = Scope::text,
            .standard = true,
            .details = "The columns of CSV and TSV files can then be called by their names."}),
    option(kOrdering, "-1 FIELD", "join on this field of the left file",
           {.scope = Scope::text,
            .standard = true,
            .details = "The number of a field or column, from 1, or the name of a column. Without "
                       "a key, lines are joined on their first fields."}),
    option(kOrdering, "-2 FIELD", "join on this field of the right file",
           {.scope = Scope::text, .standard = true}),
    option(kOrdering, "-j FIELD", "the same as -1 FIELD -2 FIELD",
           {.scope = Scope::text,
            .standard = true,
            .details = "The obsolescent -j1 FIELD and -j2 FIELD are those of join(1)."}),
    option(
        kInputTitle, "-t CHAR", "the character between fields; \\0 is the zero byte, '' none",
        {.scope = Scope::text,
         .standard = true,
         .details = "Without -t, fields of a line are separated by blanks, and those in front "
                    "of the line do not count; rows are written with a blank between their "
                    "fields. With -t '' a line is one field. In a locale of UTF-8 the character "
                    "may have several bytes. Fields of a CSV file are separated by commas, those "
                    "of a TSV file by tabs."}),
    option(kOutputTitle, "-a FILENUM",
           "also write the left (1) or right (2) records that have no match; repeatable",
           {.scope = Scope::text, .standard = true}),
    option(kOutputTitle, "-v FILENUM", "like -a FILENUM, but leave out pairs",
           {.scope = Scope::text, .standard = true}),
    option(kOutputTitle, "-e STRING", "write STRING in place of missing and empty fields",
           {.scope = Scope::text,
            .standard = true,
            .details = "As join(1) does. Without a list of fields it is not known which fields of "
                       "lines are missing, unless they are keys."}),

    option(kInputTitle, "--format=FORMAT",
           "what the files hold: lines, csv, tsv, parquet, arrow, fixed:N, u64, ... (for short "
           "--csv, --tsv, --parquet, --arrow)",
           {.words = "lines csv tsv parquet arrow u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:",
            .details = kFormat.details}),
    option(kInputTitle, "--no-header", "the first rows are data, not the names of columns",
           {.scope = Scope::rows}),
    option(kInputTitle, "--record1=SPEC", "what a left record is, if the right ones are others",
           {.words = kRecordWords, .scope = Scope::binary}),
    option(kInputTitle, "--record2=SPEC", "what a right record is, if the left ones are others",
           {.words = kRecordWords, .scope = Scope::binary}),
    option(kOrdering, "-k, --on=KEYS", "what to join by: id, or city,day:date",
           {.details = "The first key is the most significant in the order of the output. The "
                       "option may be repeated. A key is required for CSV, TSV, Parquet and Arrow. "
                       "Without one, lines are joined on their first field, binary records on the "
                       "key of their type."}),
    option(kOrdering, "--left-on=KEYS", "what to join by on the left, if not the same",
           {.details = "Both sides have as many keys, of the same types and directions."}),
    option(kOrdering, "--right-on=KEYS", "what to join by on the right"),
    option(kOrdering, "--empty-keys=WHAT",
           "keys with an empty field: equal to each other, or to nothing (never)",
           {.words = "equal never",
            .scope = Scope::text,
            .details = "equal is the default, as in join(1). never is what SQL does with NULL."}),
    option(kDirty, "--null=TEXT", "TEXT (NA, \\N) in a field means empty; repeatable",
           {.scope = Scope::rows,
            .details = "They are empty in keys, and are written unchanged. Blanks around them do "
                       "not count where a number or a date is expected."}),
    option(kInputTitle, "--presorted[=SIDE]",
           "left (1), right (2) or both are in the order of their keys: do not sort them",
           {.words = "1 2 both",
            .implied = "both",
            .scope = Scope::records,
            .details = "They are read once, also from a pipe, and checked on the way: disorder is "
                       "an error."}),
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
    option(kOutputTitle, "--how=KIND",
           "inner, left, right, full, semi, anti or cross (default: inner)",
           {.words = "inner left right full outer semi anti right-semi right-anti cross",
            .details = "inner: a row for each pair of records with equal keys. left: also each "
                       "left record without a match. right: also each right one. full, or outer: "
                       "both. semi: each left record with a match, as it is. anti: each left "
                       "record without a match. right-semi and right-anti: the same for right "
                       "records. cross: all pairs of CSV or TSV rows, without a key."}),
    option(kOutputTitle, "--layout=FORMAT",
           "the fields of a row, for lines and binary records: --layout=0,1.2,2.3",
           {.scope = Scope::records,
            .details = "See ROWS OF LINES and ROWS OF BINARY RECORDS. auto (for lines): as many "
                       "fields of each side as its first line has."}),
    option(kOutputTitle, "--suffixes=LEFT,RIGHT",
           "suffixes of column names that both sides have (default: _1,_2; for Parquet ,_right)",
           {.scope = Scope::tables,
            .details = "For Parquet and Arrow, columns of the left side keep their names: "
                       ",RIGHT."}),
    option(kOutputTitle, "--count", "write no rows: print their number"),
    option(kOutputTitle, "-o, --output=FILE", kOutput.help, {.details = kOutput.details}),
    option(
        kResources, "--method=NAME", "how to join: auto, sort-merge or hash",
        {.words = "auto sort-merge hash",
         .details =
             "sort-merge: both inputs are sorted, or come so; rows come in the order of "
             "their keys, within a key in that of the left file, then of the right. hash, not for "
             "text: the smaller input, for columns the right one, is held in memory, and rows come "
             "in no particular "
             "order; if it does not fit, both are sorted. auto, of columns: hash. Else it sorts "
             "what is sorted already or fits in memory, or takes hash "
             "for binary records if the table fits in memory and much input is not expected to be "
             "sorted in clearly less time, else sorts on disk; --explain says why."}),
    option(
        kResources, "-S, --buffer-size=SIZE",
        "use at most SIZE of memory (default: half of what is free)",
        {.details = "A number with b (bytes), K (the default), M, G, T, P or %. It bounds the "
                    "whole process, except for a constant of 48 MiB for code, stacks and "
                    "libraries. Without -S it is half of what the process may still take: of the "
                    "memory that is free, or that its control groups (containers) or ulimit -v and "
                    "-d leave, if that is less; % is a part of the same."}),
    option(kResources, "-T, --temporary-directory=DIR",
           "keep scratch files in DIR; repeat it to use several disks",
           {.details = "Without -T it is $TMPDIR, or else /var/tmp, or else /tmp. Scratch files "
                       "have no name, so nothing is left behind when the join is killed."}),
    option(kResources, "--parallel=N", kParallel.help,
           {.details = "Fewer are used when -S is too small for N."}),
    option(kExperts, "--batch-size=N",
           "merge at most N runs of an input at once (default: as many as memory allows)",
           {.scope = Scope::records}),
    kCompression,
    kIo,
    kVerify,
    option(kGpus, "--device=KIND", "what sorts and joins: auto, cpu, gpu, gpu:all, or gpu:LIST",
           {.scope = Scope::records,
            .details = "auto takes GPUs, if there are any, for input that does not fit in the "
                       "memory of -S and is at least a GiB. Text is sorted and joined on the "
                       "CPU."}),
    kGpuMemory,
    kMultiGpu,
    kHelpStandard,
    kVersion,
    option(kAsking, "--progress[=WHEN]",
           "show progress on standard error: auto (on a terminal), always, never",
           {.words = "auto always never", .implied = "always"}),
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
            "  tsv      the same, with tabs\n",
            Scope::text, kInputTitle},
    Section{
        "KEYS OF LINES",
        "A key is given as the number of a field, from 1. Fields are compared as join(1) does: in "
        "the order of the locale; with -i by bytes, upper and lower case being equal. A field that "
        "is missing is empty. Several keys are given in order of significance.\n",
        Scope::lines, kOrdering},
    Section{
        "KEYS OF ROWS",
        "Keys are given as for xxl sort (xxl help sort keys): COLUMN[:TYPE][:desc], several with "
        "commas between. COLUMN is a number from 1, or from the last column back (-1), or a name "
        "of the header. Keys of one type are equal if their values are: the number 1.0 matches 1, "
        "and a date 2026-11-30 in one file matches 30/11/2026 in the other, with its format "
        "(day:date:%d/%m/%Y).\n",
        Scope::rows, kOrdering},
    Section{
        "ROWS OF LINES",
        "FORMAT is a list of fields, separated by commas or blanks: 0 is the key, 1.N is field N "
        "of the left line, 2.N of the right one. Without --layout, a row is the key, then the "
        "other fields of the left line, then those of the right one. (join(1)'s -o is this list; "
        "here, -o names the output file.)\n",
        Scope::lines, kOutputTitle},
    Section{
        "ROWS OF CSV AND TSV",
        "A row is the columns of the key, then the other columns of the left row, then those of "
        "the right one. The key is written as the left row has it, or the right one if there is "
        "no left row. Fields are copied as they were written. Columns of a side "
        "that a row has no record of are empty. Rows that have fewer columns than the header, or "
        "the first row, are filled up; more are an error. With -e, what it says is written in "
        "place of all fields that are missing or empty, in quotes too.\n",
        Scope::rows, kOutputTitle},
    kColumns,
    Section{
        "KEYS AND ROWS OF COLUMNS",
        "A key is the name of a column, or its number from 1; a name that is all digits goes in "
        "quotes. A null equals nothing. A row is the columns of the left row, then the others of "
        "the right one. Columns of the key are written once, with the left name. Rows come in the "
        "order of the left file, right rows without a match last; by sort-merge, in the order of "
        "their keys. LEFT and RIGHT may be directories or quoted patterns.\n",
        Scope::columns, kOrdering},
    Section{"BINARY RECORDS", kRecords.text, Scope::binary},
    Section{"KEYS OF BINARY RECORDS", kKeys.text, Scope::binary, kOrdering},
    Section{
        "KEYS OF TWO FORMATS",
        "The keys of both sides have as many parts, of the same types and lengths and in the same "
        "directions; where they lie and in what byte order they are stored may differ.\n",
        Scope::binary, kOrdering},
    Section{"ROWS OF BINARY RECORDS",
            "A row is the key once, then the other bytes of the left record, then those of the "
            "right one. Semi and anti joins write the left record. With --layout it is a list of "
            "parts separated by commas:\n"
            "\n"
            "  0                 the key\n"
            "  1.OFFSET:BYTES    bytes of the left record\n"
            "  2.OFFSET:BYTES    bytes of the right record\n"
            "  m                 one byte: 1 for a left record, plus 2 for a right one\n"
            "\n"
            "Bytes of a missing record are zero.\n",
            Scope::binary, kOutputTitle},
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
        "  inputs                  for left and right: records, skipped, matched (records\n"
        "                          with a match), runs, passes (merge passes before the\n"
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
        "  inputs                  for left and right: file, record, input_bytes (null, as what\n"
        "                          follows from it, when it is not known), presorted,\n"
        "                          expected_runs, passes, scratch_bytes, device\n"
        "  output, kind, method, because, memory_bytes, table_bytes, threads, backend,\n"
        "  no_accelerator, scratch_directories\n"
        "\n"
        "Columns have other members in both, see STATISTICS OF COLUMNS. Bytes of names that are "
        "not UTF-8 are written as \\udc80 to \\udcff, which os.fsencode() of Python undoes.\n",
        Scope::all, kOnlyInManual},
    kColumnStatistics,
    Section{"EXIT STATUS",
            "  0    the output is complete\n"
            "  2    an error (1, if the program is called as join); no output file was\n"
            "       written, unless the message says so\n"},
};

// The options that join(1) has.
const std::vector<OptionSpec>& standard_options() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> standard;
    for (const OptionSpec& option : kJoinOptions) {
      if (option.standard) standard.push_back(option);
    }
    standard.push_back(option(kOutputTitle, "-o FORMAT",
                              "list of fields that rows consist of, or auto",
                              {.details = "auto: as many fields of each side as its first line "
                                          "has."}));
    return standard;
  }();
  return options;
}

constexpr std::array kStandInSections{
    Section{
        "FORMAT",
        "A list of fields, separated by commas or blanks: 0 is the field joined on, 1.N field N "
        "of LEFT, 2.N field N of RIGHT. Without -o, a row is the field joined on, then the other "
        "fields of LEFT, then those of RIGHT.\n"},
};

}  // namespace

CommandSpec join_command() {
  return {.name = "join",
          .operands = "LEFT RIGHT",
          .summary = "join files larger than memory",
          .description =
              "Writes a row for each pair of a left and a right record that have equal keys. The "
              "inputs may be in any order and of any size; they are sorted on the way."
              " One of them may be -, standard input. For lines, options and rows are "
              "those of join(1).\n",
          .examples =
              "  xxl join --csv --on=id users.csv orders.csv -o both.csv\n"
              "  xxl join --csv --left-on=id --right-on=user_id users.csv orders.csv\n"
              "  xxl join --csv --on=id --how=left --null=NA users.csv orders.csv\n"
              "  xxl join --parquet --on=id users.parquet orders.parquet -o both.parquet\n"
              "  xxl join -a1 --layout=auto -e - users.txt orders.txt\n"
              "  xxl join --format=kv64 --how=semi --presorted=1 big.bin small.bin\n",
          .everyday = "format on left-on right-on how null no-header output buffer-size explain",
          .options = kJoinOptions,
          .sections = kJoinSections};
}

CommandSpec stand_in_join_command() {
  CommandSpec command = join_command();
  command.description =
      "Writes a row for each pair of a left and a right line that have equal fields, as join(1) "
      "does. Both must be in the order of these fields. One of them may be -, standard input.\n";
  command.examples = {};
  command.everyday = {};
  command.options = standard_options();
  command.sections = kStandInSections;
  return command;
}

}  // namespace xxl::cli
