// Writes consecutive rows to host memory, past the caches.
//
// Rows are written once and not read soon: a store that goes through the caches fetches the line
// that it is about to overwrite, which is a third of all traffic when rows are made of two records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace xxl::gpu {

class RowStream {
 public:
  // Rows go to `to` on. All of them have been written when flush() has been called.
  explicit RowStream(std::byte* to) {
    const std::size_t ahead = reinterpret_cast<std::uintptr_t>(to) % kLine;
    line_ = to - ahead;
    first_ = at_ = ahead;
  }
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  // Where the next row goes: the `bytes` of it, at most kLine.
  std::byte* row(std::size_t bytes) {
    if (at_ + bytes > sizeof buffer_) write_lines();
    std::byte* const row = buffer_ + at_;
    at_ += bytes;
    return row;
  }
  void flush() {
    write_lines();
    std::memcpy(line_ + first_, buffer_ + first_, at_ - first_);
    first_ = at_;
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }

 private:
  static constexpr std::size_t kLine = 64;

  // Writes the lines of the buffer that are full.
  void write_lines() {
    const std::size_t lines = at_ / kLine;
    std::size_t i = 0;
    if (lines > 0 && first_ != 0) {  // memory before the first row belongs to others
      std::memcpy(line_ + first_, buffer_ + first_, kLine - first_);
      first_ = 0;
      i = kLine;
    }
    for (; i < lines * kLine; i += 16) {
#if defined(__SSE2__)
      _mm_stream_si128(reinterpret_cast<__m128i*>(line_ + i),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(buffer_ + i)));
#else
      std::memcpy(line_ + i, buffer_ + i, 16);
#endif
    }
    line_ += lines * kLine;
    at_ -= lines * kLine;
    if (lines > 0) std::memcpy(buffer_, buffer_ + lines * kLine, at_);
  }

  std::byte* line_;    // where the buffer's first byte belongs, the start of a line
  std::size_t first_;  // first byte of the buffer that is ours
  std::size_t at_;
  alignas(kLine) std::byte buffer_[4096];
};

}  // namespace xxl::gpu
