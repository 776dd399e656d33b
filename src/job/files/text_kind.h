// What the jobs of the public headers say as text: kinds of records, separators, and which members
// are for which kind.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "record/csv_rows.h"
#include "record/csv_spec.h"
#include "record/field_syntax.h"
#include "record/line_order.h"

namespace xxl {

enum class TextKind { none, lines, rows };  // none: records of a fixed size

// For parse_record_format().
inline constexpr std::string_view kTextKinds = "lines, csv, tsv, jsonl, ";

inline bool is_json(std::string_view record) {
  return record == "jsonl";
}

inline TextKind text_kind(std::string_view record) {
  if (record == "lines") return TextKind::lines;
  const bool is_rows = record == "csv" || record == "tsv" || is_json(record);
  return is_rows ? TextKind::rows : TextKind::none;
}

inline ColumnTypes column_types(const FieldSyntax& fields) {
  return fields.json ? ColumnTypes::of_members : ColumnTypes::of_keys;
}

// SortJob's separator. Throws Error{usage}.
inline std::optional<FieldSeparator> given_separator(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return parse_separator(text);
}

// The syntax of rows in the format `record` (csv, tsv or jsonl). Throws Error{usage}.
template <class Job>
FieldSyntax fields_of_rows(std::string_view record, const Job& job) {
  if (is_json(record)) {
    FieldSyntax syntax(',', false);
    syntax.json = true;
    return syntax;
  }
  FieldSyntax fields(record == "tsv" ? '\t' : ',', job.quotes);
  if (const auto given = given_separator(job.separator)) fields.separator = *given;
  if (job.escape.size() > 1) throw Error(ErrorCode::usage, "--escape is one byte");
  if (!job.escape.empty()) fields.escape = job.escape.front();
  if (job.comment.size() > FieldSeparator::kMaxBytes || (!job.comment.empty() && !job.header)) {
    throw Error(ErrorCode::usage, job.header
                                      ? "--comment has at most 8 bytes"
                                      : "comments are lines before a header: --comment needs one");
  }
  fields.comment = FieldSeparator(job.comment);
  check_syntax(fields);
  return fields;
}

// The `malformed` of a job. Throws Error{usage}.
inline MalformedRows malformed_rows(std::string_view word) {
  if (const auto malformed = malformed_rows_named(word)) return *malformed;
  throw Error(ErrorCode::usage, "'malformed' is error, skip or keep, not " + in_quotes(word));
}

struct MemberCheck {
  const char* member;
  bool is_set;   // differs from its default
  bool applies;  // to the records of the job
};

// Throws Error{usage} where a member is set that does not apply.
inline void check_members(std::string_view job, std::string_view record,
                          std::span<const MemberCheck> members) {
  for (const MemberCheck& check : members) {
    if (!check.is_set || check.applies) continue;
    throw Error(ErrorCode::usage, std::string(job) + "::" + check.member +
                                      " is not for records of " + std::string(record));
  }
}

}  // namespace xxl
