// The options of set. What they share with sort is worded as there.
#include <array>

#include "cli/options_shared.h"
#include "cli/options_table.h"

namespace xxl::cli {
namespace {

constexpr std::string_view kComparing = "What is equal, and in which order";
constexpr std::string_view kDoing = "What to do";

const auto& set_options() {
  static const std::array options{
      option(
          kDoing, "--all", "count equal records, instead of writing one of them",
          {.details = "Of a record that the inputs have m, n, ... times, union writes m + n + ..., "
                      "intersect the least of these numbers, and except m - n - ..., if that is "
                      "more than none."}),
      option(
          kComparing, "-k, --key=KEY",
          "compare and sort by a part of the record (see xxl sort --help); repeatable",
          {.details = "Keys are given as to xxl sort. Records are equal if all of their keys are. "
                      "Without a key they are compared as a whole, rows by the contents of their "
                      "fields, whether in quotes or not; binary records are in the order of their "
                      "type then."}),
      as_sort("reverse", kComparing),
      as_sort("ignore-leading-blanks", kComparing, Scope::lines),
      as_sort("dictionary-order", kComparing, Scope::lines),
      as_sort("ignore-case", kComparing, Scope::lines),
      as_sort("general-numeric-sort", kComparing, Scope::lines),
      as_sort("ignore-nonprinting", kComparing, Scope::lines),
      as_sort("month-sort", kComparing, Scope::lines),
      as_sort("numeric-sort", kComparing, Scope::lines),
      as_sort("human-numeric-sort", kComparing, Scope::lines),
      as_sort("version-sort", kComparing, Scope::lines),
      with_details(as_sort("field-separator", kComparing, Scope::text), "As for xxl sort."),
      as_sort("empty", kComparing, Scope::rows),
      as_sort("null", kComparing, Scope::rows),
      as_sort("invalid", kComparing, Scope::rows),
      option(kComparing, "--record=SPEC", "what a record is (see RECORDS; default: lines)",
             {.words = "lines csv tsv u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:"}),
      with_details(as_sort("header", kDoing, Scope::text),
                   "That of all inputs must be the same. The columns of CSV and TSV files can then "
                   "be called by their names."),
      as_sort("zero-terminated", kDoing, Scope::lines),
      as_sort("malformed", kDoing, Scope::rows),
      as_sort("quote", kDoing, Scope::rows),
      with_details(as_sort("merge", kDoing), "One that turns out not to be sorted is an error."),
      as_sort("files0-from", kDoing),
      as_sort("output", kDoing),
      as_sort("skip", kDoing),
      as_sort("limit", kDoing),
      kParts,
      kPartBytes,
      with_details(as_sort("buffer-size", kResources), "As for xxl sort."),
      with_details(as_sort("temporary-directory", kResources), "As for xxl sort."),
      as_sort("parallel", kResources),
      as_sort("batch-size", kResources),
      as_sort("compress-program", kResources, Scope::text),
      as_sort("temp-compress", kResources),
      kIo,
      kVerify,
      with_details(as_sort("progress", kAsking), {}),
      kStats,
      kTimeLine,
      kReport,
      kExplain,
      as_sort("help", kAsking),
      as_sort("version", kAsking),
  };
  return options;
}

constexpr std::array kSetSections{
    kAnyRecords,
    Section{
        "WHICH OF EQUAL RECORDS",
        "With --key, records that are equal may differ elsewhere. Written are the first ones of "
        "the first input, and of a union those of the first input that has any; but of except "
        "--all the last ones of the first input, as each record of another input takes away "
        "one, the first that is left.\n"},
    kPartsSection,
    Section{"STATISTICS", "--stats=json and --explain --stats=json are those of xxl sort.\n"},
    Section{"EXIT STATUS",
            "  0    the output is complete\n"
            "  2    an error; no output file was written, unless the message says that it was, or "
            "could not\n"
            "       be written itself\n"},
    Section{"EXAMPLES",
            "  xxl set union old new -o all\n"
            "  xxl set intersect monday tuesday wednesday\n"
            "  xxl set except --record=csv --header --key=id people.csv left.csv\n"
            "  producer | xxl set except --all - seen -o rest\n"
            "  xxl set intersect --record=gensort -S 4G a.dat b.dat -o common.dat\n"},
};

}  // namespace

CommandSpec set_command() {
  return CommandSpec{
      .name = "set",
      .operands = "OPERATION FILE FILE...",
      .operations = "union intersect except",
      .summary = "union, intersection and difference of files larger than memory",
      .description =
          "Writes the lines, rows or records that are in any of the FILEs (OPERATION union), in "
          "all of them (intersect), or in the first one and none of the others (except), each "
          "once or, with --all, as many times as SQL says. The output is sorted as by xxl sort, "
          "FILEs may be in any order. A directory of parts is one FILE, and - is standard "
          "input. The number of records and a checksum over them are compared from input to "
          "output in every run.\n",
      .options = set_options(),
      .sections = kSetSections};
}

}  // namespace xxl::cli
