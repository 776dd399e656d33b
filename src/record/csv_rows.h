// Rows of comma- or tab-separated values, as RFC 4180 has them: where rows end, what their fields
// are, and what is malformed.
//
//   id,name,remark            3 rows; the second spans two lines, since a line break
//   7,"Miller, Ann","said     between quotes is part of a field
//   ""no"" twice"
//   8,Bob,
//
// A row is what lies between two terminators that are outside quotes; a carriage return before the
// terminator belongs to the line end. In a file of well-formed rows a place is inside quotes
// exactly if an odd number of quotes precedes it: so rows can be split by counting, also in
// parallel (scan_quotes). Whether rows are well-formed is checked row by row (RowFields). The first
// malformed row of a file starts where counting says, since all before it are well-formed; where
// rows after it start, only RowSplitter (row_splitter.h) knows, which reads from the start.
//
// Terminators are single bytes. Separators have no quotes, line ends or zero bytes. Rows without
// quotes are lines whose fields lie between separators.
//
// With an escape byte, what is behind one never ends a field or row, and is no quote. Rows then
// cannot be split by counting: RowSplitter finds them, well-formed or not.
// Format and examples: docs/internals/csv.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/byte_masks.h"
#include "record/field_syntax.h"

namespace xxl {

inline constexpr char kQuote = '"';

// What is known of the rows of a block of text, without knowing whether it starts inside quotes.
struct QuoteScan {
  // Terminators outside quotes. first and last are the offsets just after them, 0 where count is 0.
  struct Ends {
    std::size_t count = 0;
    std::size_t first = 0;
    std::size_t last = 0;
    bool operator==(const Ends&) const = default;
  };
  bool odd_quotes = false;  // the block ends inside quotes if it starts outside, and vice versa
  Ends if_outside;          // if the block starts outside quotes
  Ends if_inside;           // if it starts inside
};

// Several GB/s with AVX2, which is used where the processor has it.
QuoteScan scan_quotes(std::string_view block, char terminator);

// Appends to `ends` the offsets of all terminators outside quotes in `text`, each plus `base`;
// returns whether the text ends inside quotes.
bool append_row_ends(std::string_view text, bool starts_inside, char terminator, std::size_t base,
                     std::vector<std::size_t>& ends);

// What is wrong with a row.
struct RowFault {
  enum class Kind : std::uint8_t {
    none,
    stray_quote,         // a quote in a field that does not start with one: a"b
    text_after_quote,    // something between the closing quote and the separator: "a"b
    unterminated_quote,  // the row ends inside quotes: "a
  };
  Kind kind = Kind::none;
  std::size_t column = 0;  // from 0
  std::size_t offset = 0;  // in the row: of the stray quote, of the text, of the opening quote

  explicit operator bool() const { return kind != Kind::none; }
  bool operator==(const RowFault&) const = default;
  // "column 2: a quote in a field that does not start with one".
  std::string describe() const;
};

// A field as it is in its row.
struct FieldSpan {
  std::string_view content;  // what is between the quotes, if there are any
  bool quoted = false;
  bool escaped = false;  // content has doubled quotes, or escapes
  char escape = '\0';    // FieldSyntax::escape

  // The field with its quotes.
  std::string_view raw() const {
    return quoted ? std::string_view(content.data() - 1, content.size() + 2) : content;
  }
  // The beginning of the value, at most `most` bytes, not none. `rest` is what is left of content,
  // and then without it.
  std::string_view take_piece(std::string_view& rest, std::size_t most) const;
  // The value: content with doubled quotes halved and without escapes.
  void append_value(std::string& out) const;
  // The same, in `room` if it is not content.
  std::string_view value(std::string& room) const;
};

// A row without the carriage return of its line end.
inline std::string_view without_line_end(std::string_view row) {
  if (row.ends_with('\r')) row.remove_suffix(1);
  return row;
}

inline bool is_blank(std::string_view row) {
  return without_line_end(row).empty();
}

// Finds where fields end in a row with a separator of one byte and without escapes.
class PlainMarks {
 public:
  PlainMarks(std::string_view row, const FieldSyntax& syntax)
      : row_(row),
        separator_(syntax.separator.first()),
        marks_(row, separator_, syntax.quotes ? kQuote : separator_) {}

  // The first separator or quote at `from` or later, or the size of the row.
  std::size_t find(std::size_t from, FieldSpan&) { return marks_.find(from); }
  // The first quote at `from` or later that is not doubled, or npos.
  std::size_t find_close(std::size_t from, FieldSpan& field) const {
    for (;; from += 2) {
      from = row_.find(kQuote, from);
      if (from == row_.npos || from + 1 == row_.size() || row_[from + 1] != kQuote) return from;
      field.escaped = true;
    }
  }
  bool is_separator(std::size_t at) const { return row_[at] == separator_; }
  std::size_t separator_bytes() const { return 1; }

