#include "report/columns_report.h"

#include <array>
#include <cstddef>

#include "base/quote.h"
#include "base/units.h"
#include "report/json.h"
#include "report/report_text.h"

namespace xxl::cli {
namespace {

using module_table::SourceFacts;

constexpr std::size_t kMostNamedFiles = 4;

const char* name_of_input(const ColumnsPlan& plan, std::size_t input) {
  if (!plan.is_join) return "input:";
  return input == 0 ? "left:" : "right:";
}

// The inputs in the order in which they were given.
const ColumnsInput& given_input(const ColumnsPlan& plan, std::size_t number) {
  return plan.inputs[plan.swapped ? plan.inputs.size() - 1 - number : number];
}

std::string files_text(const std::vector<std::string>& files) {
  if (files.size() <= kMostNamedFiles) return list_text(files);
  return quote_controls(files.front()) + " and " + std::to_string(files.size() - 1) +
         " other files";
}

std::string rows_text(const SourceFacts& facts) {
  return facts.rows_known != 0 ? format_count(facts.rows, "row") : "rows not known yet";
}

std::string size_text(const SourceFacts& facts) {
  return facts.file_bytes != 0 ? format_exact(facts.file_bytes) : "of unknown size";
}

// "3 of 40 read, the statistics of the files rule out the others"; empty without row groups.
std::string row_groups_text(const SourceFacts& facts) {
  if (facts.row_groups == 0) return "";
  if (facts.row_groups_left_out == 0) return "all " + std::to_string(facts.row_groups);
  return std::to_string(facts.row_groups - facts.row_groups_left_out) + " of " +
         std::to_string(facts.row_groups) + ": statistics say that the others have no row of the " +
         "result";
}

std::string output_text(const ColumnsPlan& plan) {
  if (plan.output.empty()) return "none, rows are counted";
  const bool compressed = plan.compression != "none";
  return quote_controls(plan.output) + ", " + plan.format +
         (compressed ? ", " + plan.compression : "") + range_text(plan.skip, plan.limit, "row");
}

std::string method_text(const ColumnsPlan& plan) {
  return plan.because.empty() ? plan.method : plan.method + ": " + plan.because;
}

std::string memory_text(const ColumnsPlan& plan) {
  return format_exact(plan.memory_bytes) + ", of which " + format_bytes(plan.memory.engine_bytes) +
         " to sort, " + format_bytes(plan.memory.module_bytes) + " to read and write files";
}

// What plan and report say alike of an input.
void append_input(Json& json, const ColumnsInput& input) {
  json.begin_object();
  append_list(json, "files", input.files);
  const SourceFacts& facts = input.facts;
  json.member("file_bytes", facts.file_bytes)
      .member("rows", facts.rows_known != 0 ? std::optional(facts.rows) : std::nullopt)
      .member("row_groups", facts.row_groups)
      .member("row_groups_read", facts.row_groups - facts.row_groups_left_out);
}

// What plan and report say alike of the whole.
void append_means(Json& json, const ColumnsPlan& plan) {
  if (plan.is_join) json.member("method", plan.method).member("because", plan.because);
  json.member("output", plan.output)
      .member("format", plan.format)
      .member("compression", plan.compression)
      .member("memory_bytes", plan.memory_bytes)
      .member("sort_memory_bytes", plan.memory.engine_bytes)
      .member("file_memory_bytes", plan.memory.module_bytes)
      .member("threads", plan.threads);
}

}  // namespace

std::string explain(const ColumnsPlan& plan) {
  std::string out;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const ColumnsInput& input = given_input(plan, i);
    append_fact(
        out, name_of_input(plan, i),
        files_text(input.files) + ": " + size_text(input.facts) + ", " + rows_text(input.facts));
    const std::string groups = row_groups_text(input.facts);
    if (!groups.empty()) append_fact(out, "row groups:", groups);
  }
  append_fact(out, "output:", output_text(plan));
  append_fact(out, plan.is_join ? "joined by:" : "sorted by:", plan.by);
  if (plan.is_join) append_fact(out, "method:", method_text(plan));
  append_fact(out, "memory:", memory_text(plan));
  append_fact(out, "threads:", std::to_string(plan.threads));
  append_fact(out, "scratch space:",
              "up to the size of the rows in memory, in " + list_text(plan.scratch_dirs));
  return out;
}

