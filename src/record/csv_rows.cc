#include "record/csv_rows.h"

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"

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

// First place at `from` or later where `text` has `a` or `b`, or npos.
std::size_t find_either(std::string_view text, std::size_t from, char a, char b) {
  for (; text.size() - from >= 16; from += 16) {
    if (const std::uint32_t mask = mask_of_16(text.data() + from, a, b)) {
      return from + static_cast<std::size_t>(std::countr_zero(mask));
    }
  }
  for (; from < text.size(); ++from) {
    if (text[from] == a || text[from] == b) return from;
  }
  return text.npos;
}

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

void FieldSpan::append_value(std::string& out) const {
  if (!escaped) {
    out.append(content);
    return;
  }
  std::string_view rest = content;
  for (std::size_t quote; (quote = rest.find(kQuote)) != rest.npos; rest.remove_prefix(quote + 2)) {
    out.append(rest.substr(0, quote + 1));
  }
  out.append(rest);
}

RowFault count_fields(std::string_view row, FieldSyntax syntax, std::size_t& count) {
  count = count_plain_fields(row, syntax);
  if (count != 0) return {};
  return visit_fields(row, syntax,
                      [&count](std::size_t, const FieldSpan&) { return ++count != 0; });
}

std::size_t count_plain_fields(std::string_view row, FieldSyntax syntax) {
  row = without_line_end(row);
  const char quote = syntax.quotes ? kQuote : syntax.separator;
  std::size_t fields = 1, at = 0;
#ifdef __SSE2__
  const __m128i separators = _mm_set1_epi8(syntax.separator), quotes = _mm_set1_epi8(quote);
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
    fields += row[at] == syntax.separator ? 1 : 0;
  }
  return fields;
}

void RowFields::parse(std::string_view row, FieldSyntax syntax) {
  fields_.clear();
  fault_ = visit_fields(row, syntax, [this](std::size_t, const FieldSpan& field) {
    fields_.push_back(field);
    return true;
  });
}

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

// Behind a quote in a quoted field, which may have closed it. False if it did not, properly.
bool RowSplitter::pass_quote(char next) {
  if (state_ == RowState::closed_return) return false;
  if (next == kQuote) {
    state_ = RowState::quoted;
  } else if (next == separator_) {
    state_ = RowState::plain;
    at_field_ = true;
    line_end_ = kNone;
  } else if (next == '\r') {
    state_ = RowState::closed_return;
  } else {
    return false;
  }
  return true;
}

std::optional<RowSplitter::Row> RowSplitter::next(std::string_view piece, bool at_end) {
  for (std::size_t at = 0; at < piece.size();) {
    switch (state_) {
      case RowState::plain: {
        const std::size_t mark = find_either(piece, at, kQuote, terminator_);
        if (mark == piece.npos) {
          at_field_ = piece.back() == separator_;
          at = piece.size();
          break;
        }
        if (piece[mark] == terminator_) return finish(passed_ + mark, true);
        const bool opens = mark == at ? at_field_ : piece[mark - 1] == separator_;
        state_ = opens ? RowState::quoted : RowState::skipping;
        at = mark + 1;
        break;
      }
      case RowState::quoted:
        at = find_quote(piece, at);
        if (given_up_) return finish(line_end_, true);
        break;
      case RowState::closed:
      case RowState::closed_return:
        if (piece[at] == terminator_) return finish(passed_ + at, true);
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
  *this = RowSplitter(separator_, terminator_, most_open_);
  return {size, terminated};
}

void append_field(std::string_view value, FieldSyntax syntax, std::string& out) {
  const bool plain = std::none_of(value.begin(), value.end(), [syntax](char c) {
    return c == syntax.separator || (syntax.quotes && c == kQuote) || c == '\n' || c == '\r';
  });
  if (!plain && !syntax.quotes) {
    throw Error(
        ErrorCode::usage,
        quote_name_always(value) +
            ": has a separator or a line end in it, so it cannot be a field without quotes");
  }
  if (plain) {
    out.append(value);
    return;
  }
  out.push_back(kQuote);
  for (const char c : value) {
    if (c == kQuote) out.push_back(kQuote);
    out.push_back(c);
  }
  out.push_back(kQuote);
}

bool have_same_names(std::string_view a, std::string_view b, FieldSyntax syntax) {
  const auto names_of = [syntax](std::string_view header) {
    std::vector<std::string> names;
    const RowFault fault = visit_fields(without_byte_order_mark(header), syntax,
                                        [&names](std::size_t, const FieldSpan& field) {
                                          field.append_value(names.emplace_back());
                                          return true;
                                        });
    if (fault) names = {std::string(without_line_end(header))};
    return names;
  };
  return names_of(a) == names_of(b);
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace xxl
