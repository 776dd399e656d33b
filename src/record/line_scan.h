// Finding line ends: 64 bytes at a time, with the vector instructions that every x86-64 has.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace xxl {

namespace line_scan_detail {

// Bit i: byte i of the 64 at `from` is `wanted`.
inline std::uint64_t match64(const char* from, char wanted) {
#if defined(__SSE2__)
  const __m128i pattern = _mm_set1_epi8(wanted);
  std::uint64_t mask = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16 * i));
    const auto part = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, pattern)));
    mask |= std::uint64_t{part} << (16 * i);
  }
  return mask;
#else
  std::uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) mask |= std::uint64_t{from[i] == wanted} << i;
  return mask;
#endif
}

}  // namespace line_scan_detail

// Calls visit(record) for each record of `text`, in order, until it returns false: without their
// terminators; what follows the last terminator is a record if it is not empty. Returns the bytes
// of the records visited, terminators included (the one that was refused not).
template <class Visit>
std::size_t visit_lines(std::string_view text, char terminator, Visit&& visit) {
  const char* const data = text.data();
  std::size_t begin = 0, block = 0;
  const auto take = [&](std::uint64_t mask) {
    while (mask != 0) {
      const std::size_t end = block + static_cast<std::size_t>(std::countr_zero(mask));
      if (!visit(std::string_view(data + begin, end - begin))) return false;
      begin = end + 1;
      mask &= mask - 1;
    }
    return true;
  };
  for (; block + 64 <= text.size(); block += 64) {
    if (!take(line_scan_detail::match64(data + block, terminator))) return begin;
  }
  if (block < text.size()) {
    char rest[64];
    const std::size_t bytes = text.size() - block;
    std::memcpy(rest, data + block, bytes);
    const std::uint64_t mask = line_scan_detail::match64(rest, terminator);
    if (!take(mask & ((std::uint64_t{1} << bytes) - 1))) return begin;
  }
  if (begin < text.size() && visit(text.substr(begin))) begin = text.size();
  return begin;
}

}  // namespace xxl
