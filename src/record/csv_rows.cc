#include "record/csv_rows.h"

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"
#include "record/digits.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace xxl {
namespace {

constexpr std::size_t kWord = 64;  // bytes of text that one mask stands for

// Bit i of the result is the parity of bits 0 to i.
[[gnu::always_inline]] inline std::uint64_t prefix_parity(std::uint64_t bits) {
  bits ^= bits << 1;
  bits ^= bits << 2;
  bits ^= bits << 4;
  bits ^= bits << 8;
  bits ^= bits << 16;
  bits ^= bits << 32;
  return bits;
}

// A scan under way: masks of 64 bytes of text are added one after the other.
struct ScanState {
  QuoteScan scan;
  std::uint64_t inside = 0;  // all ones: inside quotes, if the block started outside

  [[gnu::always_inline]] static void add_ends(std::uint64_t ends, std::size_t offset,
                                              QuoteScan::Ends& to) {
    if (ends == 0) return;
    if (to.count == 0) to.first = offset + static_cast<std::size_t>(std::countr_zero(ends)) + 1;
    to.count += static_cast<std::size_t>(std::popcount(ends));
    to.last = offset + kWord - static_cast<std::size_t>(std::countl_zero(ends));
  }

  [[gnu::always_inline]] void add(std::uint64_t quotes, std::uint64_t terminators,
                                  std::size_t offset) {
    std::uint64_t quoted = inside;
    if (quotes != 0) {
      quoted ^= prefix_parity(quotes);
      inside = std::uint64_t{0} - (quoted >> 63);
    }
    add_ends(terminators & ~quoted, offset, scan.if_outside);
    add_ends(terminators & quoted, offset, scan.if_inside);
  }
};

struct Masks {
  std::uint64_t quotes = 0;
  std::uint64_t terminators = 0;
};

[[gnu::always_inline]] inline Masks masks_of(const char* bytes, char terminator) {
  Masks masks;
  for (unsigned i = 0; i < kWord; i += 16) {
    masks.quotes |= std::uint64_t{mask_of_16(bytes + i, kQuote, kQuote)} << i;
    masks.terminators |= std::uint64_t{mask_of_16(bytes + i, terminator, terminator)} << i;
  }
  return masks;
}

// The masks of the last bytes of a block, fewer than 64.
Masks masks_of_rest(std::string_view rest, char terminator) {
  char copy[kWord] = {};
  if (!rest.empty()) std::memcpy(copy, rest.data(), rest.size());
  Masks masks = masks_of(copy, terminator);
  const std::uint64_t valid = (std::uint64_t{1} << rest.size()) - 1;
  masks.quotes &= valid;
  masks.terminators &= valid;
  return masks;
}

// Adds all whole words of `block`; returns the bytes added.
std::size_t add_words(std::string_view block, char terminator, ScanState& state) {
  std::size_t offset = 0;
  for (; block.size() - offset >= kWord; offset += kWord) {
    const Masks masks = masks_of(block.data() + offset, terminator);
    state.add(masks.quotes, masks.terminators, offset);
  }
  return offset;
}

#if defined(__x86_64__)

[[gnu::target("avx2,popcnt,bmi")]] std::size_t add_words_avx2(std::string_view block,
                                                              char terminator, ScanState& total) {
  ScanState state = total;
  const __m256i quote = _mm256_set1_epi8(kQuote);
  const __m256i end = _mm256_set1_epi8(terminator);
  std::size_t offset = 0;
  for (; block.size() - offset >= kWord; offset += kWord) {
    const char* bytes = block.data() + offset;
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32));
    const auto low_quotes =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, quote)));
    const auto high_quotes =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, quote)));
    const auto low_ends =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, end)));
    const auto high_ends =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, end)));
    state.add(low_quotes | std::uint64_t{high_quotes} << 32,
              low_ends | std::uint64_t{high_ends} << 32, offset);
  }
  total = state;
  return offset;
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("popcnt");
  return has;
}

#endif

}  // namespace

