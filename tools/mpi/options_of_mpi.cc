#include "mpi/options_of_mpi.h"

#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options_shared.h"
#include "cli/options_table.h"

namespace xxl::cli {
namespace {

constexpr std::string_view kFromSort =
    "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting "
    "key month-sort numeric-sort human-numeric-sort version-sort sort output reverse stable "
    "buffer-size field-separator temporary-directory unique zero-terminated parallel format "
    "compression header no-header empty null malformed quote count sum min max mean first last "
    "collect skip limit temp-compress io device gpu-memory multi-gpu stats help version";

constexpr std::string_view kFromJoin =
    "ignore-case zero-terminated header no-header -1 -2 -j -t -a -v -e format record1 record2 "
    "on left-on right-on empty-keys null malformed quote how layout suffixes count output "
    "buffer-size "
    "temporary-directory parallel compression io stats help version";

constexpr Section kInput{
    "INPUT",
    "Files that all ranks see are cut into shares of equal size, one for each rank. Those of "
    "rows are read once more to find where they can be cut. All ranks are started with the same "
    "options and files. If their names have {rank} in them, that stands for the number of the "
    "rank, from 0, which reads the whole file. The input is then that of all these files in the "
    "order of ranks. Inputs are files, not pipes, and are not compressed; a directory of parts "
    "stands for its files.\n"};

constexpr Section kColumnFiles{
    "COLUMNS",
    "Parquet and Arrow files, and their keys, are as of one process (see xxl-sort(1) and "
    "xxl-join(1)). Shares of Parquet have equal numbers of rows, those of Arrow files of batches, "
    "which are cut as well; an Arrow stream is read by one rank. Files of ranks ({rank}) must have "
    "equal columns; metadata are those of rank 0.\n"};

constexpr Section kStatistics{
    "STATISTICS",
    "--stats=json prints one object on standard error:\n"
    "\n"
    "  records, checksum       of the output\n"
    "  memory_bytes, threads   of each rank\n"
    "  ranks                   for each: records (written), device, runs, merged_runs,\n"
    "                          bytes_received (from other machines), scratch_bytes,\n"
    "                          seconds, processor_seconds, peak_memory_bytes, phases\n"
    "\n"
    "phases are those of one process; their time includes that of waiting for other ranks.\n"};

constexpr Section kFailures{
    "FAILURES",
    "When a rank fails, all end. The line on standard error is that of the first one.\n"};

constexpr std::array kSortSections{
    kInput,
    Section{
        "OUTPUT",
        "If the name given with -o ends with / or is that of a directory, it is a directory of "
        "parts, as xxl sort --parts makes, with one part of each rank. Parts of binary records are "
        "of equal size, but for -u and folds. Parts of lines, rows and columns are equal to some "
        "MiB, and records with equal keys are in one part; with --skip or --limit all are in that "
        "of rank 0. Each part of columns has the schema and metadata that one process writes.\n"
        "\n"
        "Otherwise it is one file, which all ranks write at the same time. Of lines and rows, and "
        "with -u and folds, sizes of parts are known at the end only: each rank writes its part to "
        "scratch (-T), and copies it then. It is written and read once more so, and takes scratch "
        "of its size, which a directory saves. Either must lie where all ranks see it, and appears "
        "complete or not at all.\n"},
    Section{"LINES AND ROWS",
            "Keys and folds are those of xxl sort (see xxl-sort(1)). Lines are in the order of the "
            "locale, which must be the same for all ranks (mpirun -x LC_ALL).\n"},
    kColumnFiles,
    kRecords,
    kKeys,
    kFolds,
    Section{
        "GPUS",
        "With --device=gpu ranks form their runs on GPUs; processors merge them. The GPUs of a "
        "machine, or those of LIST, are dealt to its ranks in turn. Where there are fewer GPUs "
        "than ranks, several ranks use one, each with an equal part of its memory. Ranks that are "
        "given GPUs of their own (CUDA_VISIBLE_DEVICES) divide only those that they see.\n"
        "\n"
        "A GPU that fails is a failure of its rank: --device=cpu sorts without.\n"},
    kStatistics,
    kFailures,
    Section{"EXIT STATUS",
            "  0    the output is complete: an ordered permutation of the input\n"
            "  2    an error; no output was written\n"},
};

constexpr std::array kJoinSections{
    kInput,
    Section{"OUTPUT",
            "If the name given with --output ends with / or is that of a directory, it is a "
            "directory of parts, one of each rank, in the order of keys. All rows of a key are in "
            "one part: parts are equal to some MiB of the inputs, unless a key has many rows.\n"
            "\n"
            "Otherwise it is one file. Each rank writes its part to scratch (-T), and copies it "
            "when the sizes of all are known: it is written and read once more so, and takes "
            "scratch of its size, which a directory saves. Either must lie where all ranks see it, "
            "and appears complete or not at all. Columns are written to a directory only, "
            "each part with the schema and metadata that one process writes.\n"},
    Section{"RECORDS, KEYS AND ROWS",
            "are those of xxl join (see xxl-join(1)): lines, rows of CSV and TSV, columns, and "
            "records of a fixed size. Both inputs are sorted, by all ranks: columns are joined by "
            "sort-merge, too. Lines are in the order of the locale, which must be the same for all "
            "ranks (mpirun -x LC_ALL).\n"},
    kColumnFiles,
    kStatistics,
    kFailures,
    Section{"EXIT STATUS",
            "  0    the output is complete\n"
            "  2    an error; no output was written\n"},
};

// Options of xxl as ranks have them.
OptionSpec for_ranks(OptionSpec option) {
  if (option.long_name == "format") {
    option.help = "what a record is: lines (the default), rows, of columns, or of a fixed size";
  } else if (option.long_name == "buffer-size") {
    option.help = "use at most SIZE of memory for each rank";
    option.details =
        "As of xxl sort. Without -S it is half of what is free, shared by the ranks on a "
        "machine. MPI needs memory of its own beside it.";
  } else if (option.long_name == "unique") {
    option.details = {};  // there is no -c
  } else if (option.long_name == "output") {
    option.help = "write to FILE, or to a file of each rank in the directory FILE/";
    option.details = "See OUTPUT.";
  } else if (option.long_name == "parallel") {
    option.help = "use N threads in each rank (default: a share of the processors)";
    option.details =
        "Some launchers bind ranks to processors, which then have these alone: Open MPI one or "
        "two ranks of a machine to a core each, unless it is given --bind-to none.";
  } else if (option.long_name == "device") {
    option.help = "what forms runs: cpu (the default), gpu, gpu:all, or gpu:LIST";
    option.details = "As of xxl sort: gpu takes as many as hold the share of a rank. See GPUS.";
  } else if (option.long_name == "gpu-memory") {
    option.help =
        "use at most SIZE of each GPU's memory, for all ranks on it, instead of what is free";
  }
  return option;
}

std::vector<OptionSpec> options_for_ranks(const CommandSpec& command, std::string_view keys) {
  std::vector<OptionSpec> options;
  std::istringstream words{std::string(keys)};
  for (std::string key; words >> key;) {
    options.push_back(for_ranks(option_of(command, key)));
  }
  return options;
}

}  // namespace

const CommandSpec& mpi_sort_command() {
  static const std::vector<OptionSpec> options = options_for_ranks(sort_command(), kFromSort);
  static const CommandSpec command{
      .name = "sort",
      .operands = "FILE...",
      .summary = "sort records on several machines",
      .description =
          "Started by mpirun, sorts the records of all FILEs together, by any number of processes, "
          "called ranks, on one or several machines. Each of them reads a share of the input, "
          "writes it once, as sorted runs, to its own scratch (-T), and merges a part of the runs "
          "of all to its part of the output. The output is that of xxl sort, byte for byte.\n",
      .examples =
          "  mpirun -n 4 xxl-mpi sort --format=gensort /shared/in -o /shared/out/\n"
          "  mpirun -n 4 xxl-mpi sort -t: -k3,3n /shared/lines -o /shared/sorted\n"
          "  mpirun -n 4 xxl-mpi sort --format=u64 -T /local '/local/in.{rank}' -o /shared/out\n"
          "  mpirun -n 4 xxl-mpi sort --format=parquet --key=ts /shared/log/ -o /shared/sorted/\n",
      .options = options,
      .sections = kSortSections,
      .program = "xxl-mpi"};
  return command;
}

const CommandSpec& mpi_join_command() {
  static const std::vector<OptionSpec> options = options_for_ranks(join_command(), kFromJoin);
  static const CommandSpec command{
      .name = "join",
      .operands = "LEFT RIGHT",
      .summary = "join records on several machines",
      .description =
          "Started by mpirun, writes a row for each pair of a left and a right record that have "
          "equal keys, by any number of processes, called ranks, on one or several machines. Each "
          "of them sorts a share of both inputs to its own scratch (-T), and joins a range of the "
          "keys of all to its part of the output. Rows are those of xxl join --method=sort-merge, "
          "in its order.\n",
      .examples =
          "  mpirun -n 4 xxl-mpi join -t: -1 3 -2 1 /shared/r /shared/s --output=/shared/out/\n"
          "  mpirun -n 4 xxl-mpi join --format=kv64 /shared/r /shared/s --count\n"
          "  mpirun -n 4 xxl-mpi join --format=parquet --on=id /shared/r/ /shared/s/ "
          "--output=/shared/out/\n",
      .options = options,
      .sections = kJoinSections,
      .program = "xxl-mpi"};
  return command;
}

}  // namespace xxl::cli
