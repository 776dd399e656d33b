// The records of a text, one after the other.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "record/csv_rows.h"
#include "record/line_scan.h"
#include "record/record_syntax.h"
#include "record/row_splitter.h"

namespace xxl {

// What the first row of an input, its header if there is one, says of the others.
struct RowStyle {
  bool carriage_return = false;  // before terminators; so the last row, too, if it has none
  bool one_column = false;       // as a header says: a blank line is a row of an empty field
};

inline RowStyle style_of(std::string_view first_row, const RecordSyntax& syntax) {
  RowStyle style;
  if (!syntax.rows) return style;
  style.carriage_return = first_row.ends_with('\r');
  style.one_column = syntax.header;
  visit_fields(first_row, syntax.fields, [&style](std::size_t column, const FieldSpan&) {
    style.one_column &= column == 0;
    return style.one_column;
  });
  return style;
}

// Blank lines are no rows.
inline bool leaves_out(std::string_view record, const RecordSyntax& syntax, const RowStyle& style) {
  return syntax.rows && !style.one_column && is_blank(record);
}

// Calls visit(record) for each whole record of `text`, which starts with the count of one, until it
// returns false. Returns the bytes of the records visited, counts included.
template <class Visit>
std::size_t visit_counted(std::string_view text, Visit&& visit) {
  std::size_t at = 0;
  while (text.size() - at >= sizeof(RecordCount)) {
    RecordCount bytes;
    std::memcpy(&bytes, text.data() + at, sizeof(bytes));
    const std::size_t begin = at + sizeof(bytes);
    if (bytes > text.size() - begin || !visit(text.substr(begin, bytes))) break;
    at = begin + bytes;
  }
  return at;
}

// The same of records of `record_bytes`.
template <class Visit>
std::size_t visit_fixed(std::string_view text, std::size_t record_bytes, Visit&& visit) {
  std::size_t at = 0;
  while (text.size() - at >= record_bytes && visit(text.substr(at, record_bytes))) {
    at += record_bytes;
  }
  return at;
}

// Finds rows (syntax.quoted()), malformed ones too. All that read rows which may be malformed, or
// have escapes, find them by this.
inline RowSplitter row_splitter(const RecordSyntax& syntax) {
  return {syntax.fields, syntax.terminator,
          syntax.tolerant ? syntax.most_open_bytes : RowSplitter::kUnbounded};
}

// Calls visit(record) for each record of `text` (without terminator), which starts with one, until
// it returns false. Returns the bytes of the records visited, terminators included.
template <class Visit>
std::size_t visit_records(std::string_view text, const RecordSyntax& syntax, Visit&& visit) {
  if (syntax.counted) return visit_counted(text, visit);
  if (syntax.record_bytes != 0) return visit_fixed(text, syntax.record_bytes, visit);
  if (!syntax.quoted()) return visit_lines(text, syntax.terminator, visit);
  std::size_t begin = 0;
  if (!syntax.counts_quotes()) {
    RowSplitter splitter = row_splitter(syntax);
    while (begin < text.size()) {
      const auto row = *splitter.next(text.substr(begin), true);
      if (!visit(text.substr(begin, row.size))) return begin;
      begin += row.size + (row.terminated ? 1 : 0);
    }
    return begin;
  }
  constexpr std::size_t kWindow = 64 * kKiB;  // searched at a time
  thread_local std::vector<std::size_t> ends;
  bool inside = false;
  for (std::size_t window = 0; window < text.size(); window += kWindow) {
    ends.clear();
    inside = append_row_ends(text.substr(window, kWindow), inside, syntax.terminator, window, ends);
    for (const std::size_t end : ends) {
      if (!visit(text.substr(begin, end - begin))) return begin;
      begin = end + 1;
    }
  }
  if (begin < text.size() && visit(text.substr(begin))) begin = text.size();
  return begin;
}

// The first record of `text`, without its terminator.
inline std::string_view first_record(std::string_view text, const RecordSyntax& syntax) {
  std::string_view first;
  visit_records(text, syntax, [&](std::string_view record) {
    first = record;
    return false;
  });
  return first;
}

}  // namespace xxl
