// Joins of files: each becomes a general one or one of records of a fixed size.

#include "base/error.h"
#include "job/files/job_spec.h"
#include "job/files/line_join.h"
#include "job/files/row_join.h"
#include "job/files/text_kind.h"
#include "job/job_defaults.h"
#include "job/join/fixed_join.h"
#include "job/join/general_join.h"
#include "job/join/records_as_general.h"
#include "record/csv_spec.h"
#include "xxl/join.h"

namespace xxl {
namespace {

bool writes_records_of_r(const JoinJob& job) {
  return job.how == JoinKind::semi || job.how == JoinKind::anti;
}

TextKind kind_of(const JoinJob& job) {
  if (is_json(job.formats[0])) {
    throw Error(ErrorCode::usage, "JSON lines cannot be joined yet: write them as CSV first");
  }
  const TextKind kind = text_kind(job.formats[0]);
  if (kind != TextKind::none ? job.formats[0] != job.formats[1]
                             : text_kind(job.formats[1]) != TextKind::none) {
    throw Error(ErrorCode::usage, "records of " + job.formats[0] + " and of " + job.formats[1] +
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
      {"layout", !job.layout.empty(), !text || (lines && makes_rows)},
      {"separator", !job.separator.empty(), text},
      {"filler", job.filler.has_value(), text && makes_rows},
      {"header", job.header, text},
      {"empty_keys_match", !job.empty_keys_match, text},
      {"ignore_case", job.ignore_case, lines},
      {"zero_terminated", job.zero_terminated, lines},
      {"nulls", !job.nulls.empty(), rows},
      {"malformed", !job.malformed.empty(), rows},
      {"rejects", !job.rejects.empty(), rows},
      {"max_rejects", job.max_rejects.has_value(), rows},
      {"quotes", !job.quotes, rows},
      {"escape", !job.escape.empty(), rows},
      {"comment", !job.comment.empty(), rows},
      {"suffixes", job.suffixes != defaults.suffixes, rows && job.header && makes_rows},
      {"method", job.method == JoinMethod::hash, !text},
  };
  check_members("JoinJob", job.formats[0], members);
}

// What joins of all records have.
template <class Options>
Options common_options(const JoinSpec& spec) {
  auto options = engine_options<Options>(spec, spec);
  options.inputs = spec.inputs;
  options.how = spec.how;
  options.method = spec.method;
  options.presorted = spec.presorted;
  options.count_only = spec.count_only;
  return options;
}

// 0, 1.FIELD or 2.FIELD, with commas or blanks between.
std::vector<RowField> row_fields(std::string_view layout) {
  std::vector<RowField> fields;
  while (true) {
    const std::size_t comma = layout.find_first_of(", \t");
    const std::string_view column = layout.substr(0, comma);
    if (column == "0") {
      fields.push_back({});
    } else if (column.starts_with("1.") || column.starts_with("2.")) {
      fields.push_back({column[0] == '1' ? RowField::Origin::r : RowField::Origin::s,
                        parse_line_field(column.substr(2))});
    } else {
      throw Error(ErrorCode::usage,
                  "layout: '" + std::string(column) + "' is not 0, 1.FIELD or 2.FIELD");
    }
    if (comma == layout.npos) return fields;
    layout.remove_prefix(comma + 1);
  }
}

LineJoin line_join(const JoinSpec& job) {
  LineJoin lines = job.lines.value_or(LineJoin());
  if (!job.lines) {
    lines.syntax.separator = given_separator(job.separator);
    lines.filler = job.filler;
    lines.ignore_case = job.ignore_case;
  }
  lines.auto_row = job.layout == "auto";
  if (!lines.auto_row && !job.layout.empty()) lines.row = row_fields(job.layout);
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    for (const std::string& key : split_keys(keys_of(job, side))) {
      lines.key_fields[side].push_back(parse_line_field(key));
    }
    if (keys_of(job, side).empty()) lines.key_fields[side].push_back(0);
  }
  lines.empty_keys_match = job.empty_keys_match;
  lines.records_of_r = writes_records_of_r(job);
  return lines;
}

RowJoin row_join(const JoinSpec& job) {
  RowJoin rows;
  rows.cross = job.cross;
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    CsvOrder& order = rows.orders[side];
    order.fields = fields_of_rows(job.formats[side], job);
    order.keys = parse_csv_keys(keys_of(job, side));
    order.nulls = job.nulls;
    order.malformed = malformed_rows(job.malformed);
  }
  rows.filler = job.filler.value_or("");
  rows.suffixes = job.suffixes;
  rows.empty_keys_match = job.empty_keys_match;
  rows.records_of_r = writes_records_of_r(job);
  rows.rejects = {job.rejects, job.max_rejects};
  return rows;
}

template <class OfText, class OfRecords>
auto visit(const JoinSpec& spec, OfText&& of_text, OfRecords&& of_records) {
  return is_fixed(spec) ? of_records(fixed_options(spec)) : of_text(general_options(spec));
}

}  // namespace

JoinSpec spec_of(const JoinJob& job) {
  refuse_members_of_others(job, kind_of(job));
  if (job.count_only && job.verify) {
    throw Error(ErrorCode::usage, "JoinJob::verify is not for count_only, which writes nothing");
  }
  if (job.inputs[0] == "-" && job.inputs[1] == "-") {
    throw Error(ErrorCode::usage, "both inputs are standard input, which can be read only once");
  }
  JoinSpec spec{job, {}};
  set_defaults(spec);
  return spec;
}

bool is_fixed(const JoinSpec& spec) {
  return kind_of(spec) == TextKind::none;
}

FixedJoinOptions fixed_options(const JoinSpec& spec) {
  auto options = common_options<FixedJoinOptions>(spec);
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    options.formats[side] =
        parse_record_format(spec.formats[side], split_keys(keys_of(spec, side)), false, kTextKinds);
  }
  options.layout = spec.layout;
  return options;
}

GeneralJoinOptions general_options(const JoinSpec& spec) {
  const TextKind kind = kind_of(spec);
  if (kind == TextKind::none) return join_as_general(fixed_options(spec));
  auto options = common_options<GeneralJoinOptions>(spec);
  options.record_kind = spec.formats[0];
  options.shape = spec.shape.value_or(shape_of(spec.how));
  options.syntax.header = spec.header;
  if (kind == TextKind::rows) {
    set_rows(row_join(spec), options);
  } else {
    options.syntax.terminator = spec.zero_terminated ? '\0' : '\n';
    set_lines(line_join(spec), options);
  }
  return options;
}

void check_usage(const JoinSpec& spec) {
  visit(
      spec, [](const GeneralJoinOptions&) {}, [](const FixedJoinOptions&) {});
}

JoinPlan plan_join(const JoinSpec& spec) {
  return visit(spec, plan_general_join,
               [](const FixedJoinOptions& options) { return plan_join(options); });
}

JoinReport do_job(const JoinSpec& spec) {
  return visit(spec, general_join, fixed_join);
}

JoinPlan plan_join(const JoinJob& job) {
  return plan_join(spec_of(job));
}

JoinReport join_files(const JoinJob& job) {
  return do_job(spec_of(job));
}

}  // namespace xxl
