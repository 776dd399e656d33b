// Compressed files and blocks: gzip (zlib), zstd and lz4; files of bzip2 and xz can be read only.
//
// A compressed file is a sequence of frames (gzip calls them members), each of which can be
// decompressed alone; their concatenated contents are the file's. So a file is read as a stream
// (Decompressor), and written by many threads at once: each turns its own block of the output into
// a frame (compress_frame), and the frames are written in order. An empty content is one empty
// frame, not an empty file.
//
// Scratch blocks need no frame: their length and checksum are kept elsewhere (compress_block).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "xxl/job.h"

namespace xxl::io {

// By the end of the file's name: .gz or .bgz, .zst, .lz4, .bz2, .xz, or none of them.
Codec codec_of(std::string_view path);
// The same of a file that is to be written. Throws Error{usage} if that codec can only be read.
Codec output_codec_of(std::string_view path);
// "gzip", "zstd", "lz4", "bzip2", "xz", "none".
const char* codec_name(Codec codec);

// Turns the bytes of a compressed file, given in pieces of any size, into its content. Not for
// Codec::none. Used by one thread at a time.
//
//   while (!decompressor.at_end()) {
//     if (decompressor.wants_input()) decompressor.give(<the next piece>), or finish_input();
//     <use the first decompressor.read(buffer) bytes of buffer>
//   }
class Decompressor {
 public:
  // What zstd itself takes by default.
  static constexpr std::size_t kMaxWindowBytes = 128 * kMiB;
  // Bytes of the head of a file that suffice to know its window.
  static constexpr std::size_t kHeadBytes = 64;

  // How far the first frame of a file that begins with `head` refers back: a power of two for zstd,
  // the size of a block for lz4, the dictionary for xz; the usual value if `head` does not say.
  static std::size_t window_bytes(Codec codec, std::span<const std::byte> head);

  // `path` is for messages. Frames of zstd and xz that refer back by more than `max_window_bytes`
  // (for zstd a power of two, at least 1 KiB) are refused. REQUIRES: codec is not none. Throws
  // bad_alloc.
  Decompressor(Codec codec, std::string path, std::size_t max_window_bytes = kMaxWindowBytes);
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  // Most bytes that a decompressor allocates: 64 KiB (gzip), 4 MiB (bzip2), two blocks and 1 MiB
  // (lz4: 9 MiB at most), the window and 1 MiB (zstd and xz; a frame states its window: 2 MiB for
  // zstd -3, 8 MiB for -19 and for xz -6, 64 MiB for xz -9). It allocates what it needs, and from
  // the heap.
  static std::size_t memory_bytes(Codec codec, std::size_t max_window_bytes = kMaxWindowBytes);

  // True if all bytes given have been used, and more are needed.
  bool wants_input() const;
  // The next bytes of the file, which must stay where they are until wants_input(). REQUIRES:
  // wants_input().
  void give(std::span<const std::byte> piece);
  // There are no more. REQUIRES: wants_input().
  void finish_input();

  // Fills `out` as far as the input given allows; returns the number of bytes. Less than asked for
  // only if wants_input() or at_end() holds then. Throws Error{bad_input} if the file is corrupt,
  // ends within a frame (or before the first, or without the empty block that ends a BGZF file), or
  // has something else after a frame (zeros may follow those of gzip, bzip2 and xz); its offset is
  // the byte of the compressed file up to which all is valid: the end of the file, the start of
  // what is no frame, or a byte at most one piece before what is corrupt. Throws Error{no_space} if
  // a window is too large.
  std::size_t read(std::span<std::byte> out);
  // The file is complete, and all of its content was read.
  bool at_end() const;
  // Bytes of the compressed file used so far.
  std::uint64_t bytes_used() const;

 private:
  class Stream;
  class GzipStream;
  class ZstdStream;
  class Lz4Stream;
  class Bzip2Stream;
  class XzStream;

  [[noreturn]] void fail(const std::string& message, std::uint64_t offset) const;
  void skip_padding();

  Codec codec_;
  std::string path_;
  std::size_t max_window_bytes_;
  std::unique_ptr<Stream> stream_;
  std::span<const std::byte> input_;
  bool input_finished_ = false;
  bool at_end_ = false;
  bool in_frame_ = false;
  bool may_hold_output_ = false;  // the last read filled all of its buffer
  std::uint64_t used_ = 0;
  std::uint64_t frame_start_ = 0;
  std::uint64_t frames_ = 0;
};

// Compression. Level 0 is the codec's own: 6 of gzip, 3 of zstd, 1 of lz4. Contexts belong to the
// calling thread, are made when first needed, and stay until it ends.

// Throws Error{usage} naming `option` unless `level` is 0 or one that the codec has: 1 to 9 of
// gzip, 1 to 19 of zstd, 1 to 12 of lz4.
void check_level(Codec codec, int level, std::string_view option);

// Most bytes of a thread's contexts for compressing blocks of up to `block_bytes` and decompressing
// scratch blocks. With blocks of 1 MiB: gzip 0.3 MiB; lz4 20 KiB, from level 3 on 260 KiB; zstd 0.7
// MiB at level 1, 1.4 MiB at 3, 13 MiB at 9, 18 MiB at 19. They come from the heap; the first 16
// KiB of lz4 from the stack.
std::size_t compress_memory_bytes(Codec codec, int level, std::size_t block_bytes);

// Most bytes that `bytes` become as a frame.
std::size_t frame_bound(Codec codec, std::size_t bytes);
// Compresses `in` to one frame in `out`, and returns its size. The frame lets a decompressor check
// the content. REQUIRES: codec is not none; out has room for frame_bound(in.size()) bytes.
std::size_t compress_frame(Codec codec, int level, std::span<const std::byte> in,
                           std::span<std::byte> out);

// The same for blocks without a frame's header and checksum, of lz4 and zstd, up to 1 GiB.
std::size_t block_bound(Codec codec, std::size_t bytes);
std::size_t compress_block(Codec codec, int level, std::span<const std::byte> in,
                           std::span<std::byte> out);
// False unless `in` is a block that becomes exactly out.size() bytes.
[[nodiscard]] bool decompress_block(Codec codec, std::span<const std::byte> in,
                                    std::span<std::byte> out);

}  // namespace xxl::io
