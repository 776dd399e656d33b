// How a queue reads a compressed file, and a stream that may be compressed: what comes is its
// content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>

#include "base/memory_region.h"
#include "io/codec.h"
#include "io/content.h"

namespace xxl::io {

// One thread at a time.
class Decoder {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{128} << 10;  // read at a time

  // Reads `fd` from its current position; it must stay open. `path` and `max_window_bytes` as
  // Decompressor. `is_text`: content that recognize_content() refuses is an error. Codec::none, of
  // text only: the first bytes tell the codec, and a stream without one is passed on as it is.
  // Memory is allocated by the first read() and freed at the end of the file.
  Decoder(int fd, Codec codec, bool is_text, std::string path, std::size_t max_window_bytes);

  // As read(2), but for minus an errno value instead of -1: bytes put into `to`, 0 at the end.
  // -EAGAIN: none yet, more must be read. -EBADMSG: failure().
  std::int64_t read(std::span<std::byte> to);
  // True if the next read() will not read the file.
  bool has_output() const {
    return decompressor_ ? !decompressor_->wants_input() : is_plain_ && head_bytes_ > 0;
  }
  // An Error with the file and the byte where it is corrupt.
  std::exception_ptr failure() const { return failure_; }

 private:
  std::int64_t read_on(std::span<std::byte> to);
  std::int64_t read_plain(std::span<std::byte> to);
  // Minus an errno value if it needs more of the head.
  std::int64_t recognize();
  void start(std::span<const std::byte> head);

  int fd_;
  Codec codec_;
  std::string path_;
  std::size_t max_window_bytes_;
  std::optional<Decompressor> decompressor_;  // from the first read() to the end
  MemoryRegion memory_;
  std::array<std::byte, kContentBytes> head_;
  std::size_t head_bytes_ = 0;  // in head_, not passed on yet
  bool is_plain_ = false;       // it was recognized, and is not compressed
  bool finished_ = false;
  bool checks_content_;  // of what is decompressed, when its first bytes come
  std::exception_ptr failure_;
};

}  // namespace xxl::io