QuoteScan scan_quotes(std::string_view block, char terminator) {
  ScanState state;
  std::size_t done = 0;
#if defined(__x86_64__)
  if (has_avx2()) done = add_words_avx2(block, terminator, state);
#endif
  // From where the last one stopped: all of it, or nothing.
  if (done == 0) done = add_words(block, terminator, state);
  const Masks rest = masks_of_rest(block.substr(done), terminator);
  state.add(rest.quotes, rest.terminators, done);
  state.scan.odd_quotes = state.inside != 0;
  return state.scan;
}

bool append_row_ends(std::string_view text, bool starts_inside, char terminator, std::size_t base,
                     std::vector<std::size_t>& ends) {
  std::uint64_t inside = starts_inside ? ~std::uint64_t{0} : 0;
  for (std::size_t offset = 0; offset < text.size(); offset += kWord) {
    const Masks masks = text.size() - offset >= kWord
                            ? masks_of(text.data() + offset, terminator)
                            : masks_of_rest(text.substr(offset), terminator);
    std::uint64_t quoted = inside;
    if (masks.quotes != 0) {
      quoted ^= prefix_parity(masks.quotes);
      inside = std::uint64_t{0} - (quoted >> 63);
    }
    for (std::uint64_t left = masks.terminators & ~quoted; left != 0; left &= left - 1) {
      ends.push_back(base + offset + static_cast<std::size_t>(std::countr_zero(left)));
    }
  }
  return inside != 0;
}

std::string RowFault::describe() const {
  const std::string place = "column " + std::to_string(column + 1) + ": ";
  switch (kind) {
    case Kind::none:
      return {};
    case Kind::stray_quote:
      return place + "a quote in a field that does not start with one";
    case Kind::text_after_quote:
      return place + "text after the closing quote";
    case Kind::unterminated_quote:
      return place + "this quote is never closed";
  }
  return {};
}

namespace {

constexpr std::string_view kEscapedLetters = "ntr0";
constexpr std::string_view kEscapedBytes("\n\t\r\0", 4);

}  // namespace

std::string_view FieldSpan::take_piece(std::string_view& rest, std::size_t most) const {
  std::string_view piece = rest.substr(0, most);
  std::size_t passed = piece.size();
  if (escaped && escape != '\0' && rest.size() > 1 && rest[0] == escape) {
    const std::size_t letter = kEscapedLetters.find(rest[1]);
    piece = letter == rest.npos ? rest.substr(1, 1) : kEscapedBytes.substr(letter, 1);
    passed = 2;
  } else if (escaped) {
    const char quote = quoted ? kQuote : escape;
    const std::size_t mark = find_either(piece, 0, quote, escape == '\0' ? quote : escape);
    if (mark != piece.npos) {
      const bool is_escape = piece[mark] == escape && mark > 0;
      piece = piece.substr(0, mark + (is_escape ? 0 : 1));
      // One of two quotes.
      passed = piece.size() + (quoted && piece.back() == kQuote && !is_escape ? 1 : 0);
    }
  }
  rest.remove_prefix(std::min(passed, rest.size()));
  return piece;
}

void FieldSpan::append_value(std::string& out) const {
  constexpr std::size_t kAll = ~std::size_t{0};
  for (std::string_view rest = content; !rest.empty();) out.append(take_piece(rest, kAll));
}

std::string_view FieldSpan::value(std::string& room) const {
  if (!escaped) return content;
  room.clear();
  append_value(room);
  return room;
}

bool AnyMarks::passes_escape(std::size_t& at, FieldSpan& field) const {
  if (syntax_.escape == '\0' || row_[at] != syntax_.escape) return false;
  field.escaped = true;
  field.escape = syntax_.escape;
  at = std::min(at + 2, row_.size());
  return true;
}

std::size_t AnyMarks::find(std::size_t from, FieldSpan& field) const {
  while (from < row_.size() && !(syntax_.quotes && row_[from] == kQuote) && !is_separator(from)) {
    if (!passes_escape(from, field)) ++from;
  }
  return from;
}

