// The program xxl-mpi: one rank of a sort on several machines. Options and files are the same on
// all ranks, as mpirun starts them.
#include <algorithm>
#include <clocale>
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
#include "engine/cluster/cluster_text_sort.h"
#include "engine/cluster/message.h"
#include "engine/files/row_sort.h"
#include "engine/files/text_kind.h"
#include "engine/job_defaults.h"
#include "io/temp_name.h"
#include "mpi/mpi_peers.h"
#include "mpi/mpi_report.h"
#include "mpi/options_of_mpi.h"
#include "record/key_text.h"
#include "record/line_counter.h"
#include "record/line_keys.h"
#include "sort/line_arguments.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

// What sorts of all records have.
void set_cluster_options(const ParsedOptions& options, const MpiPeers& peers, JobOptions& sort) {
  if (options.operands().empty()) throw_usage(options.command(), "no input given");
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
}

SortOptions record_options(const ParsedOptions& options, const MpiPeers& peers) {
  refuse_options_of_others(options, Scope::all);
  SortOptions sort;
  sort.format = parse_record_format(options.value("record", ""), options.values("key"),
                                    options.has("reverse"), kTextKinds);
  sort.inputs = options.operands();
  set_cluster_options(options, peers, sort);
  sort.fold = record_fold_option(options, sort.format);
  sort.unique = options.has("unique") && !sort.fold.folds();
  static_cast<ResultRange&>(sort) = range_option(options);
  if ((sort.unique || sort.fold.folds()) && (sort.limit || sort.skip > 0)) {
    throw_usage(options.command(),
                "several ranks know ranges of records, not of groups: --limit and --skip exclude "
                "-u, --count and other folds");
  }
  sort.record_kind = sort.output_format().name;
  sort.key_text = key_text_of(sort.output_format());
  return sort;
}

// Throws Error unless lines compare in the same locale for all ranks.
void check_locale(Peers& peers) {
  const std::string own = std::setlocale(LC_COLLATE, nullptr);
  const std::string first = told_by_first(peers, own);
  if (own == first) return;
  throw Error(ErrorCode::usage, "rank " + std::to_string(peers.rank()) + " has the locale " + own +
                                    " and rank 0 " + first + ": have mpirun export LC_ALL");
}

TextSortOptions text_options(const ParsedOptions& options, const MpiPeers& peers) {
  TextSortOptions sort;
  sort.inputs = options.operands();
  set_cluster_options(options, peers, sort);
  sort.record_kind = options.value("record", "lines");
  sort.syntax.header = options.has("header");
  static_cast<ResultRange&>(sort) = range_option(options);
  return sort;
}

TextSortOptions row_options(const ParsedOptions& options, const MpiPeers& peers) {
  refuse_options_of_others(options, Scope::rows);
  TextSortOptions sort = text_options(options, peers);
  sort.unique = options.has("unique") || options.has("count");
  set_rows({.order = row_order_option(options), .count = options.has("count")}, sort);
  return sort;
}

TextSortOptions line_options(const Caller& caller, const ParsedOptions& options,
                             const MpiPeers& peers) {
  const LineArguments arguments = parse_line_arguments(caller, options);
  TextSortOptions sort = text_options(options, peers);
  LineOrder order = arguments.order;
  if (needs_random(order)) {
    throw_usage(options.command(), "random order is that of one process: xxl sort");
  }
  sort.unique = order.unique |= options.has("count");
  if (options.has("count")) sort.fold = make_line_counter;
  sort.keys = make_line_keys(order);
  sort.syntax.terminator = arguments.terminator;
  return sort;
}

void run(const Caller& caller, const ParsedOptions& options, MpiPeers& peers) {
  const std::string record = options.value("record", "lines");
  const std::string stats = options.has("stats") ? options.word("stats", "table") : "";
  const auto finish = [&](const JobOptions& sort, const ClusterReport& report) {
    if (stats.empty()) return;
    std::fputs(cluster_stats(stats, record, sort, report, peers).c_str(), stderr);
  };
  switch (text_kind(record)) {
    case TextKind::lines: {
      std::setlocale(LC_ALL, "");
      check_locale(peers);
      const TextSortOptions sort = line_options(caller, options, peers);
      return finish(sort, cluster_text_sort(sort, peers));
    }
    case TextKind::rows: {
      const TextSortOptions sort = row_options(options, peers);
      return finish(sort, cluster_text_sort(sort, peers));
    }
    case TextKind::none: {
      const SortOptions sort = record_options(options, peers);
      return finish(sort, cluster_sort(sort, peers));
    }
  }
}

constexpr const char* kUsage =
    "Usage: mpirun -n RANKS xxl-mpi sort [OPTION]... FILE... -o FILE|DIR/\n";

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
      run(caller, options, peers);
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
