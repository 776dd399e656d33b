#include "sort/sort_shared.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/quote.h"
#include "base/units.h"
#include "cli/devices.h"
#include "engine/job_defaults.h"
#include "engine/part_files.h"
#include "engine/text_sort/kept_order.h"
#include "io/codec.h"

namespace xxl::cli {
namespace {

constexpr int kMaxLevel = 22;
constexpr unsigned kMaxBatchSize = 1u << 20;

}  // namespace

std::optional<std::string> excluded_by_check(const ParsedOptions& options) {
  for (const char* other : {"stats", "explain", "report", "time-line", "progress", "skip", "limit",
                            "keep-order", "count", "verify"}) {
    if (options.has(other)) return other;
  }
  const std::vector<GivenFold> folds = fold_options(options);
  if (!folds.empty()) return std::string(name_of(folds.front().kind));
  return {};
}

// As in sort(1), contradictions are errors: the last option does not win.
Check check_option(const ParsedOptions& options) {
  const bool words = options.has("-c") || options.has("check");
  if (!words && !options.has("-C")) return Check::none;
  const CommandSpec& command = options.command();
  const bool silent =
      options.has("-C") || options.word("check", "diagnose-first") != "diagnose-first";
  const std::string check = silent ? "-C" : "-c";
  const bool asks_for_words = options.has("-c") || options.values("check").size() > 1;
  if (silent && asks_for_words) throw_usage(command, "options '-cC' are incompatible");
  if (options.has("output")) throw_usage(command, "options '" + check + "o' are incompatible");
  if (options.has("merge")) throw_usage(command, "options '" + check + "m' are incompatible");
  if (const auto other = excluded_by_check(options)) {
    throw_usage(command, "options '" + check + "' and '--" + *other + "' are incompatible");
  }
  if (options.operands().size() > 1) {
    throw_usage(command, "extra operand '" + options.operands()[1] + "' not allowed with " + check);
  }
  return silent ? Check::quiet : Check::diagnose;
}

Backend backend_option(const ParsedOptions& options) {
  const std::string word = options.word("io", "auto");
  if (word == "io_uring") return Backend::io_uring;
  if (word == "threads") return Backend::threads;
  return Backend::automatic;
}

std::vector<std::string> scratch_option(const ParsedOptions& options) {
  std::vector<std::string> directories = options.values("temporary-directory");
  std::erase(directories, "");
  if (directories.empty()) directories.push_back(default_scratch_dir());
  return directories;
}

void set_output_options(const ParsedOptions& options, FileJob& job) {
  if (options.has("parts")) {
    job.parts = options.number("parts", 0, 1, static_cast<unsigned>(kMostParts));
  }
  if (options.has("part-bytes")) {
    job.part_bytes = parse_size(options.value("part-bytes", ""), "--part-bytes", 0);
    if (job.part_bytes == 0) throw_usage(options.command(), "--part-bytes must be at least 1b");
  }
  if (options.given("part-by")) {
    job.part_by = options.value("part-by", "");
    if (options.values("part-by").size() > 1) {
      throw_usage(options.command(), "--part-by can be given once: parts are by one column");
    }
    if (job.part_by.empty()) throw_usage(options.command(), "--part-by names no column");
  }
  if ((job.parts != 0) + (job.part_bytes != 0) + !job.part_by.empty() > 1) {
    throw Error(ErrorCode::usage, "--parts, --part-bytes and --part-by exclude each other");
  }
  job.verify = options.given("verify");
  if (job.verify && !options.has("output")) {
    throw_usage(options.command(),
                "--verify needs a file to read back: give its name with --output");
  }
  for (const char* option : {"parts", "part-bytes", "part-by"}) {
    if (options.given(option) && !options.has("output")) {
      throw_usage(options.command(),
                  std::string("--") + option + " needs a directory: give its name with --output");
    }
  }
}

void refuse_directory_without_parts(const ParsedOptions& options, const FileJob& job) {
  const std::string output = options.value("output", "");
  if (options.has("output") && output.empty()) {
    throw_usage(options.command(), "the name of the output file is empty");
  }
  const bool in_parts = job.parts != 0 || job.part_bytes != 0 || !job.part_by.empty();
  std::error_code error;
  const bool is_directory = output.ends_with('/') || std::filesystem::is_directory(output, error);
  if (in_parts || !is_directory) return;
  throw_usage(options.command(),
              quote_controls(output) +
                  " is a directory: name a file in it, or say with --parts or --part-bytes what "
                  "its files are");
}

std::uint64_t memory_of_machine(const std::string& prefix, std::uint64_t given_bytes) {
  const std::uint64_t bytes = cut_to_machine(given_bytes);
  if (bytes < given_bytes) {
    std::fprintf(stderr,
                 "%swarning: -S %s is cut to %s: the memory of this machine or its control group "
                 "(cgroup), less what the program and the system need\n",
                 prefix.c_str(), format_bytes(given_bytes).c_str(), format_bytes(bytes).c_str());
  }
  return bytes;
}

void set_job_options(const ParsedOptions& options, FileJob& job) {
  set_output_options(options, job);
  refuse_directory_without_parts(options, job);
  job.output = output_option(options);
  job.scratch_dirs = scratch_option(options);
  job.parallel = parallel_option(options);
  job.batch_size = static_cast<unsigned>(options.number("batch-size", 0, 2, kMaxBatchSize));
  job.backend = backend_option(options);
  if (options.has("buffer-size")) {
    const std::string size = options.value("buffer-size", "");
    job.memory_bytes = memory_of_machine("xxl: " + std::string(options.command().name) + ": ",
                                         parse_size(size, "-S", usable_memory_bytes()));
  } else {
    set_defaults(job);
  }
}

bool progress_option(const ParsedOptions& options, bool by_default) {
  const std::string when = options.word("progress", by_default ? "auto" : "never");
  return when == "always" || (when == "auto" && isatty(STDERR_FILENO) == 1);
}

bool keep_order_option(const ParsedOptions& options) {
  if (!options.given("keep-order")) return false;
  const CommandSpec& command = options.command();
  std::vector<std::string> others = {"count", "merge", "part-by"};
  others.insert(others.end(), kFoldNames.begin(), kFoldNames.end());
  for (const std::string& other : others) {
    if (options.has(other)) throw_usage(command, "--keep-order excludes --" + other);
  }
  if (!options.has("unique")) {
    throw_usage(command, "--keep-order needs -u: what would be sorted keeps no order");
  }
  if (options.value("device", "cpu").starts_with("gpu")) {
    throw_usage(command, "--keep-order is not for GPUs: leave out --device");
  }
  return true;
}

std::vector<GivenFold> fold_options(const ParsedOptions& options) {
  std::vector<GivenFold> folds;
  for (const Argument& argument : options.arguments()) {
    const std::optional<FoldKind> kind = fold_kind(argument.string_key);
    if (kind) folds.push_back({*kind, argument.value.front()});
  }
  return folds;
}

RecordFold record_fold_option(const ParsedOptions& options, const RecordFormat& format) {
  return parse_record_fold(fold_options(options), options.given("count"), format);
}

ResultRange range_option(const ParsedOptions& options) {
  ResultRange range;
  if (options.has("skip")) range.skip = parse_count(options.value("skip", ""), "--skip");
  if (options.has("limit")) range.limit = parse_count(options.value("limit", ""), "--limit");
  return range;
}

void set_temp_compression(const ParsedOptions& options, JobOptions& sort) {
  const std::string value = options.value("temp-compress", "none");
  const std::string method = value.substr(0, value.find(':'));
  if (method == "lz4") {
    sort.temp_codec = Codec::lz4;
  } else if (method == "zstd") {
    sort.temp_codec = Codec::zstd;
  } else if (value != "none") {
    throw_usage(options.command(), "invalid argument '" + value +
                                       "' for '--temp-compress': use one of lz4 zstd none, with "
                                       "a level as in zstd:3");
  }
  if (method != value) {
    sort.temp_level = static_cast<int>(
        parse_number(value.substr(method.size() + 1), "--temp-compress", 1, kMaxLevel));
    io::check_level(sort.temp_codec, sort.temp_level, "--temp-compress");
  }
}

void set_text_options(const Caller& caller, const ParsedOptions& options, TextSortOptions& sort) {
  sort.unique = options.given("unique") || options.given("count");
  sort.merge_only = options.given("merge");
  sort.syntax.header = options.has("header");
  static_cast<ResultRange&>(sort) = range_option(options);
  set_text_compression(caller, options, sort);
}

void set_text_compression(const Caller& caller, const ParsedOptions& options,
                          TextSortOptions& sort) {
  sort.compress_program = options.value("compress-program", "");
  sort.on_no_compress_program = [caller](const Error& error) {
    const std::string text = caller.stands_in ? error.what() : escape_controls(error.what());
    std::fprintf(stderr, "%s%s\n", caller.prefix.c_str(), text.c_str());
  };
  set_temp_compression(options, sort);
  if (sort.temp_codec != Codec::none && !sort.compress_program.empty()) {
    throw_usage(options.command(), "--temp-compress excludes --compress-program");
  }
}

ReportSubject subject_of(const TextSortOptions& sort) {
  const std::size_t bytes = sort.syntax.record_bytes;
  return {.inputs = sort.inputs,
          .output = sort.output,
          .scratch_dirs = sort.scratch_dirs,
          .record = sort.record_kind,
          .record_details = bytes == 0 ? "of any length" : format_count(bytes, "byte"),
          .record_bytes = bytes};
}

int run_text_sort(const Caller& caller, const ParsedOptions& options, TextSortOptions& sort,
                  const ReportSubject& subject) {
  JobWatch watch(caller, options, sort);
  const bool keeps_order = keep_order_option(options);
  const auto plan_sort = keeps_order ? plan_sort_in_kept_order : plan_text_sort;
  const auto run_sort = keeps_order ? sort_in_kept_order : text_sort;
  const bool has_devices = options.knows("device") && !keeps_order;
  const DeviceChoice device = has_devices ? device_option(options, sort.time_line) : DeviceChoice();
  device.give_to(sort);
  const std::string stats = options.has("stats") ? options.word("stats", "table") : "";
  if (options.has("explain")) {
    const SortPlan plan = plan_sort(sort);
    std::fputs((stats == "json" ? explain_json(subject, plan) : explain(subject, plan)).c_str(),
               stdout);
    return kExitSuccess;
  }
  const bool show_progress = progress_option(options, !caller.stands_in);
  const SortReport report = watch.run(
      sort.inputs, show_progress, [&] { return run_sort(sort); },
      [&](const SortReport* done) {
        return sort_texts(subject, done, [&] { return plan_sort(sort); });
      });
  if (sort.syntax.skip_malformed && report.skipped != 0) {
    std::fprintf(stderr, "%swarning: %s left out\n", caller.prefix.c_str(),
                 format_count(report.skipped, "malformed row").c_str());
  }
  if (stats == "table") std::fputs(stats_table(subject, report).c_str(), stderr);
  if (stats == "json") std::fprintf(stderr, "%s\n", stats_json(subject, report).c_str());
  return kExitSuccess;
}

void die_of_broken_pipe(const Caller& caller, const Error& error) {
  if (error.sys_errno() != EPIPE || !caller.broken_pipe_kills) return;
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

int run_text_check(const Caller& caller, const TextSortOptions& sort, Check check) {
  const OrderCheck result = check_text_order(sort);
  if (result.ordered) return kExitSuccess;
  if (check == Check::diagnose) {
    // Rows may have several lines.
    const std::string number = std::to_string(result.record + 1 + (sort.syntax.header ? 1 : 0));
    const auto shown = [&](const std::string& text, std::string quoted) {
      return caller.stands_in ? text : quoted;
    };
    std::string message = caller.prefix +
                          shown(sort.inputs.front(), quote_controls(sort.inputs.front())) +
                          (sort.syntax.rows ? ": row " : ":") + number +
                          ": disorder: " + shown(result.text, escape_controls(result.text, "\t"));
    message.push_back(sort.syntax.terminator);
    std::fwrite(message.data(), 1, message.size(), stderr);
  }
  return kExitDisorder;
}

void warn_of_fewer_threads(const Caller& caller, std::uint64_t memory_bytes, unsigned parallel,
                           const SortPlan& plan) {
  if (plan.threads >= parallel) return;
  std::fprintf(stderr, "%swarning: -S %s is better used by %u thread%s than by --parallel=%u\n",
               caller.prefix.c_str(), format_bytes(memory_bytes).c_str(), plan.threads,
               plan.threads == 1 ? "" : "s", parallel);
}

}  // namespace xxl::cli