std::size_t AnyMarks::find_close(std::size_t from, FieldSpan& field) const {
  while (from < row_.size()) {
    if (passes_escape(from, field)) continue;
    if (row_[from++] != kQuote) continue;
    if (from == row_.size() || row_[from] != kQuote) return from - 1;
    field.escaped = true;
    ++from;
  }
  return row_.npos;
}

RowFault count_fields(std::string_view row, const FieldSyntax& syntax, std::size_t& count) {
  count = count_plain_fields(row, syntax);
  if (count != 0) return {};
  return visit_fields(row, syntax,
                      [&count](std::size_t, const FieldSpan&) { return ++count != 0; });
}

std::size_t count_plain_fields(std::string_view row, const FieldSyntax& syntax) {
  if (!syntax.is_plain()) return 0;
  row = without_line_end(row);
  const char separator = syntax.separator.first(), quote = syntax.quotes ? kQuote : separator;
  std::size_t fields = 1, at = 0;
#ifdef __SSE2__
  const __m128i separators = _mm_set1_epi8(separator), quotes = _mm_set1_epi8(quote);
  constexpr std::size_t kStep = 16, kMostSteps = 255;  // each byte of a count holds as many
  while (row.size() - at >= kStep) {
    __m128i count = _mm_setzero_si128(), found = count;
    for (std::size_t i = 0; i < kMostSteps && row.size() - at >= kStep; ++i, at += kStep) {
      const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row.data() + at));
      count = _mm_sub_epi8(count, _mm_cmpeq_epi8(data, separators));
      found = _mm_or_si128(found, _mm_cmpeq_epi8(data, quotes));
    }
    if (syntax.quotes && _mm_movemask_epi8(found) != 0) return 0;
    const __m128i sums = _mm_sad_epu8(count, _mm_setzero_si128());
    fields += static_cast<std::size_t>(_mm_cvtsi128_si64(sums)) +
              static_cast<std::size_t>(_mm_extract_epi16(sums, 4));
  }
#endif
  for (; at < row.size(); ++at) {
    if (syntax.quotes && row[at] == kQuote) return 0;
    fields += row[at] == separator ? 1 : 0;
  }
  return fields;
}

void RowFields::parse(std::string_view row, const FieldSyntax& syntax) {
  fields_.clear();
  fault_ = visit_fields(row, syntax, [this](std::size_t, const FieldSpan& field) {
    fields_.push_back(field);
    return true;
  });
}

namespace {

void append_escaped(std::string_view value, const FieldSyntax& syntax, std::string& out) {
  for (const char c : value) {
    const std::size_t letter = kEscapedBytes.find(c);
    if (letter != value.npos) {
      out.append({syntax.escape, kEscapedLetters[letter]});
      continue;
    }
    const bool is_mark =
        c == syntax.escape || c == syntax.separator.first() || (syntax.quotes && c == kQuote);
    if (is_mark) out.push_back(syntax.escape);
    out.push_back(c);
  }
}

}  // namespace

void append_field(std::string_view value, const FieldSyntax& syntax, std::string& out) {
  if (syntax.escape != '\0') return append_escaped(value, syntax, out);
  const bool has_mark = std::any_of(value.begin(), value.end(), [&syntax](char c) {
    return (syntax.quotes && c == kQuote) || c == '\n' || c == '\r';
  });
  if (!has_mark && syntax.separator.find_in(value) == value.npos && can_go_on(value, syntax)) {
    out.append(value);
    return;
  }
  if (!syntax.quotes) {
    throw Error(
        ErrorCode::usage,
        quote_name_always(value) +
            ": has a separator or a line end in it, so it cannot be a field without quotes");
  }
  out.push_back(kQuote);
  for (const char c : value) {
    if (c == kQuote) out.push_back(kQuote);
    out.push_back(c);
  }
  out.push_back(kQuote);
}

void copy_field(const FieldSpan& field, const FieldSyntax& syntax, std::string& out) {
  if (syntax.is_plain() || field.quoted || can_go_on(field.content, syntax)) {
    out.append(field.raw());
    return;
  }
  std::string room;
  append_field(field.value(room), syntax, out);
}

