// xxl sort.
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "command.h"
#include "machine.h"
#include "pipeline/external_sort.h"
#include "progress_line.h"
#include "sort_report.h"

namespace xxl::cli {
namespace {

constexpr unsigned kMaxBatchSize = 1u << 20;

bool is_text(std::string_view record) {
  return record == "lines" || record == "csv" || record == "tsv";
}

// Nothing that was asked for is ignored: what is not there yet is refused.
void refuse_what_is_not_built(const ParsedOptions& options) {
  const CommandSpec& command = options.command();
  const std::string record = options.value("record", "");
  if (record.empty() || is_text(record)) {
    throw_usage(command,
                std::string(record.empty() ? "sorting lines of text" : "--record=" + record) +
                    " is not built yet: say with --record what the records are, for "
                    "example --record=u64 or --record=fixed:N");
  }
  for (const OptionSpec& option : command.options) {
    if (option.support == Support::works || !options.has(option.key())) continue;
    const std::string name =
        option.long_name.empty() ? option.key() : "--" + std::string(option.long_name);
    throw_usage(command, name + (option.support == Support::text_only
                                     ? " is for text only, not for --record=" + record
                                     : " is not built yet"));
  }
  if (options.value("device", "auto") == "gpu") {
    throw_usage(command, "--device=gpu is not built yet: use auto or cpu");
  }
  options.word("device", "auto");
}

bool checks_silently(const ParsedOptions& options) {
  return options.has("-C") || options.word("check", "diagnose-first") != "diagnose-first";
}

bool only_checks(const ParsedOptions& options) {
  return options.has("-c") || options.has("-C") || options.has("check");
}

// As sort(1) does: contradictions are errors, not a matter of which came last.
void refuse_contradictions(const ParsedOptions& options) {
  if (!only_checks(options)) return;
  const CommandSpec& command = options.command();
  const bool silent = checks_silently(options);
  const std::string check = silent ? "-C" : "-c";
  const bool asks_for_words = options.has("-c") || options.values("check").size() > 1;
  if (silent && asks_for_words) throw_usage(command, "options '-cC' are incompatible");
  if (options.has("output")) throw_usage(command, "options '" + check + "o' are incompatible");
  if (options.has("merge")) throw_usage(command, "options '" + check + "m' are incompatible");
  for (const char* other : {"stats", "explain"}) {
    if (options.has(other)) {
      throw_usage(command, "options '" + check + "' and '--" + other + "' are incompatible");
    }
  }
  if (options.operands().size() > 1) {
    throw_usage(command, "extra operand '" + options.operands()[1] + "' not allowed with " + check);
  }
}

io::Backend backend_option(const ParsedOptions& options) {
  const std::string word = options.word("io", "auto");
  if (word == "io_uring") return io::Backend::io_uring;
  if (word == "threads") return io::Backend::threads;
  return io::Backend::automatic;
}

SortOptions sort_options(const ParsedOptions& options) {
  SortOptions sort;
  sort.format = format_option(options, "", options.has("reverse"));
  sort.inputs = options.operands();
  if (sort.inputs.empty()) sort.inputs.push_back("-");
  sort.output = output_option(options);
  sort.memory_bytes = options.has("buffer-size") ? parse_size(options.value("buffer-size", ""),
                                                              "-S", physical_memory_bytes())
                                                 : default_memory_bytes();
  sort.scratch_dirs = options.values("temporary-directory");
  if (sort.scratch_dirs.empty()) sort.scratch_dirs.push_back(default_scratch_dir());
  sort.parallel = parallel_option(options);
  sort.batch_size = static_cast<unsigned>(options.number("batch-size", 0, 2, kMaxBatchSize));
  sort.unique = options.has("unique");
  sort.merge_only = options.has("merge");
  sort.backend = backend_option(options);
  return sort;
}

bool shows_progress(const ParsedOptions& options) {
  const std::string when = options.word("progress", "auto");
  return when == "always" || (when == "auto" && isatty(STDERR_FILENO) == 1);
}

void warn_of_fewer_threads(const SortOptions& sort, const SortPlan& plan) {
  if (plan.threads >= sort.parallel) return;
  std::fprintf(stderr,
               "xxl: sort: warning: -S %s is enough for %u thread%s, not for --parallel=%u\n",
               format_bytes(sort.memory_bytes).c_str(), plan.threads, plan.threads == 1 ? "" : "s",
               sort.parallel);
}

int check(const SortOptions& sort, bool silent) {
  const OrderCheck result = check_order(sort);
  if (result.ordered) return kExitSuccess;
  if (!silent) {
    std::fprintf(stderr, "xxl: sort: %s:%ju: disorder at byte %ju\n", sort.inputs.front().c_str(),
                 static_cast<std::uintmax_t>(result.record + 1),
                 static_cast<std::uintmax_t>(result.offset));
  }
  return kExitDisorder;
}

}  // namespace

int run_sort(const ParsedOptions& options) {
  refuse_what_is_not_built(options);
  refuse_contradictions(options);
  SortOptions sort = sort_options(options);
  const std::string stats = options.has("stats") ? options.word("stats", "table") : "";
  const bool show_progress = shows_progress(options);

  if (only_checks(options)) return check(sort, checks_silently(options));
  if (options.has("explain")) {
    const SortPlan plan = plan_sort(sort);
    std::fputs(explain(sort, plan).c_str(), stdout);
    warn_of_fewer_threads(sort, plan);
    return kExitSuccess;
  }

  Progress progress;
  sort.progress = &progress;
  std::optional<ProgressLine> line;
  if (show_progress) line.emplace(progress);
  const SortReport report = external_sort(sort);
  line.reset();

  warn_of_fewer_threads(sort, report.plan);
  if (stats == "table") std::fputs(stats_table(sort, report).c_str(), stderr);
  if (stats == "json") std::fprintf(stderr, "%s\n", stats_json(sort, report).c_str());
  return kExitSuccess;
}

}  // namespace xxl::cli
