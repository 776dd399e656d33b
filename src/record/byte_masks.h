// Finding bytes many at a time: the inner loops of rows and fields.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace xxl {

// Bit i is set where bytes[i] is `a` or `b`, for 16 bytes.
inline std::uint32_t mask_of_16(const char* bytes, char a, char b) {
#ifdef __SSE2__
  const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const __m128i found =
      _mm_or_si128(_mm_cmpeq_epi8(data, _mm_set1_epi8(a)), _mm_cmpeq_epi8(data, _mm_set1_epi8(b)));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(found));
#else
  std::uint32_t mask = 0;
  for (unsigned i = 0; i < 16; ++i) {
    mask |= std::uint32_t{bytes[i] == a || bytes[i] == b} << i;
  }
  return mask;
#endif
}

// First place at `from` or later where `text` has `a` or `b`, or npos.
inline std::size_t find_either(std::string_view text, std::size_t from, char a, char b) {
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

// Walks over the places of two bytes in a text, in ascending order. A window of 32 bytes is
// compared at once, and its places are then taken from a mask: fields are shorter than what a call
// of memchr costs. Never reads outside the text.
class MarkCursor {
 public:
  MarkCursor(std::string_view text, char a, char b) : text_(text), a_(a), b_(b) { load(0); }

  // The first place at `from` or later, or the size of the text. REQUIRES: `from` is not less than
  // in the call before.
  std::size_t find(std::size_t from) {
    if (from >= text_.size()) return text_.size();
    if (from - base_ >= kWindow) load(from);
    std::uint32_t mask = mask_ & (~std::uint32_t{0} << (from - base_));
    while (mask == 0) {
      if (text_.size() - base_ <= kWindow) return text_.size();
      load(base_ + kWindow);
      mask = mask_;
    }
    return base_ + static_cast<std::size_t>(std::countr_zero(mask));
  }

 private:
  static constexpr std::size_t kWindow = 32;

  void load(std::size_t base) {
    base_ = base;
    const char* bytes = text_.data() + base;
    const std::size_t left = text_.size() - base;
    if (left >= kWindow) {
      mask_ = mask_of_16(bytes, a_, b_) | mask_of_16(bytes + 16, a_, b_) << 16;
    } else if (text_.size() >= kWindow) {
      // The last 32 bytes of the text, of which the first ones lie before the window.
      const char* last = text_.data() + text_.size() - kWindow;
      mask_ = static_cast<std::uint32_t>(
          (mask_of_16(last, a_, b_) | std::uint64_t{mask_of_16(last + 16, a_, b_)} << 16) >>
          (kWindow - left));
    } else {
      char copy[kWindow] = {};
      if (left > 0) std::memcpy(copy, bytes, left);
      mask_ = (mask_of_16(copy, a_, b_) | mask_of_16(copy + 16, a_, b_) << 16) &
              ((std::uint32_t{1} << left) - 1);
    }
  }

  std::string_view text_;
  char a_;
  char b_;
  std::size_t base_ = 0;
  std::uint32_t mask_ = 0;
};

}  // namespace xxl
