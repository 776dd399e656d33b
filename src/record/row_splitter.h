// Where rows end in a text that may have malformed ones (csv_rows.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "record/csv_rows.h"
#include "record/field_syntax.h"

namespace xxl {

// Finds the ends of rows, of which some may be malformed, so that each of these costs as little as
// possible. Outside a field that starts with a quote, quotes are ordinary bytes, and the row ends
// at the next terminator. A quoted field must be closed, by a quote before a separator or a line
// end; if it is not, its row ends at the first terminator after its opening quote, and the next row
// starts there:
//
//   1,5" nail        stray quote: this row is malformed
//   2,"bolt          its quote is not closed properly (the next one has text after it): malformed
//   3,"a ""big"" one"
//
// A quote that is not closed within `most_open` bytes from the first terminator behind it is not
// closed. So a stray quote is known as one within bounded memory.
//
// A row is malformed exactly if RowFields finds a fault in it. Every byte is looked at twice at
// most: a line that was read inside quotes to no avail has pairs of quotes only, which cannot open
// a field that goes beyond the line.
class RowSplitter {
 public:
  struct Row {
    std::size_t size = 0;     // without the terminator
    bool terminated = false;  // false only for the last row of the text
    bool operator==(const Row&) const = default;
  };

  static constexpr std::size_t kUnbounded = ~std::size_t{0};

  RowSplitter(const FieldSyntax& fields, char terminator, std::size_t most_open = kUnbounded)
      : fields_(fields), terminator_(terminator), most_open_(most_open) {}

  // The row that starts with the pieces given since the last one was found, of which `piece` is the
  // next. None if it goes on behind them. It may end in an earlier piece: what follows it there is
  // to be given again. With `at_end` (no more text) there is always a row. REQUIRES: the pieces
  // are not all empty.
  std::optional<Row> next(std::string_view piece, bool at_end);

 private:
  enum class RowState : std::uint8_t {
    plain,
    quoted,         // in a field that started with a quote
    closed,         // behind a quote in it
    closed_return,  // behind such a quote and a carriage return
    skipping,       // in a malformed row that ends with its line
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t pass_plain(std::string_view piece, std::size_t from);
  std::size_t pass_any(std::string_view piece, std::size_t from);
  std::size_t find_quote(std::string_view piece, std::size_t from);
  std::size_t find_quote_escaping(std::string_view piece, std::size_t from);
  bool pass_quote(char next);
  bool ends_separator(char next);
  Row finish(std::size_t size, bool terminated);

  FieldSyntax fields_;
  char terminator_;
  std::size_t most_open_;
  RowState state_ = RowState::plain;
  bool at_field_ = true;          // plain: what comes next is the first byte of a field
  bool given_up_ = false;         // the row ends at line_end_
  bool escaped_ = false;          // behind an escape
  std::size_t matched_ = 0;       // bytes of a separator, of those before
  std::size_t passed_ = 0;        // bytes of the row in pieces before
  std::size_t line_end_ = kNone;  // first terminator in the field that state_ is in
};

}  // namespace xxl