 private:
  std::string_view row_;
  char separator_;
  MarkCursor marks_;
};

// The same in any row. Notes escapes in the field.
class AnyMarks {
 public:
  AnyMarks(std::string_view row, const FieldSyntax& syntax) : row_(row), syntax_(syntax) {}

  std::size_t find(std::size_t from, FieldSpan& field) const;
  std::size_t find_close(std::size_t from, FieldSpan& field) const;
  bool is_separator(std::size_t at) const {
    return row_.substr(at).starts_with(syntax_.separator.bytes());
  }
  std::size_t separator_bytes() const { return syntax_.separator.size(); }

 private:
  bool passes_escape(std::size_t& at, FieldSpan& field) const;

  std::string_view row_;
  const FieldSyntax& syntax_;
};

template <class Marks, class Visit>
RowFault visit_fields_by(std::string_view row, const FieldSyntax& syntax, Visit&& visit) {
  using Kind = RowFault::Kind;
  Marks marks(row, syntax);
  std::size_t start = 0;
  for (std::size_t column = 0;; ++column) {
    FieldSpan field;
    std::size_t end = marks.find(start, field);
    const bool quote = syntax.quotes && end < row.size() && row[end] == kQuote;
    if (quote && end == start) {
      const std::size_t close = marks.find_close(start + 1, field);
      if (close == row.npos) return {Kind::unterminated_quote, column, start};
      field.content = row.substr(start + 1, close - start - 1);
      field.quoted = true;
      end = close + 1;
      if (end < row.size() && !marks.is_separator(end)) {
        return {Kind::text_after_quote, column, end};
      }
    } else {
      if (quote) return {Kind::stray_quote, column, end};
      field.content = row.substr(start, end - start);
    }
    if (!visit(column, field) || end == row.size()) return {};
    start = end + marks.separator_bytes();
  }
}

// Calls visit(column, FieldSpan) for each field of `row` (without terminator) until it returns
// false. The fault is the first one before that place. A row has at least one field; an empty row
// has one, which is empty.
template <class Visit>
RowFault visit_fields(std::string_view row, const FieldSyntax& syntax, Visit&& visit) {
  row = without_line_end(row);
  if (syntax.is_plain()) return visit_fields_by<PlainMarks>(row, syntax, visit);
  return visit_fields_by<AnyMarks>(row, syntax, visit);
}

// The number of fields of `row`, without its terminator; 0 if it has quotes (FieldSyntax::quotes)
// or the syntax is not plain.
std::size_t count_plain_fields(std::string_view row, const FieldSyntax& syntax);
// The same of any row, up to the first fault, which it returns.
RowFault count_fields(std::string_view row, const FieldSyntax& syntax, std::size_t& count);

// The fields of one row. Kept from row to row, it allocates nothing once it has seen the longest.
class RowFields {
 public:
  // `row` without its terminator, which must outlive the use of the fields. With a fault, the
  // fields are those before it.
  void parse(std::string_view row, const FieldSyntax& syntax);

  const RowFault& fault() const { return fault_; }
  std::size_t size() const { return fields_.size(); }
  const FieldSpan& operator[](std::size_t column) const { return fields_[column]; }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<FieldSpan> fields_;
  RowFault fault_;
};

// Appends `value` as a field: with escapes, or with quotes if it has a separator, quote, line feed
// or carriage return. Throws Error{usage} if it needs quotes where there are none.
void append_field(std::string_view value, const FieldSyntax& syntax, std::string& out);

// Appends a field as it was written, if it can be read back so with others behind it; otherwise its
// value (append_field).
void copy_field(const FieldSpan& field, const FieldSyntax& syntax, std::string& out);
// Whether a field can follow `row`. It cannot if that ends with an escape or the beginning of a
// separator.
bool can_go_on(std::string_view row, const FieldSyntax& syntax);

// Throws Error{usage} if rows cannot be told apart like that.
void check_syntax(const FieldSyntax& syntax);

// Whether two headers have the same names, however these are written. Malformed ones are compared
// as they are.
bool have_same_names(std::string_view a, std::string_view b, const FieldSyntax& syntax);

// The row with the names of columns in a header: behind the byte order mark (UTF-8) that some
// programs put at the start of a file, and comments.
std::string_view names_row(std::string_view header, const FieldSyntax& syntax);

// Whether `text`, the start of a line, is that of a comment. Nothing: more of it must be known.
std::optional<bool> starts_comment(std::string_view text, const FieldSyntax& syntax);
// Of the start of a file, the bytes of comments, with blank lines between; only whole lines.
std::size_t comment_bytes(std::string_view text, const FieldSyntax& syntax);
// How many there are in a header.
std::uint64_t count_comments(std::string_view header, const FieldSyntax& syntax);

// Throws Error{bad_input} if these comments, of the file `path`, are too long to be kept, or all
// that there is.
void check_comments(std::string_view comments, bool are_all, const std::string& path);

}  // namespace xxl
