// Options and sections that several commands have.
#pragma once

#include "cli/option_spec.h"

namespace xxl::cli {

inline constexpr std::string_view kRecordWords = "u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:";

// Titles of options in help, in its order (help_topics.h).
inline constexpr std::string_view kOptions = "Options";
inline constexpr std::string_view kInputTitle = "Input";
inline constexpr std::string_view kOrdering = "Keys and order";
inline constexpr std::string_view kOutputTitle = "Output";
inline constexpr std::string_view kFolding = "Sums and other aggregates of each key";
inline constexpr std::string_view kDirty = "Dirty data";
inline constexpr std::string_view kInParts = "Output in parts";
inline constexpr std::string_view kResources = "Memory, threads and scratch";
inline constexpr std::string_view kGpus = "GPUs";
inline constexpr std::string_view kAsking = "Reports and help";
inline constexpr std::string_view kExperts = "For experts";

inline constexpr OptionSpec kIo =
    option(kExperts, "--io=KIND", "how to talk to the disks: auto, io_uring or threads",
           {.words = "auto io_uring threads"});

inline constexpr OptionSpec kGpuMemory = option(
    kGpus, "--gpu-memory=SIZE", "use at most SIZE of each GPU's memory, instead of what is free",
    {.scope = Scope::records});

inline constexpr OptionSpec kStats =
    option(kAsking, "--stats[=FORMAT]", "report on standard error what was done: table or json",
           {.words = "table json", .implied = "table"});

inline constexpr OptionSpec kTimeLine =
    option(kExperts, "--time-line=FILE", "write to FILE what disks and GPUs did when, as CSV",
           {.scope = Scope::records});

inline constexpr OptionSpec kReport = option(
    kAsking, "--report=FILE",
    "write to FILE a page (HTML) of what was done when, what it was bound by and what would help",
    {.details =
         "FILE is one page that needs nothing else: the plan, rates, disks, processors, GPUs, "
         "waits, memory and scratch over time, and what bound each phase. It appears when the "
         "job ends, also when it fails. A page that is there is replaced, any other file an "
         "error. A page that cannot be written in the end is a warning."});

inline constexpr OptionSpec kExplain =
    option(kAsking, "--explain", "only print the plan: keys, memory, scratch space");

inline constexpr OptionSpec kHelpStandard =
    option(kAsking, "--help", "print this help and exit", {.standard = true});

inline constexpr OptionSpec kVersion =
    option(kAsking, "--version", "print the version and exit", {.standard = true});

inline constexpr OptionSpec kMultiGpu =
    option(kGpus, "--multi-gpu=STRATEGY",
           "how several GPUs sort: auto, independent, p2p-merge or partition",
           {.words = "auto independent p2p-merge partition",
            .scope = Scope::records,
            .details = "independent: each sorts chunks of its own. partition: all sort one chunk "
                       "and read each other's memory. p2p-merge: the same by swapping halves."});

inline constexpr OptionSpec kCompression = option(
    kOutputTitle, "--compression=METHOD",
    "compress Parquet and Arrow output: zstd, snappy, lz4, gzip or none, with a level as in zstd:9",
    {.words = "zstd snappy lz4 gzip none",
     .scope = Scope::columns,
     .details =
         "Parquet is compressed by zstd without it. Files and streams of Arrow have zstd, lz4 "
         "or none, and none without it."});

inline constexpr OptionSpec kFormat = option(
    kInputTitle, "--format=FORMAT",
    "what the files hold: lines, csv, tsv, jsonl, parquet, arrow, fixed:N, u64, ... (for short "
    "--csv, --tsv, --jsonl, --parquet, --arrow)",
    {.words = "lines csv tsv jsonl parquet arrow u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:",
     .details =
         "Without it, Parquet and Arrow files are known by their suffix or first bytes, and "
         "CSV, TSV and JSON lines by their suffix if there is an option that lines do not have, as "
         "--key=NAME. All others are text lines."});

inline constexpr OptionSpec kMalformed = option(
    kDirty, "--malformed=WHAT",
    "malformed rows: error (the default), skip (leave them out) or keep them",
    {.words = "error skip keep",
     .scope = Scope::rows,
     .details =
         "A row is malformed if its quotes are wrong, if it has another number of fields than "
         "the header or first row, or if a key or fold needs a number or date and finds none. "
         "A kept key that cannot be read counts as empty. A warning counts the rows and names "
         "the first one. Without --malformed, rows with another number of fields are kept and "
         "counted, if their keys can be read."});

constexpr OptionSpec of_dirty_rows(std::string_view synopsis, std::string_view help,
                                   std::string_view details) {
  return option(kDirty, synopsis, help, {.scope = Scope::rows, .details = details});
}

inline constexpr OptionSpec kRejects = of_dirty_rows(
    "--rejects=FILE", "write the rows that --malformed=skip leaves out to FILE, with their places",
    "FILE is CSV: file, line, reason, row. It appears complete or not at all. With "
    "several threads, rows may be in another order than in the input.");

inline constexpr OptionSpec kMaxRejects = of_dirty_rows(
    "--max-rejects=N", "fail if --malformed=skip leaves out more than N rows of an input",
    "Without it, more than half of all rows left out is an error.");

inline constexpr OptionSpec kEscape = of_dirty_rows(
    "--escape=CHAR", "what follows CHAR (a backslash) is part of the field, as in dumps of MySQL",
    "After it, n, t, r and 0 stand for a line feed, tab, carriage return and zero byte. Keys "
    "compare what is meant. New fields are written with escapes. --null compares fields as they "
    "are written (\\N).");

inline constexpr OptionSpec kComment = of_dirty_rows(
    "--comment=PREFIX", "lines before the header that begin with PREFIX are kept before it",
    "Those of the first input are written. Those of further inputs are left out and counted in a "
    "warning.");

inline constexpr OptionSpec kHelp = option(kOptions, "--help", "print this help and exit");

inline constexpr OptionSpec kKey = option(
    kOptions, "--key=SPEC", "what to sort by: OFFSET:TYPE[:desc]; repeatable",
    {.details = "The first --key is the most significant. Without --key, the key is the one that "
                "belongs to the record type."});

inline constexpr OptionSpec kReverse = option(
    kOptions, "-r, --reverse", "invert the order of every key without :asc or :desc of its own",
    {.details = "Records with equal keys keep the order of the input, as always."});

inline constexpr OptionSpec kParallel =
    option(kOptions, "--parallel=N", "use N threads (default: one for each processor)");

inline constexpr OptionSpec kOutput = option(
    kOptions, "-o, --output=FILE", "write to FILE instead of standard output",
    {.details =
         "FILE appears complete or not at all; one that exists is replaced only when the new "
         "one is complete and on disk. FILE may be one of the inputs."});

inline constexpr OptionSpec kVerify = option(
    kOutputTitle, "--verify", "read the output back from the disk and compare it before it appears",
    {.details =
         "When the output is complete and synced, and before it gets its name, it is read past "
         "the page cache, and each MiB of it compared by a hash (XXH3, 64 bits) with what was "
         "handed to the system: bits that flipped, and writes that were lost, torn or went "
         "elsewhere are an error, and an existing FILE stays. Of sorts of records and text, "
         "without parts and compression, their order, number and checksum are compared as well. "
         "Of a FILE that is overwritten in place both copies are read. It takes the time of "
         "reading the output once. Standard output, pipes and devices cannot be verified. What "
         "a disk answers from a memory of its own is not found."});

inline constexpr OptionSpec kParts = option(
    kInParts, "--parts=N", "write N files into the directory of --output",
    {.details =
         "They are of about the same size. Each has a range of keys, and is called part-00000.csv, "
         "part-00001.csv and so on, with the suffix of its format. _manifest.json says what is in "
         "them (see PARTS). If records are left out (-u, folds), the last parts may be smaller, or "
         "empty. A join is done twice, first to know how large the output will be: not of pipes."});

inline constexpr OptionSpec kPartBytes = option(
    kInParts, "--part-bytes=SIZE", "write files of at most SIZE into the directory of --output",
    {.details =
         "A number with b (bytes), K (the default), M, G or T. A record that is larger has a "
         "file of its own. Files of columns are of about that size, as far as the rows before say "
         "what rows take; the first may be smaller."});

inline constexpr OptionSpec kPartBy = option(
    kInParts, "--part-by=COLUMN",
    "write a file for each value of COLUMN into the directory of --output",
    {.details =
         "Sorts by this column first: it is given as a --key, with type and direction, of lines as "
         "the number of a field, which is compared as -n, -r and the like say for all keys. The "
         "file of a value is COLUMN=VALUE/part-0.csv, as DuckDB, Polars, Spark and Hive read it. "
         "Files of Parquet and Arrow are called as with --parts (see PARTS). With -u and folds "
         "there is a record for each key of each value. Of joins it is the first "
         "column of the left key; those of columns have to be inner or semi joins."});

inline constexpr Section kFolds{
    "FOLDS",
    "With --count, --sum and the like there is one record for each key: the first one, with what "
    "the option says of all of them in place of a field, given as OFFSET:TYPE as in --key. They "
    "can be repeated and combined. No two may share a byte with each other or with the key.\n"
    "\n"
    "  --format=fixed:32 --key=0:u64 --sum=8:i64 --max=16:f64 --last=24:bytes8\n"
    "\n"
    "Sums and means are exact, and rounded once, to the nearest, ties to even, in whatever order "
    "the numbers come: a mean in a field of integers is an integer. A sum that its field cannot "
    "hold is an error. --min and --max compare as keys do, --first and --last go by the order of "
    "the input.\n",
    Scope::binary, kFolding};

inline constexpr Section kPartsSection{
    "PARTS",
    "With --parts or another option of parts the output is a directory, which appears with all "
    "its files at once. It must not exist yet, or be empty or one of parts, which is replaced "
    "by one with its owner and rights. Its files are called part-00000 and so on, with a "
    "suffix: .csv, .tsv, .jsonl, .parquet or .arrow, and .txt for lines. Each begins with the "
    "header, if there is one. With --part-by, text and "
    "binary records have a directory for each value, COLUMN=VALUE, with one file, part-0. Special "
    "characters in names are written as %XX, and an empty value is __HIVE_DEFAULT_PARTITION__. "
    "The files keep the column. _manifest.json has, in the order of the files:\n"
    "\n"
    "  format, record          xxl parts 1; the kind of records\n"
    "  records, bytes          of all files\n"
    "  files                   for each: file, records, bytes, first_key, last_key,\n"
    "                          checksum\n"
    "  checksum                of all this: of the manifest without this member\n"
    "\n"
    "Keys are those of the first and the last record: of rows the fields of the key (of joined "
    "ones the row), of lines the line, of binary records numbers, and other bytes as "
    "hexadecimal text; at most 256 bytes. checksum is the sum of the XXH3 hashes (64 bits) of "
    "the file's 4096-byte sectors, each seeded with its number, the last one filled up with "
    "zeros; that of the manifest is the XXH3 hash of its text. Files of text and of binary "
    "records are not compressed.\n"
    "\n"
    "Such a directory can be given in place of its files, in their order: to sort, also with "
    "-m, to join, to shuffle and for sets. The manifest is checked then, and the sizes of the "
    "files: xxl validate DIR compares all that they hold with it.\n",
    Scope::all, kInParts};

inline constexpr Section kColumns{
    "COLUMNS",
    "Tables in files whose columns have names and types, all FILEs of the same:\n"
    "\n"
    "  parquet    Apache Parquet; not from pipes\n"
    "  arrow      Arrow IPC, files and streams, also from standard input; the output\n"
    "             is a stream if it goes to a pipe or is named *.arrows, otherwise a\n"
    "             file\n"
    "\n"
    "They need an optional module, which uses Apache Arrow. FILE may also be a directory, for the "
    "files in and below it (*.parquet; *.arrow, *.arrows, *.feather, *.ipc), or a quoted pattern "
    "such as 'part-*.parquet'.\n",
    Scope::columns};

inline constexpr Section kColumnStatistics{
    "STATISTICS OF COLUMNS",
    "--stats=json prints one object on standard error:\n"
    "\n"
    "  record                  parquet or arrow\n"
    "  inputs                  for the input, or left and right: files, file_bytes, rows (null "
    "if\n"
    "                          not known before they are read), rows_read, bytes_read,\n"
    "                          row_groups, row_groups_read (0 of arrow)\n"
    "  method, because         of a join: hash or sort-merge, and why, if not hash\n"
    "  output, format, compression, rows, row_groups, batches, bytes_written    of the output\n"
    "  memory_bytes, sort_memory_bytes, file_memory_bytes    of -S, and its parts\n"
    "  peak_file_memory_bytes  of file_memory_bytes, what reading and writing took\n"
    "  threads, output_in_place, seconds, peak_memory_bytes\n"
    "  scratch_bytes           most scratch space in use at once\n"
    "  scratch                 of a sort, for each directory: directory, bytes_written\n"
    "  phases                  for each phase: name, seconds, bytes_read, bytes_written, ...\n"
    "\n"
    "--explain --stats=json prints the same without what is measured, and by, skip, limit, "
    "scratch_directories.\n",
    Scope::columns, kOnlyInManual};

inline constexpr Section kAnyRecords{
    "RECORDS",
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
    "  kv32 kv64 gensort          8, 16 and 100 bytes\n",
    Scope::all, kInputTitle};

inline constexpr Section kRecords{
    "RECORDS",
    "All records of a file have the same size, and nothing lies between them.\n"
    "\n"
    "  fixed:N    N bytes; the key is the whole record, unless --key says otherwise\n"
    "  u32 u64    an unsigned number of 4 or 8 bytes, little-endian\n"
    "  i32 i64    a signed number\n"
    "  f32 f64    a floating-point number (IEEE 754)\n"
    "  kv32       u32 key, 4 bytes of value\n"
    "  kv64       u64 key, 8 bytes of value\n"
    "  gensort    100 bytes, the key is the first 10\n",
    Scope::binary};

inline constexpr Section kKeys{
    "KEYS",
    "A key is given as OFFSET:TYPE, OFFSET being bytes from the start of the record, from 0. "
    "TYPE is\n"
    "\n"
    "  u8 u16 u32 u64    unsigned number, little-endian; u16be and so on: big-endian\n"
    "  i8 i16 i32 i64    signed number; i16be and so on: big-endian\n"
    "  f32 f64           floating-point number; f32be, f64be: big-endian\n"
    "  bytesN            N bytes, compared as unsigned numbers\n"
    "\n"
    "It may end in :desc for descending, or :asc, which also keeps -r away from this key.\n"
    "\n"
    "Floating-point keys are in the total order of IEEE 754: -NaN, -infinity, ..., -0.0, +0.0, "
    "..., +infinity, +NaN; NaNs by their bits.\n",
    Scope::binary, kOrdering};

}  // namespace xxl::cli
