#include "report/sort_report.h"

#include "base/quote.h"
#include "base/units.h"
#include "job/files/text_kind.h"
#include "report/json.h"
#include "report/report_text.h"

namespace xxl::cli {
namespace {

std::uint64_t input_bytes(const ReportSubject& subject, const SortReport& report) {
  if (subject.record_bytes != 0) return report.records_in * subject.record_bytes;
  if (report.plan.input_size_known || report.phases.empty()) return report.plan.input_bytes;
  return report.phases.front().bytes_read;  // which reads all input
}

std::string merging_text(unsigned passes, std::uint64_t degree) {
  if (passes == 0) return "none: the records fit in memory";
  return passes_text(passes) + ", at most " + format_count(degree, "run") + " at once";
}

std::string device_text(const SortPlan& plan) {
  if (plan.no_accelerator.empty()) return plan.device;
  return plan.device + " (" + plan.no_accelerator + ")";
}

std::string merged_on_text(const SortReport& report) {
  const std::uint64_t accelerated = report.merged_on_accelerator_bytes;
  if (accelerated == 0) {
    return report.merged_on_cpu_because.empty() ? "cpu"
                                                : "cpu (" + report.merged_on_cpu_because + ")";
  }
  if (accelerated == report.merged_bytes) return "GPU";
  return "GPU, after " + format_bytes(report.merged_bytes - accelerated) + " on the CPU";
}

// What plan and report say alike.
void append_means(Json& json, const SortPlan& plan) {
  json.member("memory_bytes", plan.memory_bytes)
      .member("sort_memory_bytes", plan.sort_memory_bytes)
      .member("block_bytes", plan.block_bytes)
      .member("threads", plan.threads)
      .member("backend", plan.backend)
      .member("device", plan.device)
      .member("no_accelerator", plan.no_accelerator);
}

}  // namespace

std::string explain(const ReportSubject& subject, const SortPlan& plan) {
  std::string out;
  const std::string size = plan.input_size_known ? format_exact(plan.input_bytes) : "unknown";
  append_fact(out, "input:", list_text(subject.inputs) + ": " + size);
  append_fact(
      out, "output:", quote_controls(subject.output) + range_text(plan.skip, plan.limit, "record"));
  append_fact(out, "format:", subject.format);
  for (std::size_t i = 0; i < subject.keys.size(); ++i) {
    append_fact(out, ("key " + std::to_string(i + 1) + ":").c_str(),
                escape_controls(subject.keys[i]));
  }
  append_fact(out, "record:",
              subject.record + ", " + subject.record_details + ", sorted as " + plan.record_kind);
  append_fact(out, "memory:",
              format_exact(plan.memory_bytes) + ", of which " +
                  format_bytes(plan.sort_memory_bytes) + " for records");
  append_fact(out, "threads:", std::to_string(plan.threads));
  append_fact(out, "sorted on:", device_text(plan));
  append_fact(out, "disk access:", plan.backend);
  if (plan.input_size_known) {
    append_fact(out, "runs:",
                std::to_string(plan.expected_runs) + " expected of random input, in blocks of " +
                    format_bytes(plan.block_bytes));
    append_fact(out, "merging:", merging_text(plan.passes, plan.merge_degree));
    append_fact(out, "scratch space:",
                (plan.limit && plan.scratch_bytes != 0 ? "at most " : "") +
                    format_exact(plan.scratch_bytes) + " in " + list_text(subject.scratch_dirs));
  } else {
    append_fact(
        out, "runs:", "as many as the input takes, in blocks of " + format_bytes(plan.block_bytes));
    append_fact(out, "merging:", "up to " + format_count(plan.merge_degree, "run") + " at once");
    append_fact(out, "scratch space:",
                "up to the size of the input, in " + list_text(subject.scratch_dirs));
  }
  return out;
}

std::string explain_json(const ReportSubject& subject, const SortPlan& plan) {
  const auto if_known = [&](std::uint64_t value) {
    return plan.input_size_known ? std::optional(value) : std::nullopt;
  };
  Json json;
  json.begin_object();
  append_list(json, "inputs", subject.inputs);
  json.member("output", subject.output)
      .member("skip", plan.skip)
      .member("limit", plan.limit)
      .member("record", subject.record)
      .member("record_kind", plan.record_kind)
      .member("input_bytes", if_known(plan.input_bytes));
  append_means(json, plan);
  json.member("expected_runs", if_known(plan.expected_runs))
      .member("merge_degree", plan.merge_degree)
      .member("passes", if_known(plan.passes))
      .member("scratch_bytes", if_known(plan.scratch_bytes));
  append_list(json, "scratch_directories", subject.scratch_dirs);
  return json.end_object().text() + "\n";
}

Summary summary_of(const ReportSubject& subject, const SortReport& report) {
  const TextKind kind = text_kind(subject.record);
  const bool is_line = kind == TextKind::lines || is_json(subject.record);
  const char* noun = is_line ? "line" : kind == TextKind::rows ? "row" : "record";
  return {.counts = counts_text(report.records_in, report.records_out, noun),
          .bytes = input_bytes(subject, report),
          .output = subject.output};
}

std::string stats_table(const ReportSubject& subject, const SortReport& report) {
  const std::uint64_t bytes = input_bytes(subject, report);
  std::string out;
  append_fact(out, "records in:", std::to_string(report.records_in) + ", " + format_bytes(bytes));
  append_fact(out, "records out:",
              std::to_string(report.records_out) + ", checksum " + hash_text(report.checksum));
  append_fact(out, "sorted as:",
              report.plan.record_kind + ", " + format_count(report.plan.threads, "thread") + ", " +
                  report.plan.backend);
  append_fact(out, "sorted on:", device_text(report.plan));
  append_devices(out, report.accelerator);
  append_fact(out, "runs:",
              std::to_string(report.runs) + ", blocks of " + format_bytes(report.plan.block_bytes));
  append_fact(out, "merging:", merging_text(report.passes, report.merge_degree));
  if (report.merged_bytes > 0) append_fact(out, "merged on:", merged_on_text(report));
  append_memory(out, report, report.plan.memory_bytes);
  append_fact(out, "scratch:", format_bytes(report.scratch_bytes) + " at most");
  append_scratch(out, subject.scratch_dirs, report);
  if (report.output_in_place) append_fact(out, "output:", kWrittenInPlace);
  append_phases(out, report.phases);
  append_format(out, "%-16s %8s %10s %10s %7s of input\n", "whole sort",
                decimal_text(report.seconds).c_str(), "", "",
                decimal_text(gb_per_second(bytes, report.seconds)).c_str());
  return out;
}

std::string stats_json(const ReportSubject& subject, const SortReport& report) {
  const SortPlan& plan = report.plan;
  Json json;
  json.begin_object()
      .member("record", subject.record)
      .member("record_kind", plan.record_kind)
      .member("records_in", report.records_in)
      .member("records_out", report.records_out)
      .member("skipped", report.skipped)
      .member("kept", report.kept)
      .member("first_fault", report.first_fault)
      .member("checksum", hash_text(report.checksum))
      .member("input_bytes", input_bytes(subject, report))
      .member("runs", report.runs)
      .member("merge_degree", report.merge_degree)
      .member("passes", report.passes);
  append_means(json, plan);
  json.member("merged_bytes", report.merged_bytes)
      .member("merged_on_gpu_bytes", report.merged_on_accelerator_bytes)
      .member("scratch_bytes", report.scratch_bytes)
      .member("output_in_place", report.output_in_place);
  append_devices(json, report.accelerator);
  append_scratch(json, subject.scratch_dirs, report);
  json.member("seconds", report.seconds)
      .member("gb_per_second", gb_per_second(input_bytes(subject, report), report.seconds))
      .member("peak_memory_bytes", report.peak_memory_bytes);
  append_phases(json, report.phases);
  return json.end_object().text();
}

}  // namespace xxl::cli
