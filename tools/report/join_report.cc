#include "report/join_report.h"

#include "base/quote.h"
#include "base/units.h"
#include "report/json.h"
#include "report/report_text.h"

namespace xxl::cli {
namespace {

constexpr const char* kSideNames[] = {"left", "right"};

std::string method_text(const JoinPlan& plan) {
  if (plan.method == JoinMethod::sort_merge) return "sort-merge";
  return plan.build == JoinSide::r ? "hash, left in memory" : "hash, right in memory";
}

std::string method_with_reason(const JoinPlan& plan) {
  return method_text(plan) + (plan.because.empty() ? "" : " (" + plan.because + ")");
}

std::string device_text(const JoinPlan& plan) {
  std::string text = plan.sides[0].device;
  if (plan.sides[1].device != text) text.append(", ").append(plan.sides[1].device);
  if (!plan.no_accelerator.empty()) text.append(" (").append(plan.no_accelerator).append(")");
  return text;
}

std::string how_sorted(const JoinPlan& plan, std::size_t side) {
  const JoinPlan::Side& of = plan.sides[side];
  if (plan.method == JoinMethod::hash) {
    return plan.build == static_cast<JoinSide>(side) ? "in a table" : "read past the table";
  }
  if (of.presorted) return "sorted already";
  if (!of.size_known) return "as many runs as it takes";
  std::string text = format_count(of.expected_runs, "run") + " expected";
  if (of.passes > 0) {
    text.append(", ").append(passes_text(of.passes)).append(" before the last");
  }
  return text;
}

std::uint64_t records_of_both(const JoinReport& report) {
  return report.sides[0].records + report.sides[1].records;
}

// What plan and report say alike.
void append_means(Json& json, const JoinPlan& plan) {
  json.member("memory_bytes", plan.memory_bytes)
      .member("table_bytes", plan.table_bytes)
      .member("threads", plan.threads)
      .member("backend", plan.backend)
      .member("no_accelerator", plan.no_accelerator);
}

}  // namespace

std::string explain(const JoinSubject& subject, const JoinPlan& plan) {
  std::string out;
  std::uint64_t scratch_bytes = 0;
  bool sizes_known = true;
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    const JoinPlan::Side& of = plan.sides[side];
    const std::string name = std::string(kSideNames[side]) + ":";
    append_fact(out, name.c_str(),
                quote_controls(subject.inputs[side]) + ": " +
                    (of.size_known ? format_exact(of.input_bytes) : "of unknown size") + ", " +
                    subject.records[side]);
    append_fact(out, "", how_sorted(plan, side));
    scratch_bytes += of.scratch_bytes;
    sizes_known &= of.size_known || of.presorted;
  }
  append_fact(out, "output:",
              subject.output.empty() ? "none, rows are counted" : quote_controls(subject.output));
  append_fact(out, "join:", subject.kind);
  append_fact(out, "method:", method_with_reason(plan));
  append_fact(
      out, "memory:",
      format_exact(plan.memory_bytes) +
          (plan.table_bytes > 0 ? ", of which the table " + format_bytes(plan.table_bytes) : ""));
  append_fact(out, "threads:", std::to_string(plan.threads));
  append_fact(out, "sorted on:", device_text(plan));
  append_fact(out, "disk access:", plan.backend);
  append_fact(out, "scratch space:",
              (sizes_known ? format_exact(scratch_bytes) : "up to the size of the inputs,") +
                  " in " + list_text(subject.scratch_dirs));
  return out;
}

std::string explain_json(const JoinSubject& subject, const JoinPlan& plan) {
  Json json;
  json.begin_object().begin_array("inputs");
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    const JoinPlan::Side& of = plan.sides[side];
    const auto if_known = [&](std::uint64_t value) {
      return of.size_known ? std::optional(value) : std::nullopt;
    };
    json.begin_object()
        .member("file", subject.inputs[side])
        .member("record", subject.records[side])
        .member("input_bytes", if_known(of.input_bytes))
        .member("presorted", of.presorted)
        .member("expected_runs", if_known(of.expected_runs))
        .member("passes", if_known(of.passes))
        .member("scratch_bytes", if_known(of.scratch_bytes))
        .member("device", of.device)
        .end_object();
  }
  json.end_array()
      .member("output", subject.output)
      .member("kind", subject.kind)
      .member("method", method_text(plan))
      .member("because", plan.because);
  append_means(json, plan);
  append_list(json, "scratch_directories", subject.scratch_dirs);
  return json.end_object().text() + "\n";
}

