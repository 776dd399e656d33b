// The program xxl-mpi: one rank of a sort or a join on several machines. Options and files are the
// same on all ranks, as mpirun starts them.
#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/machine_limits.h"
#include "cli/command.h"
#include "cli/devices.h"
#include "cli/input_format.h"
#include "cli/manual.h"
#include "cli/process.h"
#include "cluster/cluster_general_jobs.h"
#include "cluster/cluster_sort.h"
#include "cluster/message.h"
#include "io/temp_name.h"
#include "job/job_defaults.h"
#include "join/join_shared.h"
#include "mpi/mpi_columns.h"
#include "mpi/mpi_peers.h"
#include "mpi/mpi_report.h"
#include "mpi/options_of_mpi.h"
#include "sort/columns_shared.h"
#include "sort/line_arguments.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

// What all jobs have, but their output.
void set_job_of_rank(const ParsedOptions& options, const MpiPeers& peers, FileJob& job) {
  job.scratch_dirs = scratch_option(options);
  job.threads = parallel_option(options);
  if (job.threads == 0) job.threads = peers.processors();
  job.backend = backend_option(options);
  if (options.has("buffer-size")) {
    job.memory_bytes = parse_size(options.value("buffer-size", ""), "-S",
                                  usable_memory_bytes() / peers.local_ranks());
  } else {
    set_defaults(job);
    job.memory_bytes /= peers.local_ranks();
  }
}

// What sorts of all records have.
void set_cluster_options(const ParsedOptions& options, const MpiPeers& peers, FileJob& sort) {
  if (options.operands().empty()) throw_usage(options.command(), "no input given");
  if (!options.has("output")) throw_usage(options.command(), "no output given: -o FILE");
  sort.output = output_option(options);
  set_job_of_rank(options, peers, sort);
  set_temp_compression(options, sort);
}

// Throws Error unless lines compare in the same locale for all ranks.
void check_locale(Peers& peers) {
  const std::string own = std::setlocale(LC_COLLATE, nullptr);
  const std::string first = told_by_first(peers, own);
  if (own == first) return;
  throw Error(ErrorCode::usage,
              "has the locale " + own + " and rank 0 " + first + ": have mpirun export LC_ALL");
}

// The order of lines, which all ranks compare in the same locale.
LineOrder line_order(const Caller& caller, const ParsedOptions& options, MpiPeers& peers) {
  std::setlocale(LC_ALL, "");
  check_locale(peers);
  const LineOrder order = parse_line_arguments(caller, options).order;
  if (needs_random(order)) {
    throw_usage(options.command(), "random order is that of one process: xxl sort");
  }
  return order;
}

SortSpec sort_of_rank(const Caller& caller, const ParsedOptions& options, MpiPeers& peers) {
  SortSpec sort;
  const TextKind kind = text_kind(options.value("format", "lines"));
  if (kind == TextKind::lines) {
    sort.line_order = line_order(caller, options, peers);
  } else {
    refuse_options_of_others(options, scope_of(kind));
  }
  set_records(options, sort);
  sort.inputs = options.operands();
  set_cluster_options(options, peers, sort);
  const bool has_groups = sort.unique || sort.count || !sort.aggregates.empty();
  if (kind == TextKind::none && has_groups && (sort.limit || sort.skip > 0)) {
    throw_usage(options.command(),
                "several ranks know ranges of records, not of groups: --limit and --skip exclude "
                "-u, --count and other folds");
  }
  return sort;
}

// Ranks on a machine that see the same GPUs divide them.
gpu::GpuProcess gpu_process(Peers& peers) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  MessageWriter writer;
  writer.put_text(visible != nullptr ? visible : "");
  const Message own = writer.take();
  const std::vector<Message> all = tell_all(peers, own);
  gpu::GpuProcess process{.of = 0};
  for (unsigned rank = 0; rank < peers.ranks(); ++rank) {
    if (!peers.is_local(rank) || all[rank] != own) continue;
    if (rank == peers.rank()) process.number = process.of;
    ++process.of;
  }
  return process;
}

void report(const ParsedOptions& options, const FileJob& job, const ClusterReport& report,
            Peers& peers) {
  if (!options.has("stats")) return;
  const std::string stats = cluster_stats(options.word("stats", "table"),
                                          options.value("format", "lines"), job, report, peers);
  std::fputs(stats.c_str(), stderr);
}

void sort(const Caller& caller, const ParsedOptions& options, MpiPeers& peers) {
  const std::string record = options.value("format", "lines");
  const DeviceChoice device = device_option(options, nullptr, gpu_process(peers));
  if (is_columns(record)) {
    JobOptions sort;
    set_cluster_options(options, peers, sort);
    sort.record_kind = record;
    return report(options, sort, sort_columns(options, sort, peers), peers);
  }
  SortSpec sort = sort_of_rank(caller, options, peers);
  device.give_to(sort);
  const ClusterReport done = is_fixed(sort) ? cluster_sort(fixed_options(sort), peers)
                                            : cluster_general_sort(general_options(sort), peers);
  for (const RowFaults& rows : done.rows) warn_of_rows(caller, rows, sort.malformed);
  report(options, sort, done, peers);
}

// What joins of all records have.
void set_join_of_rank(const JoinArguments& arguments, const MpiPeers& peers, JoinSpec& join) {
  const ParsedOptions& options = arguments.options;
  check_inputs(arguments);
  if (!options.has("count") && !options.has("output")) {
    throw_usage(options.command(), "no output given: --output=DIR/ (or --count)");
  }
  join.how = how_option(options);
  if (options.value("how", "") == "cross") {
    throw_usage(options.command(), "--how=cross is for one process: use xxl join");
  }
  join.inputs = {arguments.files[0], arguments.files[1]};
  join.count_only = options.has("count");
  join.output = output_option(options);
  set_job_of_rank(options, peers, join);
}

