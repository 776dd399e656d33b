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
#include "cli/input_format.h"
#include "io/codec.h"
#include "job/files/text_kind.h"
#include "job/job_defaults.h"
#include "job/part_files.h"
#include "report/job_watch.h"
#include "report/key_words.h"
#include "report/sort_report.h"

namespace xxl::cli {
namespace {

constexpr int kMaxLevel = 22;
constexpr unsigned kMaxBatchSize = 1u << 20;

}  // namespace

std::optional<std::string> excluded_by_check(const ParsedOptions& options) {
  for (const char* other : {"stats", "explain", "report", "time-line", "skip", "limit",
                            "keep-order", "count", "verify", "rejects", "max-rejects"}) {
    if (options.has(other)) return other;
  }
  if (options.word("progress", "never") != "never") return "progress";
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
  if (options.has("part-by")) {
    job.part_by = options.value("part-by", "");
    if (options.values("part-by").size() > 1) {
      throw_usage(options.command(), "--part-by can be given once: parts are by one column");
    }
    if (job.part_by.empty()) throw_usage(options.command(), "--part-by names no column");
  }
  if ((job.parts != 0) + (job.part_bytes != 0) + !job.part_by.empty() > 1) {
    throw Error(ErrorCode::usage, "--parts, --part-bytes and --part-by exclude each other");
  }
  job.verify = options.has("verify");
  if (job.verify && !options.has("output")) {
    throw_usage(options.command(),
                "--verify needs a file to read back: give its name with --output");
  }
  for (const char* option : {"parts", "part-bytes", "part-by"}) {
    if (options.has(option) && !options.has("output")) {
      throw_usage(options.command(),
                  std::string("--") + option + " needs a directory: give its name with --output");
    }
  }
}

void refuse_directory_without_parts(const ParsedOptions& options, const FileJob& job) {
  const std::string output = options.value("output", "");
  if (options.has("output") && output.empty()) refuse_empty_output(options);
  std::error_code error;
  const bool is_directory = output.ends_with('/') || std::filesystem::is_directory(output, error);
  if (has_parts(job) || !is_directory) return;
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
  job.threads = parallel_option(options);
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
  if (!options.has("keep-order")) return false;
  const CommandSpec& command = options.command();
  std::vector<std::string> others = {"count", "merge", "part-by", "repeated", "once"};
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
    if (kind == FoldKind::count) {
      if (options.knows("by")) folds.push_back({*kind, ""});
    } else if (kind) {
      folds.push_back({*kind, argument.value.front()});
    }
  }
  return folds;
}

ResultRange range_option(const ParsedOptions& options) {
  ResultRange range;
  if (options.has("skip")) range.skip = parse_count(options.value("skip", ""), "--skip");
  if (options.has("limit")) range.limit = parse_count(options.value("limit", ""), "--limit");
  return range;
}

void set_temp_compression(const ParsedOptions& options, FileJob& job) {
  const std::string value = options.value("temp-compress", "none");
  const std::string method = value.substr(0, value.find(':'));
  if (method == "lz4") {
    job.scratch_codec = Codec::lz4;
  } else if (method == "zstd") {
    job.scratch_codec = Codec::zstd;
  } else if (value != "none") {
    throw_usage(options.command(), "invalid argument '" + value +
                                       "' for '--temp-compress': use one of lz4 zstd none, with "
                                       "a level as in zstd:3");
  }
  if (method != value) {
    job.scratch_level = static_cast<int>(
        parse_number(value.substr(method.size() + 1), "--temp-compress", 1, kMaxLevel));
    io::check_level(job.scratch_codec, job.scratch_level, "--temp-compress");
  }
}

void set_compression(const Caller& caller, const ParsedOptions& options, SortSpec& spec) {
  set_temp_compression(options, spec);
  spec.compress_program = options.value("compress-program", "");
  spec.on_no_compress_program = [caller](const Error& error) {
    const std::string text = caller.stands_in ? error.what() : escape_controls(error.what());
    std::fprintf(stderr, "%s%s\n", caller.prefix.c_str(), text.c_str());
  };
  if (spec.scratch_codec != Codec::none && !spec.compress_program.empty()) {
    throw_usage(options.command(), "--temp-compress excludes --compress-program");
  }
}

