// xxl join of lines, rows of CSV and TSV, and binary records.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "base/units.h"
#include "cli/devices.h"
#include "join/join_shared.h"
#include "report/job_watch.h"
#include "report/join_report.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

JoinShape shape_option(const JoinArguments& arguments, JoinKind kind) {
  const ParsedOptions& options = arguments.options;
  const bool has_letters = options.has("-a") || options.has("-v");
  if (has_letters && options.has("how")) {
    throw_usage(options.command(), "--how excludes -a and -v");
  }
  return has_letters ? arguments.shape : shape_of(kind);
}

// The kind of join in reports.
std::string shape_text(const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  if (!options.has("-a") && !options.has("-v")) return options.word("how", "inner");
  const JoinShape& shape = arguments.shape;
  for (const auto& [name, other] :
       {std::pair{"left", JoinKind::left}, std::pair{"right", JoinKind::right},
        std::pair{"full", JoinKind::full}}) {
    if (shape == shape_of(other)) return name;
  }
  if (shape.unmatched_r && shape.unmatched_s) return "unmatched of both";
  return shape.unmatched_r ? "unmatched of the left" : "unmatched of the right";
}

std::array<std::string, kJoinSides> suffixes_option(const ParsedOptions& options) {
  if (options.has("suffixes") && !options.has("header")) {
    throw_usage(options.command(), "--suffixes is for names of columns: it requires --header");
  }
  const std::string text = options.value("suffixes", "_1,_2");
  const std::size_t comma = text.find(',');
  if (comma == text.npos || text.find(',', comma + 1) != text.npos) {
    throw_usage(options.command(), "--suffixes=" + text + ": give two, as in --suffixes=_1,_2");
  }
  if (text.substr(0, comma) == text.substr(comma + 1)) {
    throw_usage(options.command(), "--suffixes=" + text + " do not tell the columns apart");
  }
  return {text.substr(0, comma), text.substr(comma + 1)};
}

void set_text(const JoinArguments& arguments, TextKind kind, JoinSpec& join) {
  const ParsedOptions& options = arguments.options;
  join.shape = shape_option(arguments, join.how);
  join.header = options.has("header");
  join.formats = {options.value("format", "lines"), options.value("format", "lines")};
  join.empty_keys_match = options.word("empty-keys", "equal") == "equal";
  join.zero_terminated = arguments.terminator == '\0';
  // Semi and anti joins write records unchanged.
  const bool as_they_are = options.has("how") && !join.shape->pairs;
  if (kind == TextKind::lines) {
    if (as_they_are && (options.has("layout") || arguments.lines.filler)) {
      throw_usage(options.command(),
                  "semi and anti joins write lines as they are: leave out --layout and -e");
    }
    join.lines = arguments.lines;
    join.layout = options.value("layout", "");
    return;
  }
  if (as_they_are && (arguments.lines.filler || options.has("suffixes"))) {
    throw_usage(options.command(),
                "semi and anti joins write rows as they are: leave out -e and --suffixes");
  }
  if (options.has("layout")) {
    throw_usage(options.command(),
                "--layout is for lines and binary records; rows of CSV and TSV "
                "have the columns of both sides");
  }
  join.nulls = options.values("null");
  set_malformed(options, join);
  if (const auto& separator = arguments.lines.syntax.separator) {
    join.separator = *separator == '\0' ? "\\0" : separator->bytes();
  }
  set_field_syntax(options, join);
  join.cross = options.value("how", "") == "cross";
  join.filler = arguments.lines.filler;
  join.suffixes = suffixes_option(options);
}

constexpr std::array<const char*, kJoinSides> kRecordOfSide = {"record1", "record2"};

RecordFormat format_of_side(const JoinArguments& arguments, std::size_t side) {
  const ParsedOptions& options = arguments.options;
  const std::string own = kRecordOfSide[side];
  if (!options.has(own) && !options.has("format")) {
    throw_usage(options.command(), "say what the records of both sides are: --record, or --" + own);
  }
  const std::string record = options.value(own, options.value("format", ""));
  if (text_kind(record) != TextKind::none) {
    throw_usage(options.command(),
                "--record1 and --record2 are for binary records; text is of one kind on both "
                "sides: --record=" +
                    record);
  }
  return parse_record_format(record, split_keys(key_specs(arguments, side)), false, kOtherRecords);
}

std::string describe(const RecordFormat& format) {
  return format.name + ", " + format_count(format.record_bytes, "byte") + ", key of " +
         format_count(format.key_bytes(), "byte");
}

void set_binary(const JoinArguments& arguments, JoinSpec& join) {
  const ParsedOptions& options = arguments.options;
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    format_of_side(arguments, side);
    join.formats[side] = options.value(kRecordOfSide[side], options.value("format", ""));
  }
  join.layout = options.value("layout", "");
  if (options.has("layout") && join.layout.empty()) {
    throw_usage(options.command(), "--layout= leaves nothing of a row");
  }
}

