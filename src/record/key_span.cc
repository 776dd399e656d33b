#include "record/key_span.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace xxl {
namespace {

// The fields of one line, from left to right.
class Walker {
 public:
  Walker(const char* end, const std::optional<FieldSeparator>& separator,
         const ByteClasses& classes)
      : end_(end), separator_(separator), classes_(classes) {}

  // Skips `count` fields; also the separator after the last of them if `behind_separator`.
  const char* skip_fields(const char* at, std::size_t count, bool behind_separator) const {
    if (separator_) {
      while (at < end_ && count != 0) {
        --count;
        at = find_separator(at);
        if (at < end_ && (count != 0 || behind_separator)) at += separator_->size();
      }
      return at;
    }
    for (; at < end_ && count != 0; --count) at = skip_non_blanks(skip_blanks(at));
    return at;
  }

  const char* skip_blanks(const char* at) const {
    while (at < end_ && contains(classes_.blank, *at)) ++at;
    return at;
  }

  // Advances by `count` bytes, or to the end.
  const char* skip_bytes(const char* at, std::size_t count) const {
    return at + std::min(count, static_cast<std::size_t>(end_ - at));
  }

 private:
  const char* find_separator(const char* at) const {
    const std::size_t length = static_cast<std::size_t>(end_ - at);
    return at + std::min(separator_->find_in({at, length}), length);
  }

  const char* skip_non_blanks(const char* at) const {
#if defined(__SSE2__)
    if (classes_.plain_blanks) {
      for (; end_ - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i blank = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')),
                                                        _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'))),
                                           _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(blank));
        if (mask != 0) return at + std::countr_zero(mask);
      }
    }
#endif
    while (at < end_ && !contains(classes_.blank, *at)) ++at;
    return at;
  }

  const char* end_;
  const std::optional<FieldSeparator>& separator_;
  const ByteClasses& classes_;
};

}  // namespace

std::string_view key_span(std::string_view line, const LineKeyField& field,
                          const std::optional<FieldSeparator>& separator,
                          const ByteClasses& classes) {
  const char* const line_end = line.data() + line.size();
  const Walker walker(line_end, separator, classes);

  const char* const first_field = walker.skip_fields(line.data(), field.start_field, true);
  const char* start = first_field;
  if (field.flags.skip_start_blanks) start = walker.skip_blanks(start);
  start = walker.skip_bytes(start, field.start_char);
  if (field.end_field == LineKeyField::kLineEnd) {
    return {start, static_cast<std::size_t>(line_end - start)};
  }

  // Fields to pass on the way to the end: those before the last one, and with no count of bytes the
  // last one, too. Where the key does not end before it starts, the first fields are passed
  // already.
  const bool whole_field = field.end_char == 0;
  const std::size_t fields = field.end_field + (whole_field ? 1 : 0);
  const char* end = fields > field.start_field
                        ? walker.skip_fields(first_field, fields - field.start_field, !whole_field)
                        : walker.skip_fields(line.data(), fields, !whole_field);
  if (!whole_field) {
    if (field.flags.skip_end_blanks) end = walker.skip_blanks(end);
    end = walker.skip_bytes(end, field.end_char);
  }
  return {start, static_cast<std::size_t>(std::max(start, end) - start)};
}

}  // namespace xxl