std::string explain_json(const ColumnsPlan& plan) {
  Json json;
  json.begin_object().member("record", plan.record).begin_array("inputs");
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const ColumnsInput& input = given_input(plan, i);
    append_input(json, input);
    json.end_object();
  }
  json.end_array().member("by", plan.by).member("skip", plan.skip).member("limit", plan.limit);
  append_means(json, plan);
  append_list(json, "scratch_directories", plan.scratch_dirs);
  return json.end_object().text() + "\n";
}

Summary summary_of(const ColumnsPlan& plan, const ColumnsReport& report) {
  std::uint64_t rows = 0;
  Summary summary;
  for (const ColumnsInput& input : plan.inputs) {
    rows += input.facts.rows_read;
    summary.bytes += input.facts.bytes_read;
  }
  summary.counts = counts_text(rows, report.written.rows, "row");
  summary.output = plan.output.empty() ? "-" : plan.output;
  return summary;
}

std::string stats_table(const ColumnsPlan& plan, const ColumnsReport& report) {
  std::string out;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const SourceFacts& facts = given_input(plan, i).facts;
    append_fact(out, name_of_input(plan, i),
                format_count(facts.rows_read, "row") + " of " +
                    files_text(given_input(plan, i).files) + ", " + format_bytes(facts.bytes_read) +
                    " read");
    const std::string groups = row_groups_text(facts);
    if (!groups.empty()) append_fact(out, "row groups:", groups);
  }
  std::string written = format_count(report.written.rows, "row");
  if (!plan.output.empty()) {
    written += ", " + format_bytes(report.bytes_written) + ", " + plan.format;
    if (report.written.row_groups != 0) {
      written += ", " + format_count(report.written.row_groups, "row group");
    }
  }
  append_fact(out, "output:", written);
  if (report.output_in_place) append_fact(out, "", kWrittenInPlace);
  append_fact(out, plan.is_join ? "joined by:" : "sorted by:",
              plan.by + ", " + format_count(plan.threads, "thread"));
  if (plan.is_join) append_fact(out, "method:", method_text(plan));
  append_memory(out, report, plan.memory_bytes);
  append_fact(out, "",
              format_bytes(report.peak_file_memory_bytes) + " of " +
                  format_bytes(plan.memory.module_bytes) + " to read and write files");
  append_fact(out, "scratch:", format_bytes(report.scratch_bytes) + " at most");
  append_scratch(out, plan.scratch_dirs, report);
  append_phases(out, report.phases);
  append_format(out, "%-16s %8s\n", plan.is_join ? "whole join" : "whole sort",
                decimal_text(report.seconds).c_str());
  return out;
}

std::string stats_json(const ColumnsPlan& plan, const ColumnsReport& report) {
  Json json;
  json.begin_object().member("record", plan.record).begin_array("inputs");
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const ColumnsInput& input = given_input(plan, i);
    append_input(json, input);
    json.member("rows_read", input.facts.rows_read)
        .member("bytes_read", input.facts.bytes_read)
        .end_object();
  }
  json.end_array();
  append_means(json, plan);
  json.member("rows", report.written.rows)
      .member("row_groups", report.written.row_groups)
      .member("batches", report.written.batches)
      .member("bytes_written", report.bytes_written)
      .member("scratch_bytes", report.scratch_bytes)
      .member("output_in_place", report.output_in_place);
  append_scratch(json, plan.scratch_dirs, report);
  json.member("seconds", report.seconds)
      .member("peak_file_memory_bytes", report.peak_file_memory_bytes)
      .member("peak_memory_bytes", report.peak_memory_bytes);
  append_phases(json, report.phases);
  return json.end_object().text();
}

}  // namespace xxl::cli