void set_records(const ParsedOptions& options, SortSpec& spec) {
  spec.format = options.value("format", "lines");
  spec.keys = options.values("key");
  spec.reverse = options.has("reverse");
  const bool is_rows = text_kind(spec.format) == TextKind::rows;
  if (is_rows && options.command().name == "top" && spec.keys.empty() && !options.has("part-by")) {
    throw_usage(options.command(), "say by which column, as in --key=amount:number");
  }
  spec.unique = options.has("unique");
  spec.group = options.knows("by");
  if (spec.group) {
    spec.keys = options.values("by");
    std::erase(spec.keys, "");
  }
  spec.count = options.has("count") && !spec.group;
  if (options.has("repeated")) spec.group_sizes = GroupSizes::several;
  if (options.has("once")) spec.group_sizes = GroupSizes::one;
  for (const GivenFold& fold : fold_options(options)) {
    spec.aggregates.push_back(std::string(name_of(fold.kind)) +
                              (fold.kind == FoldKind::count ? "" : "=" + fold.field));
  }
  if (is_rows && !spec.group && spec.keys.empty() && !options.has("part-by") &&
      !spec.aggregates.empty()) {
    const std::string fold = "--" + spec.aggregates.front();
    throw_usage(options.command(), fold.substr(0, fold.find('=')) +
                                       " needs a --key; for one row over all use xxl group " +
                                       fold);
  }
  spec.header = options.has("header");
  spec.separator = options.value("field-separator", "");
  if (options.has("field-separator")) parse_separator(spec.separator);
  spec.zero_terminated = options.has("zero-terminated");
  const ResultRange range = range_option(options);
  spec.skip = range.skip;
  spec.limit = range.limit;
  if (options.knows("per")) spec.per = options.values("per");
  if (!spec.per.empty() && spec.unique) throw_usage(options.command(), "--per excludes --unique");
  if (!is_rows) return;
  const bool is_top = options.command().name == "top";
  spec.empty_last = options.word("empty", is_top ? "last" : "first") == "last";
  spec.nulls = options.values("null");
  set_malformed(options, spec);
  set_field_syntax(options, spec);
}

namespace {

void warn_of_members(const Caller& caller, const std::vector<std::string>& missing) {
  for (const std::string& name : missing) {
    std::fprintf(stderr, "%swarning: no line has the member %s\n", caller.prefix.c_str(),
                 quote_name_always(name).c_str());
  }
}

}  // namespace

void warn_of_rows(const Caller& caller, const RowFaults& rows, const std::string& malformed,
                  const char* whose_comments) {
  const auto warn = [&](const std::string& text, const char* advice) {
    std::fprintf(stderr, "%swarning: %s (first: %s)%s\n", caller.prefix.c_str(), text.c_str(),
                 rows.first_fault.c_str(), advice);
  };
  if (rows.skipped != 0) {
    warn(format_count(rows.skipped, "malformed row") +
             (rows.skipped == 1 ? " was skipped" : " were skipped"),
         "");
  }
  if (rows.comments != 0) {
    std::fprintf(stderr, "%swarning: %s %s left out: only those of the %s file are kept\n",
                 caller.prefix.c_str(), format_count(rows.comments, "comment line").c_str(),
                 rows.comments == 1 ? "was" : "were", whose_comments);
  }
  warn_of_members(caller, rows.missing_members);
  if (rows.kept == 0) return;
  if (malformed == "keep") {
    warn(format_count(rows.kept, "malformed row") + (rows.kept == 1 ? " was kept" : " were kept"),
         "");
  } else {
    warn(format_count(rows.kept, "row") + (rows.kept == 1 ? " has" : " have") +
             " another number of fields than the first row",
         ": --malformed says what to do with such rows");
  }
}

SortSpec sort_spec(const Caller& caller, const ParsedOptions& options) {
  SortSpec spec;
  spec.compressed_by_suffix = !caller.stands_in;
  set_records(options, spec);
  set_job_options(options, spec);
  set_compression(caller, options, spec);
  spec.inputs = input_files(options);
  spec.merge_only = options.has("merge");
  return spec;
}