Summary summary_of(const JoinSubject& subject, const JoinReport& report) {
  std::uint64_t bytes = 0;
  for (const JoinPlan::Side& side : report.plan.sides) bytes += side.input_bytes;
  return {.counts = thousands(report.sides[0].records) + " and " +
                    thousands(report.sides[1].records) + " records read, " +
                    thousands(report.rows) + " written",
          .bytes = bytes,
          .output = subject.output.empty() ? "-" : subject.output};
}

std::string stats_table(const JoinSubject& subject, const JoinReport& report) {
  const JoinPlan& plan = report.plan;
  std::string out;
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    const JoinReport::Side& of = report.sides[side];
    const std::string name = std::string(kSideNames[side]) + " records:";
    std::string text = std::to_string(of.records) + ", " + std::to_string(of.matched) + " matched";
    if (of.skipped > 0) text.append(", ").append(std::to_string(of.skipped)).append(" left out");
    if (plan.method == JoinMethod::sort_merge) {
      text.append(plan.sides[side].presorted ? ", sorted already"
                                             : ", " + format_count(of.runs, "run"));
      if (of.passes > 0) {
        text.append(", ").append(passes_text(of.passes)).append(" before the last");
      }
    }
    append_fact(out, name.c_str(), text);
  }
  append_fact(out, "rows:",
              std::to_string(report.rows) + ", " + format_bytes(report.bytes_written) +
                  (subject.output.empty() ? "" : ", checksum " + hash_text(report.checksum)));
  append_fact(out, "joined:",
              subject.kind + ", " + method_with_reason(plan) + ", " +
                  format_count(plan.threads, "thread") + ", " + plan.backend);
  append_fact(out, "sorted on:", device_text(plan));
  append_devices(out, report.accelerator);
  append_memory(out, report, plan.memory_bytes);
  append_fact(out, "scratch:",
              format_bytes(report.scratch_bytes) + " at most, " +
                  format_bytes(report.spilled_bytes) + " written for large groups");
  if (report.output_in_place) append_fact(out, "output:", kWrittenInPlace);
  append_phases(out, report.phases);
  const double rate =
      report.seconds > 0 ? static_cast<double>(records_of_both(report)) / report.seconds : 0;
  append_format(out, "%-16s %8s, %s records of both a second\n", "whole join",
                decimal_text(report.seconds).c_str(), decimal_text(rate, 0).c_str());
  return out;
}

std::string stats_json(const JoinSubject& subject, const JoinReport& report) {
  const JoinPlan& plan = report.plan;
  Json json;
  json.begin_object()
      .member("record", subject.records[0] == subject.records[1]
                            ? subject.records[0]
                            : subject.records[0] + "; " + subject.records[1])
      .member("kind", subject.kind)
      .member("method", method_text(plan))
      .member("because", plan.because)
      .begin_array("inputs");
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    const JoinReport::Side& of = report.sides[side];
    json.begin_object()
        .member("records", of.records)
        .member("skipped", of.skipped)
        .member("kept", of.kept)
        .member("first_fault", of.first_fault)
        .member("matched", of.matched)
        .member("runs", of.runs)
        .member("passes", of.passes)
        .member("presorted", plan.sides[side].presorted)
        .member("device", plan.sides[side].device)
        .end_object();
  }
  json.end_array()
      .member("rows", report.rows)
      .member("bytes_written", report.bytes_written)
      .member("checksum", hash_text(report.checksum));
  append_means(json, plan);
  json.member("spilled_bytes", report.spilled_bytes)
      .member("scratch_bytes", report.scratch_bytes)
      .member("output_in_place", report.output_in_place)
      .member("seconds", report.seconds)
      .member("peak_memory_bytes", report.peak_memory_bytes);
  append_devices(json, report.accelerator);
  append_phases(json, report.phases);
  return json.end_object().text();
}

}  // namespace xxl::cli
