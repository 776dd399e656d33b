// Any bytes as a compressed file or block, compared with what the libraries make of them at once;
// files of several frames, whole, cut off and damaged; and round trips of any bytes.
#include <lz4frame.h>
#include <sanitizer/allocator_interface.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "fuzz_input.h"
#include "io/codec.h"

namespace xxl::io {
namespace {

using Bytes = std::vector<std::byte>;
using fuzz::require;

constexpr std::size_t kMostContent = 128 * kKiB;
constexpr std::size_t kMaxWindow = 128 * kKiB;
constexpr std::size_t kMostPiece = 64 * kKiB;
constexpr std::size_t kSpare = 16 * kKiB;  // of memory: pieces, messages

void append(Bytes& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// At most about kMostContent of it.
Bytes decompress(Codec codec, std::span<const std::byte> file, std::size_t piece_bytes,
                 std::size_t buffer_bytes) {
  Bytes content, buffer(buffer_bytes);
  content.reserve(kMostContent + buffer_bytes);
  // (lz4 has no windows to refuse.)
  const std::size_t most_memory =
      __sanitizer_get_current_allocated_bytes() + kSpare + kMostPiece +
      Decompressor::memory_bytes(codec,
                                 codec == Codec::lz4 ? Decompressor::kMaxWindowBytes : kMaxWindow);
  Decompressor decompressor(codec, "file", kMaxWindow);
  while (!decompressor.at_end() && content.size() < kMostContent) {
    Bytes piece;
    if (decompressor.wants_input()) {
      if (file.empty()) {
        decompressor.finish_input();
      } else {
        const std::size_t size = std::min(piece_bytes, file.size());
        append(piece, file.first(size));
        file = file.subspan(size);
        decompressor.give(piece);
      }
    }
    do {
      append(content, std::span(buffer).first(decompressor.read(buffer)));
    } while (!decompressor.wants_input() && !decompressor.at_end() &&
             content.size() < kMostContent);
    require(__sanitizer_get_current_allocated_bytes() <= most_memory);
  }
  return content;
}

// ---- the libraries, at once; nothing for files that are none

std::optional<Bytes> gunzip(std::span<const std::byte> file) {
  Bytes content(2 * kMostContent);
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(file.data()));
  stream.avail_in = static_cast<uInt>(file.size());
  stream.next_out = reinterpret_cast<Bytef*>(content.data());
  stream.avail_out = static_cast<uInt>(content.size());
  constexpr int kGzip = 16 + 15;
  require(inflateInit2(&stream, kGzip) == Z_OK);
  int result = Z_OK;
  do {
    result = inflate(&stream, Z_FINISH);
    // Zeros may follow a member.
    for (; result == Z_STREAM_END && stream.avail_in > 0 && *stream.next_in == 0;
         ++stream.next_in) {
      --stream.avail_in;
    }
  } while (result == Z_STREAM_END && stream.avail_in > 0 && inflateReset(&stream) == Z_OK);
  content.resize(content.size() - stream.avail_out);
  inflateEnd(&stream);
  if (result != Z_STREAM_END) return {};
  return content;
}

std::optional<Bytes> unzstd(std::span<const std::byte> file) {
  Bytes content(2 * kMostContent);
  const std::size_t size =
      ZSTD_decompress(content.data(), content.size(), file.data(), file.size());
  if (file.empty() || ZSTD_isError(size) != 0) return {};
  content.resize(size);
  return content;
}

std::optional<Bytes> unlz4(std::span<const std::byte> file) {
  Bytes content(2 * kMostContent);
  LZ4F_dctx* context = nullptr;
  require(LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) == 0);
  std::size_t used = 0, made = 0, result = 1;
  bool stuck = false;
  while (!stuck && used < file.size() && LZ4F_isError(result) == 0) {
    std::size_t in = file.size() - used, out = content.size() - made;
    result =
        LZ4F_decompress(context, content.data() + made, &out, file.data() + used, &in, nullptr);
    stuck = in == 0 && out == 0;
    used += in;
    made += out;
  }
  LZ4F_freeDecompressionContext(context);
  content.resize(made);
  if (result != 0) return {};
  return content;
}

std::optional<Bytes> at_once(Codec codec, std::span<const std::byte> file) {
  return codec == Codec::gzip ? gunzip(file) : codec == Codec::zstd ? unzstd(file) : unlz4(file);
}

// ----

struct Sizes {
  std::size_t piece, buffer;
};

// Nothing if it is none, or takes too much.
std::optional<Bytes> check_file(Codec codec, std::span<const std::byte> file, Sizes sizes) {
  try {
    Bytes content = decompress(codec, file, sizes.piece, sizes.buffer);
    if (content.size() >= kMostContent) return content;
    require(content == decompress(codec, file, file.size() + 1, 4096));
    // (zstd takes empty compressed blocks in a stream only.)
    const auto expected = at_once(codec, file);
    require(expected ? content == *expected : codec == Codec::zstd);
    return content;
  } catch (const Error& error) {
    require(error.offset() <= file.size());
    if (error.code() == ErrorCode::no_space) return {};
    require(error.code() == ErrorCode::bad_input);
    // (At once, zstd reads more: frames before 0.8, and blocks larger than their window.)
    if (codec == Codec::zstd) return {};
    const auto content = at_once(codec, file);
    require(!content || content->size() >= kMostContent);
    return {};
  }
}

// Frames of the pieces of `content`; `ends` of the file and of its content, of each.
struct File {
  Bytes bytes;
  std::vector<std::pair<std::size_t, std::size_t>> ends{};
};
File compress(Codec codec, int level, std::span<const std::byte> content, std::size_t frames) {
  File file;
  std::size_t done = 0;
  for (std::size_t i = 1; i <= frames; ++i) {
    const std::size_t end = content.size() * i / frames;
    Bytes frame(frame_bound(codec, end - done));
    frame.resize(compress_frame(codec, level, content.subspan(done, end - done), frame));
    append(file.bytes, frame);
    file.ends.emplace_back(file.bytes.size(), end);
    done = end;
  }
  return file;
}

void check_frames(Codec codec, int level, std::span<const std::byte> content, fuzz::Input choices,
                  Sizes sizes) {
  File file = compress(codec, level, content, 1 + choices.choose(4));
  require(std::ranges::equal(check_file(codec, file.bytes, sizes).value(), content));
  // Cut off: whole frames are a file, no matter what was behind them.
  const std::size_t size = choices.choose(256) * file.bytes.size() / 256;
  const auto cut = check_file(codec, std::span(file.bytes).first(size), sizes);
  const auto end = std::ranges::find(file.ends, size, &std::pair<std::size_t, std::size_t>::first);
  require(cut.has_value() == (end != file.ends.end()));
  if (cut) require(std::ranges::equal(*cut, content.first(end->second)));
  // Damaged.
  file.bytes[choices.choose(256) * file.bytes.size() / 256] ^=
      static_cast<std::byte>(1 + choices.choose(255));
  check_file(codec, file.bytes, sizes);
}

void check_block(Codec codec, int level, std::span<const std::byte> content) {
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
  const io::Sizes sizes{1 + std::size_t{input.choose(256)}, 1 + std::size_t{input.choose(256)}};
  const auto bytes = std::as_bytes(std::span(input.rest()));
  io::check_file(codec, bytes, sizes);
  io::check_frames(codec, level, bytes, input, sizes);
  if (codec != Codec::gzip) io::check_block(codec, level, bytes);
  return 0;
}
