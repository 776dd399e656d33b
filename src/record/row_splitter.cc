#include "record/row_splitter.h"

#include <utility>

#include "record/byte_masks.h"

namespace xxl {

// In a quoted field: behind the next quote or, before there was one, terminator; notes where that
// is. The end of the piece if there is none.
std::size_t RowSplitter::find_quote(std::string_view piece, std::size_t from) {
  if (line_end_ == kNone) {
    const std::size_t mark = find_either(piece, from, kQuote, terminator_);
    if (mark == piece.npos) return piece.size();
    if (piece[mark] == kQuote) {
      state_ = RowState::closed;
    } else {
      line_end_ = passed_ + mark;
    }
    return mark + 1;
  }
  const std::size_t at = passed_ + from - line_end_;  // bytes since then
  const std::size_t rest = at <= most_open_ ? most_open_ - at : 0;
  const std::string_view searched = piece.substr(from, rest);
  const std::size_t quote = searched.find(kQuote);
  if (quote != searched.npos) {
    state_ = RowState::closed;
    return from + quote + 1;
  }
  given_up_ = from + searched.size() < piece.size();
  return from + searched.size();
}

// The same where quotes may be escaped.
std::size_t RowSplitter::find_quote_escaping(std::string_view piece, std::size_t from) {
  for (; from < piece.size(); ++from) {
    const char next = piece[from];
    given_up_ = line_end_ != kNone && passed_ + from - line_end_ >= most_open_;
    if (given_up_) return from;
    if (next == terminator_ && line_end_ == kNone) line_end_ = passed_ + from;
    if (!escaped_ && next == kQuote) {
      state_ = RowState::closed;
      return from + 1;
    }
    escaped_ = !escaped_ && next == fields_.escape;
  }
  return from;
}

// Of a separator, of which matched_ bytes are known. A separator may begin within another one that
// turns out to be none.
bool RowSplitter::ends_separator(char next) {
  const std::string_view separator = fields_.separator.bytes();
  while (separator[matched_] != next) {
    if (matched_ == 0) return false;
    const std::string_view seen = separator.substr(0, matched_);
    do {
      --matched_;
    } while (!seen.ends_with(separator.substr(0, matched_)));
  }
  if (++matched_ < separator.size()) return false;
  matched_ = 0;
  return true;
}

// Behind a quote in a quoted field, which may have closed it. False if it did not, properly.
bool RowSplitter::pass_quote(char next) {
  if (state_ == RowState::closed_return) return false;
  if (next == fields_.separator.bytes()[matched_]) {
    if (ends_separator(next)) {
      state_ = RowState::plain;
      at_field_ = true;
      line_end_ = kNone;
    }
  } else if (matched_ != 0) {
    return false;
  } else if (next == kQuote) {
    state_ = RowState::quoted;
  } else if (next == '\r') {
    state_ = RowState::closed_return;
  } else {
    return false;
  }
  return true;
}

// Outside quotes, in a plain syntax: to the next terminator, or behind the next quote.
std::size_t RowSplitter::pass_plain(std::string_view piece, std::size_t from) {
  const char separator = fields_.separator.first();
  const std::size_t mark = find_either(piece, from, kQuote, terminator_);
  if (mark == piece.npos) {
    at_field_ = piece.back() == separator;
    return piece.size();
  }
  if (piece[mark] == terminator_) return mark;
  const bool opens = mark == from ? at_field_ : piece[mark - 1] == separator;
  state_ = opens ? RowState::quoted : RowState::skipping;
  return mark + 1;
}

// The same in any.
std::size_t RowSplitter::pass_any(std::string_view piece, std::size_t from) {
  for (; from < piece.size(); ++from) {
    const char next = piece[from];
    const bool was_escaped = std::exchange(escaped_, false);
    if (!was_escaped && next == terminator_) return from;
    if (!was_escaped && fields_.quotes && next == kQuote) {
      state_ = at_field_ ? RowState::quoted : RowState::skipping;
      matched_ = 0;
      return from + 1;
    }
    escaped_ = !was_escaped && fields_.escape != '\0' && next == fields_.escape;
    if (was_escaped || escaped_) {
      at_field_ = false;
      matched_ = 0;
    } else {
      at_field_ = ends_separator(next);
    }
  }
  return from;
}

std::optional<RowSplitter::Row> RowSplitter::next(std::string_view piece, bool at_end) {
  const bool is_plain = fields_.is_plain();
  for (std::size_t at = 0; at < piece.size();) {
    switch (state_) {
      case RowState::plain:
        at = is_plain ? pass_plain(piece, at) : pass_any(piece, at);
        if (state_ == RowState::plain && at < piece.size()) return finish(passed_ + at, true);
        break;
      case RowState::quoted:
        at = fields_.escape == '\0' ? find_quote(piece, at) : find_quote_escaping(piece, at);
        if (given_up_) return finish(line_end_, true);
        break;
      case RowState::closed:
      case RowState::closed_return:
        if (piece[at] == terminator_ && matched_ == 0) return finish(passed_ + at, true);
        if (pass_quote(piece[at])) {
          ++at;
          break;
        }
        // The row ends with the line in which its field was opened.
        if (line_end_ != kNone) return finish(line_end_, true);
        state_ = RowState::skipping;
        break;
      case RowState::skipping: {
        const std::size_t end = piece.find(terminator_, at);
        if (end != piece.npos) return finish(passed_ + end, true);
        at = piece.size();
        break;
      }
    }
  }
  passed_ += piece.size();
  if (!at_end) return {};
  if (state_ == RowState::quoted && line_end_ != kNone) return finish(line_end_, true);
  return finish(passed_, false);
}

RowSplitter::Row RowSplitter::finish(std::size_t size, bool terminated) {
  *this = RowSplitter(fields_, terminator_, most_open_);
  return {size, terminated};
}

}  // namespace xxl
