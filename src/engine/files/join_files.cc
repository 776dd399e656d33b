// Joins of files as the public header has them: each becomes a join of text or of binary records.
#include <utility>

#include "base/error.h"
#include "engine/files/file_jobs.h"
#include "engine/files/line_join.h"
#include "engine/files/row_join.h"
#include "engine/files/text_kind.h"
#include "engine/job_defaults.h"
#include "engine/join/external_join.h"
#include "engine/join/text_join.h"
#include "xxl/join.h"

namespace xxl {
namespace {

bool writes_records_of_r(const JoinJob& job) {
  return job.kind == JoinKind::semi || job.kind == JoinKind::anti;
}

TextKind kind_of(const JoinJob& job) {
  const TextKind kind = text_kind(job.records[0]);
  if (kind != TextKind::none ? job.records[0] != job.records[1]
                             : text_kind(job.records[1]) != TextKind::none) {
    throw Error(ErrorCode::usage, "records of " + job.records[0] + " and of " + job.records[1] +
                                      " cannot be joined with each other");
  }
  return kind;
}

void refuse_members_of_others(const JoinJob& job, TextKind kind) {
  const bool text = kind != TextKind::none;
  const bool lines = kind == TextKind::lines;
  const bool rows = kind == TextKind::rows;
  const bool makes_rows = !writes_records_of_r(job);
  const JoinJob defaults;
  const MemberCheck members[] = {
      {"columns", !job.columns.empty(), !text || (lines && makes_rows)},
      {"field_separator", !job.field_separator.empty(), text},
      {"filler", job.filler.has_value(), text && makes_rows},
      {"header", job.header, text},
      {"empty_keys_match", !job.empty_keys_match, text},
      {"ignore_case", job.ignore_case, lines},
      {"zero_terminated", job.zero_terminated, lines},
      {"skip_malformed", job.skip_malformed, rows},
      {"quotes", !job.quotes, rows},
      {"suffixes", job.suffixes != defaults.suffixes, rows && job.header && makes_rows},
      {"method", job.method == JoinMethod::hash, !text},
  };
  check_members("JoinJob", job.records[0], members);
}

template <class Options>
Options options_of(const JoinJob& job, const JobMeans& means) {
  auto options = engine_options<Options>(job, means);
  options.record_kind = job.records[0];  // of text; rows of binary records have a size of their own
  options.inputs = job.inputs;
  options.kind = job.kind;
  options.method = job.method;
  options.presorted = job.presorted;
  options.count_only = job.count_only;
  if (job.count_only && job.verify) {
    throw Error(ErrorCode::usage, "JoinJob::verify is not for count_only, which writes nothing");
  }
  if (job.inputs[0] == "-" && job.inputs[1] == "-") {
    throw Error(ErrorCode::usage, "R and S cannot both be standard input");
  }
  return options;
}

RecordJoinOptions record_options(const JoinJob& job, const JobMeans& means) {
  auto options = options_of<RecordJoinOptions>(job, means);
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    options.formats[side] =
        parse_record_format(job.records[side], job.keys[side], false, kTextKinds);
  }
  options.layout = job.columns;
  return options;
}

// 0, 1.FIELD or 2.FIELD, with commas between.
std::vector<RowField> row_fields(std::string_view columns) {
  std::vector<RowField> fields;
  while (true) {
    const std::size_t comma = columns.find(',');
    const std::string_view column = columns.substr(0, comma);
    if (column == "0") {
      fields.push_back({});
    } else if (column.starts_with("1.") || column.starts_with("2.")) {
      fields.push_back({column[0] == '1' ? RowField::Source::r : RowField::Source::s,
                        parse_line_field(column.substr(2))});
    } else {
      throw Error(ErrorCode::usage, "JoinJob::columns: '" + std::string(column) +
                                        "' is none of 0, 1.FIELD and 2.FIELD");
    }
    if (comma == columns.npos) return fields;
    columns.remove_prefix(comma + 1);
  }
}

LineJoin line_join(const JoinJob& job) {
  LineJoin lines;
  lines.syntax.separator = given_separator(job.field_separator);
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    for (const std::string& key : job.keys[side]) {
      lines.key_fields[side].push_back(parse_line_field(key));
    }
    if (job.keys[side].empty()) lines.key_fields[side].push_back(0);
  }
  lines.auto_row = job.columns == "auto";
  if (!lines.auto_row && !job.columns.empty()) lines.row = row_fields(job.columns);
  lines.filler = job.filler;
  lines.ignore_case = job.ignore_case;
  lines.empty_keys_match = job.empty_keys_match;
  lines.records_of_r = writes_records_of_r(job);
  return lines;
}

RowJoin row_join(const JoinJob& job) {
  RowJoin rows;
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    CsvOrder& order = rows.orders[side];
    order.fields =
        fields_of_rows(job.records[side], given_separator(job.field_separator), job.quotes);
    for (const std::string& key : job.keys[side]) order.keys.push_back(parse_csv_key(key));
    if (order.keys.empty()) order.keys.push_back({.column = {.index = 0, .name = {}}});
  }
  rows.filler = job.filler.value_or("");
  rows.suffixes = job.suffixes;
  rows.empty_keys_match = job.empty_keys_match;
  rows.records_of_r = writes_records_of_r(job);
  return rows;
}

TextJoinOptions text_options(const JoinJob& job, const JobMeans& means, TextKind kind) {
  auto options = options_of<TextJoinOptions>(job, means);
  options.shape = shape_of(job.kind);
  options.syntax.header = job.header;
  options.syntax.skip_malformed = job.skip_malformed;
  if (kind == TextKind::rows) {
    set_rows(row_join(job), options);
  } else {
    options.syntax.terminator = job.zero_terminated ? '\0' : '\n';
    set_lines(line_join(job), options);
  }
  return options;
}

// Calls the one of the two functions that is for the job's records.
template <class OfText, class OfRecords>
auto run(const JoinJob& job, const JobMeans& means, OfText&& of_text, OfRecords&& of_records) {
  const TextKind kind = kind_of(job);
  refuse_members_of_others(job, kind);
  if (kind == TextKind::none) return of_records(record_options(job, means));
  return of_text(text_options(job, means, kind));
}

}  // namespace

JoinPlan plan_join(const JoinJob& job) {
  return run(job, {}, plan_text_join,
             [](const RecordJoinOptions& options) { return plan_join(options); });
}

JoinReport do_job(const JoinJob& job, const JobMeans& means) {
  return run(job, means, text_join, external_join);
}

JoinReport join_files(const JoinJob& job) {
  return do_job(job, {});
}

}  // namespace xxl
