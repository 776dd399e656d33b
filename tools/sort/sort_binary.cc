// xxl sort of binary records.
#include <cstdio>
#include <memory>

#include "base/quote.h"
#include "base/units.h"
#include "cli/devices.h"
#include "record/format_key.h"
#include "record/key_text.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

int run_check(const Caller& caller, const SortOptions& sort, Check check) {
  const OrderCheck result = check_order(sort);
  if (result.ordered) return kExitSuccess;
  if (check == Check::diagnose) {
    std::fprintf(stderr, "%s%s:%ju: disorder at byte %ju\n", caller.prefix.c_str(),
                 quote_controls(sort.inputs.front()).c_str(),
                 static_cast<std::uintmax_t>(result.record + 1),
                 static_cast<std::uintmax_t>(result.offset));
  }
  return kExitDisorder;
}

}  // namespace

SortOptions record_sort_options(const Caller& caller, const ParsedOptions& options) {
  SortOptions sort;
  sort.format = format_option(options, "", options.has("reverse"));
  sort.inputs = input_files(options);
  set_job_options(options, sort);
  if (!sort.part_by.empty()) part_by_field(sort.part_by, options.has("reverse"), sort.format);
  sort.fold = record_fold_option(options, sort.format);
  sort.unique = options.given("unique") && !sort.fold.folds();
  sort.merge_only = options.given("merge");
  static_cast<ResultRange&>(sort) = range_option(options);
  sort.compressed_by_suffix = !caller.stands_in;
  set_temp_compression(options, sort);
  sort.record_kind = sort.output_format().name;
  sort.key_text = key_text_of(sort.output_format());
  return sort;
}

ReportSubject subject_of(const SortOptions& sort) {
  const RecordFormat& format = sort.format;
  return {.inputs = sort.inputs,
          .output = sort.output,
          .scratch_dirs = sort.scratch_dirs,
          .record = format.name,
          .record_details = format_count(format.record_bytes, "byte") + ", key of " +
                            format_count(format.key_bytes(), "byte"),
          .record_bytes = format.record_bytes};
}

TextSortOptions text_sort_of(const SortOptions& records) {
  TextSortOptions sort;
  static_cast<JobOptions&>(sort) = records;
  static_cast<ResultRange&>(sort) = records;
  sort.inputs = records.inputs;
  sort.unique = records.unique;
  sort.merge_only = records.merge_only;
  sort.syntax.record_bytes = records.format.record_bytes;
  sort.keys = std::make_shared<FormatKey>(records.format);
  return sort;
}

int sort_binary(const Caller& caller, const ParsedOptions& options) {
  refuse_options_of_others(options, Scope::all);
  const Check check = check_option(options);
  SortOptions sort = record_sort_options(caller, options);
  if (check != Check::none) return run_check(caller, sort, check);
  if (keep_order_option(options)) {
    TextSortOptions in_order = text_sort_of(sort);
    return run_text_sort(caller, options, in_order, subject_of(sort));
  }
  return run_record_sort(caller, options, sort);
}

int run_record_sort(const Caller& caller, const ParsedOptions& options, SortOptions& sort) {
  JobWatch watch(caller, options, sort);
  const DeviceChoice device =
      options.knows("device") ? device_option(options, sort.time_line) : DeviceChoice();
  device.give_to(sort);
  sort.merge_on_accelerator = device.merge;
  const std::string stats = options.has("stats") ? options.word("stats", "table") : "";
  const bool show_progress = progress_option(options, true);
  const ReportSubject subject = subject_of(sort);
  if (options.has("explain")) {
    const SortPlan plan = plan_sort(sort);
    std::fputs((stats == "json" ? explain_json(subject, plan) : explain(subject, plan)).c_str(),
               stdout);
    warn_of_fewer_threads(caller, sort.memory_bytes, sort.parallel, plan);
    return kExitSuccess;
  }

  const SortReport report = watch.run(
      sort.inputs, show_progress, [&] { return external_sort(sort); },
      [&](const SortReport* done) {
        return sort_texts(subject, done, [&] { return plan_sort(sort); });
      });
  warn_of_fewer_threads(caller, sort.memory_bytes, sort.parallel, report.plan);
  if (stats == "table") std::fputs(stats_table(subject, report).c_str(), stderr);
  if (stats == "json") std::fprintf(stderr, "%s\n", stats_json(subject, report).c_str());
  return kExitSuccess;
}

}  // namespace xxl::cli
