// The program xxl-mpi: one rank of a sort on several machines. Options and files are the same on
// all ranks, as mpirun starts them.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/machine_limits.h"
#include "cli/command.h"
#include "cli/manual.h"
#include "cli/process.h"
#include "engine/cluster/cluster_sort.h"
#include "engine/job_defaults.h"
#include "io/temp_name.h"
#include "mpi/mpi_peers.h"
#include "mpi/mpi_report.h"
#include "mpi/options_of_mpi.h"
#include "record/key_text.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

SortOptions sort_options(const ParsedOptions& options, const MpiPeers& peers) {
  if (!options.has("record")) {
    throw_usage(options.command(), "text is sorted by one process: give --record=SPEC");
  }
  SortOptions sort;
  sort.format = parse_record_format(options.value("record", ""), options.values("key"),
                                    options.has("reverse"), "");
  sort.inputs = options.operands();
  if (sort.inputs.empty()) throw_usage(options.command(), "no input given");
  if (!options.has("output")) throw_usage(options.command(), "no output given: -o FILE");
  sort.output = output_option(options);
  sort.scratch_dirs = scratch_option(options);
  sort.parallel = parallel_option(options);
  if (sort.parallel == 0) sort.parallel = peers.processors();
  sort.backend = backend_option(options);
  if (options.has("buffer-size")) {
    sort.memory_bytes = parse_size(options.value("buffer-size", ""), "-S",
                                   usable_memory_bytes() / peers.local_ranks());
  } else {
    set_defaults(sort);
    sort.memory_bytes /= peers.local_ranks();
  }
  set_temp_compression(options, sort);
  for (const std::string& field : options.values("sum")) {
    sort.fold.sums.push_back(parse_sum_field(field, sort.format, sort.fold));
  }
  sort.fold.count = options.has("count");
  sort.unique = options.has("unique") && !sort.fold.folds();
  static_cast<ResultRange&>(sort) = range_option(options);
  if ((sort.unique || sort.fold.folds()) && (sort.limit || sort.skip > 0)) {
    throw_usage(options.command(),
                "several ranks know ranges of records, not of groups: --limit and --skip exclude "
                "-u, --count and --sum");
  }
  sort.record_kind = sort.output_format().name;
  sort.key_text = key_text_of(sort.output_format());
  return sort;
}

void run(const ParsedOptions& options, MpiPeers& peers) {
  const SortOptions sort = sort_options(options, peers);
  const std::string stats = options.has("stats") ? options.word("stats", "table") : "";
  const ClusterReport report = cluster_sort(sort, peers);
  if (stats.empty()) return;
  std::fputs(cluster_stats(stats, sort, report, peers).c_str(), stderr);
}

constexpr const char* kUsage = "Usage: mpirun -n RANKS xxl-mpi sort [OPTION]... FILE... -o FILE\n";

// What is asked of the program itself, which needs no MPI. True if it was.
bool print_of_program(std::span<const std::string> arguments) {
  if (arguments.size() != 1) return false;
  std::string text;
  if (arguments[0] == "--man") text = manual_page(mpi_sort_command());
  if (arguments[0] == "--version") text = version_text({});
  if (arguments[0] == "--help") {
    text = kUsage + std::string("'xxl-mpi sort --help' explains the command.\n");
  }
  std::fputs(text.c_str(), stdout);
  return !text.empty();
}

}  // namespace
}  // namespace xxl::cli

int main(int argc, char** argv) {
  using namespace xxl::cli;
  prepare_process();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (print_of_program(arguments)) return kExitSuccess;
  xxl::io::guard_temp_names();  // some programs that start ranks end them by SIGKILL
  const std::string prefix = "xxl-mpi: sort: ";
  xxl::MpiPeers peers(prefix);
  std::string message;
  try {
    if (arguments.empty() || arguments.front() != "sort") {
      throw xxl::Error(xxl::ErrorCode::usage, "the only command is sort (try 'xxl-mpi --help')");
    }
    const Caller caller{.command = "xxl-mpi sort", .prefix = prefix};
    const ParsedOptions options(mpi_sort_command(), caller, std::span(arguments).subspan(1));
    options.throw_mistake();
    if (options.asks_for_text()) {
      if (peers.rank() == 0) print_if_asked(options, caller);
    } else {
      run(options, peers);
    }
    return kExitSuccess;
  } catch (const std::bad_alloc&) {
    message = kOutOfMemory;
  } catch (const std::exception& error) {
    message = error.what();
  }
  peers.fail(message);
  return kExitError;
}