namespace {

ReportSubject subject_of(const SortSpec& spec) {
  ReportSubject subject{.inputs = spec.inputs,
                        .output = spec.output,
                        .scratch_dirs = spec.scratch_dirs,
                        .record = spec.format,
                        .record_details = "of any length"};
  if (text_kind(spec.format) != TextKind::none) return subject;
  const RecordFormat format = format_of(spec);
  subject.record = format.name;
  subject.record_bytes = format.record_bytes;
  subject.record_details = format_count(format.record_bytes, "byte");
  if (!spec.shuffle_seed) {
    subject.record_details += ", key of " + format_count(format.key_bytes(), "byte");
  }
  return subject;
}

void warn_of_fewer_threads(const Caller& caller, const SortSpec& spec, const SortPlan& plan) {
  if (!is_fixed(spec) || plan.threads >= spec.threads) return;
  std::fprintf(stderr, "%swarning: -S %s is better used by %u thread%s than by --parallel=%u\n",
               caller.prefix.c_str(), format_bytes(spec.memory_bytes).c_str(), plan.threads,
               plan.threads == 1 ? "" : "s", spec.threads);
}

}  // namespace

int run_sort_job(const Caller& caller, const ParsedOptions& options, SortSpec spec,
                 const std::string& shown_output) {
  JobWatch watch(caller, options, spec, spec);
  spec.keep_order = keep_order_option(options);
  const bool has_devices = options.knows("device") && !spec.keep_order;
  const DeviceChoice device = has_devices ? device_option(options, spec.time_line) : DeviceChoice();
  device.give_to(spec);
  spec.merge_on_accelerator = device.merge;
  const std::string stats = options.has("stats") ? options.word("stats", "table") : "";
  ReportSubject subject = subject_of(spec);
  subject.format = format_words(options);
  if (!shown_output.empty()) subject.output = shown_output;
  if (options.has("explain")) {
    const SortPlan plan = plan_sort(spec);
    subject.keys = key_words(spec);
    std::fputs((stats == "json" ? explain_json(subject, plan) : explain(subject, plan)).c_str(),
               stdout);
    warn_of_fewer_threads(caller, spec, plan);
    return kExitSuccess;
  }
  const bool show_progress = progress_option(options, !caller.stands_in);
  check_usage(spec);
  subject.keys = key_words(spec);
  const SortReport report = watch.run(
      spec.inputs, show_progress, [&] { return do_job(spec); },
      [&](const SortReport* done) -> JobPage {
        if (done == nullptr) return {.plan = explain(subject, plan_sort(spec))};
        return {.plan = explain(subject, done->plan),
                .facts = stats_table(subject, *done),
                .given = {.threads = done->plan.threads, .passes = done->passes}};
      });
  print_summary(options, show_progress, summary_of(subject, report), report);
  warn_of_rows(caller, report, spec.malformed);
  warn_of_fewer_threads(caller, spec, report.plan);
  if (stats == "table") std::fputs(stats_table(subject, report).c_str(), stderr);
  if (stats == "json") std::fprintf(stderr, "%s\n", stats_json(subject, report).c_str());
  return kExitSuccess;
}

void die_of_broken_pipe(const Caller& caller, const Error& error) {
  if (error.sys_errno() != EPIPE || !caller.broken_pipe_kills) return;
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

int run_check(const Caller& caller, const SortSpec& spec, Check check) {
  const OrderCheck result = check_order(spec);
  if (check == Check::diagnose) warn_of_members(caller, result.missing_members);
  if (result.ordered) return kExitSuccess;
  if (check != Check::diagnose) return kExitDisorder;
  const auto shown = [&](const std::string& text, std::string quoted) {
    return caller.stands_in ? text : quoted;
  };
  const TextKind kind = text_kind(spec.format);
  const std::string file = shown(spec.inputs.front(), quote_controls(spec.inputs.front()));
  // Rows may have several lines.
  std::string message = caller.prefix + file + (kind == TextKind::rows ? ": row " : ":") +
                        std::to_string(result.record + 1 + (spec.header ? 1 : 0)) + ": disorder";
  message += kind == TextKind::none ? " at byte " + std::to_string(result.offset)
                                    : ": " + shown(result.text, escape_controls(result.text, "\t"));
  message.push_back(spec.zero_terminated ? '\0' : '\n');
  std::fwrite(message.data(), 1, message.size(), stderr);
  return kExitDisorder;
}

}  // namespace xxl::cli