bool can_go_on(std::string_view row, const FieldSyntax& syntax) {
  if (syntax.is_plain()) return true;
  if (syntax.escape != '\0') {
    const std::size_t last = row.find_last_not_of(syntax.escape);
    const std::size_t escapes = row.size() - (last == row.npos ? 0 : last + 1);
    if (escapes % 2 != 0) return false;
  }
  const std::string_view separator = syntax.separator.bytes();
  const std::string_view end = row.substr(row.size() - std::min(row.size(), separator.size() - 1));
  return std::string(end).append(separator).find(separator) == end.size();
}

void check_syntax(const FieldSyntax& syntax) {
  constexpr std::string_view kNone("\"\r\n\0", 4);
  const std::string_view separator = syntax.separator.bytes();
  if (separator.empty() || separator.find_first_of(kNone) != separator.npos) {
    throw Error(ErrorCode::usage, "quotes, line ends and zero bytes cannot separate columns");
  }
  const std::string_view comment = syntax.comment.bytes();
  if (comment.find_first_of(kNone) != comment.npos || comment.find(separator) != comment.npos) {
    throw Error(ErrorCode::usage, "comments cannot begin with quotes, line ends or a separator");
  }
  const char escape = syntax.escape;
  if (escape == '\0') return;
  const bool is_word = (escape & 0x80) != 0 || is_letter(escape) || is_digit(escape);
  if (is_word || escape == ' ' || kNone.find(escape) != kNone.npos ||
      separator.find(escape) != separator.npos) {
    throw Error(ErrorCode::usage, "--escape is a mark such as '\\' that is not in the separator");
  }
  if (kEscapedLetters.find(separator.front()) != kEscapedLetters.npos) {
    throw Error(ErrorCode::usage, "with --escape, the separator cannot begin with n, t, r or 0");
  }
}

bool have_same_names(std::string_view a, std::string_view b, const FieldSyntax& syntax) {
  const auto names_of = [&syntax](std::string_view header) {
    std::vector<std::string> names;
    const RowFault fault = visit_fields(names_row(header, syntax), syntax,
                                        [&names](std::size_t, const FieldSpan& field) {
                                          field.append_value(names.emplace_back());
                                          return true;
                                        });
    if (fault) names = {std::string(without_line_end(header))};
    return names;
  };
  return names_of(a) == names_of(b);
}

namespace {

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace

std::string_view names_row(std::string_view header, const FieldSyntax& syntax) {
  return without_byte_order_mark(header.substr(comment_bytes(header, syntax)));
}

std::optional<bool> starts_comment(std::string_view text, const FieldSyntax& syntax) {
  const std::string_view mark = syntax.comment.bytes();
  if (mark.empty()) return false;
  text = without_byte_order_mark(text);
  if (text.size() < mark.size() && mark.starts_with(text)) return std::nullopt;
  return text.starts_with(mark);
}

void check_comments(std::string_view comments, bool are_all, const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  if (comments.size() > kMostBytes) {
    throw Error(ErrorCode::bad_input, "more than 1 MiB of comment lines before the header", path);
  }
  if (are_all && !comments.empty()) {
    throw Error(ErrorCode::bad_input, "comment lines, but no header after them", path);
  }
}

std::uint64_t count_comments(std::string_view header, const FieldSyntax& syntax) {
  const std::string_view comments = header.substr(0, comment_bytes(header, syntax));
  std::uint64_t count = 0;
  for (std::size_t start = 0; start < comments.size(); start = comments.find('\n', start) + 1) {
    count += starts_comment(comments.substr(start), syntax).value_or(false) ? 1 : 0;
  }
  return count;
}

std::size_t comment_bytes(std::string_view text, const FieldSyntax& syntax) {
  std::size_t bytes = 0;
  if (syntax.comment.size() == 0) return 0;
  for (std::size_t start = 0, end; (end = text.find('\n', start)) != text.npos; start = end + 1) {
    const std::string_view line = text.substr(start, end - start);
    if (starts_comment(line, syntax).value_or(false)) {
      bytes = end + 1;
    } else if (!is_blank(line)) {
      break;
    }
  }
  return bytes;
}

}  // namespace xxl
