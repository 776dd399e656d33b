// Any bytes as a compressed file or block, and round trips of any bytes.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "fuzz_input.h"
#include "io/codec.h"

namespace xxl::io {
namespace {

using Bytes = std::vector<std::byte>;
using fuzz::require;

// At most 1 MiB of the content.
Bytes decompress(Codec codec, std::span<const std::byte> file, std::size_t piece_bytes,
                 std::size_t buffer_bytes) {
  Decompressor decompressor(codec, "file", kMiB);
  Bytes content, buffer(buffer_bytes);
  while (!decompressor.at_end() && content.size() < kMiB) {
    Bytes piece;
    if (decompressor.wants_input()) {
      if (file.empty()) {
        decompressor.finish_input();
      } else {
        const std::size_t size = std::min(piece_bytes, file.size());
        piece.assign(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
        file = file.subspan(size);
        decompressor.give(piece);
      }
    }
    do {
      const std::size_t size = decompressor.read(buffer);
      content.insert(content.end(), buffer.begin(),
                     buffer.begin() + static_cast<std::ptrdiff_t>(size));
    } while (!decompressor.wants_input() && !decompressor.at_end() && content.size() < kMiB);
  }
  return content;
}

void check_file(Codec codec, std::span<const std::byte> file, std::size_t piece_bytes,
                std::size_t buffer_bytes) {
  try {
    const Bytes content = decompress(codec, file, piece_bytes, buffer_bytes);
    require(content.size() >= kMiB || content == decompress(codec, file, file.size(), 4096));
  } catch (const Error& error) {
    require(error.offset() <= file.size());
  }
}

void check_round_trip(Codec codec, int level, std::span<const std::byte> content,
                      std::size_t piece_bytes, std::size_t buffer_bytes) {
  Bytes frame(frame_bound(codec, content.size()));
  frame.resize(compress_frame(codec, level, content, frame));
  require(std::ranges::equal(decompress(codec, frame, piece_bytes, buffer_bytes), content));
  if (codec == Codec::gzip) return;
  Bytes block(block_bound(codec, content.size()));
  block.resize(compress_block(codec, level, content, block));
  Bytes back(content.size());
  require(decompress_block(codec, block, back) && std::ranges::equal(back, content));
  // Anything as a block.
  (void)decompress_block(codec, content, back);
}

}  // namespace
}  // namespace xxl::io

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xxl;
  fuzz::Input input(data, size);
  constexpr Codec kCodecs[] = {Codec::gzip, Codec::zstd, Codec::lz4};
  const Codec codec = kCodecs[input.choose(3)];
  const int level = static_cast<int>(input.choose(5));
  const std::size_t piece_bytes = 1 + input.choose(256), buffer_bytes = 1 + input.choose(256);
  const auto bytes = std::as_bytes(std::span(input.rest()));
  io::check_file(codec, bytes, piece_bytes, buffer_bytes);
  io::check_round_trip(codec, level, bytes, piece_bytes, buffer_bytes);
  return 0;
}
