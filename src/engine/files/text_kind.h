// What the jobs of the public headers say as text: kinds of records, separators, and which members
// are for which kind.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "record/line_order.h"

namespace xxl {

enum class TextKind { none, lines, rows };  // none: records of a fixed size

// For parse_record_format().
inline constexpr std::string_view kTextKinds = "lines, csv, tsv, ";

inline TextKind text_kind(std::string_view record) {
  if (record == "lines") return TextKind::lines;
  return record == "csv" || record == "tsv" ? TextKind::rows : TextKind::none;
}

// The separator given, or else that of the record, csv or tsv. Throws Error{usage}.
inline char separator_of_rows(std::string_view record, const std::optional<FieldSeparator>& given) {
  if (given) return row_separator(*given);
  return record == "tsv" ? '\t' : ',';
}

// FileJob's field_separator. Throws Error{usage}.
inline std::optional<FieldSeparator> given_separator(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return parse_line_separator(text);
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
