// A compressed file, read as what it holds.
//
//     file ──read──▶ [ piece ][ piece ] ──decompress──▶ whoever calls read()
//
// While one piece is decompressed the next is read. All memory goes back at the end of the file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/memory_region.h"
#include "base/monitor.h"
#include "io/ahead_reader.h"
#include "io/byte_source.h"
#include "io/codec.h"
#include "io/file.h"
#include "io/io_queue.h"

namespace xxl {

class DecodedFile final : public ByteSource {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{128} << 10;  // two of them

  // `file` must outlive it; the others must, unless `io` ends before `monitor` and both before it:
  // then nothing is under way any more.
  // `max_window_bytes` as Decompressor.
  DecodedFile(io::File& file, Codec codec, std::size_t max_window_bytes, io::IoService& io,
              Monitor& monitor);
  // Throws Error with the file and the byte of it where it is corrupt or cannot be read.
  std::size_t read(std::span<std::byte> to) override;

 private:
  void start();
  void give_piece();

  io::File& file_;
  Codec codec_;
  std::size_t max_window_bytes_;
  io::IoService& io_;
  Monitor& monitor_;
  std::optional<io::Decompressor> decompressor_;  // from the first read() to the end
  MemoryRegion memory_;
  std::optional<io::AheadReader> reader_;  // likewise
  bool finished_ = false;
};

}  // namespace xxl