void join(const Caller& caller, const JoinArguments& arguments, MpiPeers& peers) {
  const ParsedOptions& options = arguments.options;
  JoinSpec join;
  const auto finish = [&](const ClusterReport& done) {
    if (join.count_only && peers.rank() == 0) {
      std::printf("%ju\n", static_cast<std::uintmax_t>(done.all_records));
    }
    for (const RowFaults& rows : done.rows) warn_of_rows(caller, rows, join.malformed);
    report(options, join, done, peers);
  };
  const bool is_binary = options.has("record1") || options.has("record2");
  if (const std::string record = options.value("format", ""); is_columns(record) && !is_binary) {
    refuse_options_of_others(options, Scope::columns);
    set_join_of_rank(arguments, peers, join);
    JobOptions job;
    static_cast<FileJob&>(job) = join;
    job.record_kind = record;
    return finish(join_columns(arguments, job, peers));
  }
  const TextKind kind = is_binary ? TextKind::none : text_kind(options.value("format", "lines"));
  if (kind == TextKind::lines) {
    std::setlocale(LC_ALL, "");
    check_locale(peers);
  }
  refuse_options_of_others(options, scope_of(kind));
  set_join_of_rank(arguments, peers, join);
  set_records(arguments, kind, join);
  finish(cluster_general_join(general_options(join), peers));
}

const CommandSpec* find_mpi_command(std::string_view name) {
  for (const CommandSpec* command : {&mpi_sort_command(), &mpi_join_command()}) {
    if (command->name == name) return command;
  }
  return nullptr;
}

// Throws Error on ranks that were started with other arguments than rank 0. (Names of files may
// have {rank} in them.)
void check_arguments(std::span<const std::string> arguments, Peers& peers) {
  MessageWriter writer;
  for (const std::string& argument : arguments) writer.put_text(argument);
  const std::vector<Message> all = tell_all(peers, writer.take());
  if (std::ranges::count(all, all.front()) == std::ssize(all)) return;
  if (all[peers.rank()] == all.front()) gather(peers, true);  // until the others end all
  throw Error(ErrorCode::usage,
              "was started with other options or files than rank 0: give all ranks the same (in "
              "names of files {rank} stands for its number)");
}

// One of the ranks.
void run(std::span<const std::string> arguments, const std::string& prefix, MpiPeers& peers) {
  check_arguments(arguments, peers);
  const CommandSpec* const command =
      arguments.empty() ? nullptr : find_mpi_command(arguments.front());
  if (command == nullptr) {
    const std::string what =
        arguments.empty() ? "no command given" : "unknown command '" + arguments.front() + "'";
    throw Error(ErrorCode::usage, what + ": there are sort and join (try 'xxl-mpi --help')");
  }
  const std::string name = "xxl-mpi " + arguments.front();
  const Caller caller{.command = name, .prefix = prefix};
  if (command == &mpi_join_command()) {
    const JoinArguments parsed = parse_join_arguments(*command, caller, arguments.subspan(1));
    if (!parsed.options.asks_for_text()) return join(caller, parsed, peers);
    if (peers.rank() == 0) print_if_asked(parsed.options, caller);
    return;
  }
  ParsedOptions options(*command, caller, arguments.subspan(1));
  resolve_format(caller, options);
  options.throw_mistake();
  if (!options.asks_for_text()) return sort(caller, options, peers);
  if (peers.rank() == 0) print_if_asked(options, caller);
}

constexpr const char* kHelp =
    "Usage: mpirun -n RANKS xxl-mpi sort [OPTION]... FILE... -o FILE|DIR/\n"
    "       mpirun -n RANKS xxl-mpi join [OPTION]... LEFT RIGHT --output=FILE|DIR/\n"
    "'xxl-mpi sort --help' and 'xxl-mpi join --help' explain the commands.\n";

// What is asked of the program itself, which needs no MPI: --help, --version, and for the build,
// --man COMMAND. True if it was.
bool print_of_program(std::span<const std::string> arguments) {
  std::string text;
  if (arguments.size() == 1 && arguments[0] == "--version") text = version_text({});
  if (arguments.size() == 1 && arguments[0] == "--help") text = kHelp;
  if (arguments.size() == 2 && arguments[0] == "--man") {
    if (const CommandSpec* command = find_mpi_command(arguments[1])) text = manual_page(*command);
  }
  std::fputs(text.c_str(), stdout);
  return !text.empty();
}

}  // namespace
}  // namespace xxl::cli

int main(int argc, char** argv) {
  using namespace xxl::cli;
  using namespace std::string_literals;
  prepare_process();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (print_of_program(arguments)) return kExitSuccess;
  xxl::io::guard_temp_names();  // some programs that start ranks end them by SIGKILL
  const bool has_command = !arguments.empty() && find_mpi_command(arguments.front()) != nullptr;
  const std::string prefix = "xxl-mpi: " + (has_command ? arguments.front() + ": " : ""s);
  xxl::MpiPeers peers(prefix);
  std::string message;
  try {
    run(arguments, prefix, peers);
    return kExitSuccess;
  } catch (const std::bad_alloc&) {
    message = kOutOfMemory;
  } catch (const std::exception& error) {
    message = error.what();
  }
  peers.fail(message);
  return kExitError;
}