// Left becomes right, also in the layout.
void swap_sides(JoinSpec& join) {
  std::swap(join.inputs[0], join.inputs[1]);
  std::swap(join.formats[0], join.formats[1]);
  std::swap(join.left_on, join.right_on);
  std::swap(join.presorted[0], join.presorted[1]);
  for (std::size_t i = 0; i + 1 < join.layout.size(); ++i) {
    if ((i > 0 && join.layout[i - 1] != ',') || join.layout[i + 1] != '.') continue;
    join.layout[i] = join.layout[i] == '1' ? '2' : join.layout[i] == '2' ? '1' : join.layout[i];
  }
}

void swap_sides(JoinPlan& plan) {
  std::swap(plan.sides[0], plan.sides[1]);
  plan.build = plan.build == JoinSide::r ? JoinSide::s : JoinSide::r;
}

JoinPlan plan_as_given(const ParsedOptions& options, const JoinSpec& join) {
  JoinPlan plan = plan_join(join);
  if (swaps_sides(options)) swap_sides(plan);
  return plan;
}

JoinReport join_as_given(const ParsedOptions& options, const JoinSpec& join) {
  JoinReport report = do_job(join);
  if (!swaps_sides(options)) return report;
  swap_sides(report.plan);
  std::swap(report.sides[0], report.sides[1]);
  return report;
}

JoinSubject subject_of(const JoinArguments& arguments, TextKind kind, const JoinSpec& join) {
  JoinSubject subject{.inputs = {arguments.files[0], arguments.files[1]},
                      .records = join.formats,
                      .kind = shape_text(arguments),
                      .output = join.count_only ? "" : join.output,
                      .scratch_dirs = join.scratch_dirs};
  if (kind != TextKind::none) return subject;
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    subject.records[side] = describe(format_of_side(arguments, side));
  }
  return subject;
}

}  // namespace

void set_records(const JoinArguments& arguments, TextKind kind, JoinSpec& join) {
  const ParsedOptions& options = arguments.options;
  join.left_on = key_specs(arguments, 0);
  join.right_on = key_specs(arguments, 1);
  if (kind != TextKind::none) {
    set_text(arguments, kind, join);
  } else {
    set_binary(arguments, join);
  }
  if (!swaps_sides(options)) return;
  if (kind != TextKind::none) {  // messages speak of the sides as given
    JoinSpec given = join;
    given.part_by.clear();
    check_usage(given);
  }
  swap_sides(join);
}

int join_files(const Caller& caller, const JoinArguments& arguments, TextKind kind) {
  const ParsedOptions& options = arguments.options;
  JoinSpec join;
  set_join_options(arguments, join);
  set_records(arguments, kind, join);
  JobWatch watch(caller, options, join, join);
  const bool is_text = kind != TextKind::none;
  const auto refuse_gpus = [&](const std::string& option) {
    throw_usage(options.command(), option + ": text is joined on the CPU");
  };
  for (const char* option : {"gpu-memory", "multi-gpu"}) {
    if (is_text && options.has(option)) refuse_gpus(std::string("--") + option);
  }
  const DeviceChoice device = device_option(options, join.time_line);
  if (!is_text) device.give_to(join);
  if (is_text && device.acceleration == Acceleration::always) {
    refuse_gpus("--device=" + options.value("device", ""));
  }
  const JoinSubject subject = subject_of(arguments, kind, join);
  const std::string stats = options.has("stats") ? options.word("stats", "table") : "";
  const bool show_progress = progress_option(options, true);
  if (options.has("explain")) {
    const JoinPlan plan = plan_as_given(options, join);
    std::fputs((stats == "json" ? explain_json(subject, plan) : explain(subject, plan)).c_str(),
               stdout);
    return kExitSuccess;
  }
  check_usage(join);
  const JoinReport report = watch.run(
      {join.inputs.begin(), join.inputs.end()}, show_progress,
      [&] { return join_as_given(options, join); },
      [&](const JoinReport* done) -> JobPage {
        if (done == nullptr) return {.plan = explain(subject, plan_as_given(options, join))};
        return {.plan = explain(subject, done->plan),
                .facts = stats_table(subject, *done),
                .given = {.threads = done->plan.threads,
                          .passes = std::max(done->sides[0].passes, done->sides[1].passes)}};
      });
  if (join.count_only) {
    std::printf("%ju\n", static_cast<std::uintmax_t>(report.rows));
  }
  print_summary(options, show_progress, summary_of(subject, report), report);
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    warn_of_rows(caller, report.sides[side], join.malformed,
                 swaps_sides(options) ? "right" : "left");
  }
  if (stats == "table") std::fputs(stats_table(subject, report).c_str(), stderr);
  if (stats == "json") std::fprintf(stderr, "%s\n", stats_json(subject, report).c_str());
  return kExitSuccess;
}

}  // namespace xxl::cli
