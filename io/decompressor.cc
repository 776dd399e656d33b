// The decompressor of codec.h.
#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
// For the header of a frame of zstd.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/error.h"
#include "io/codec.h"
#include "io/library_step.h"

namespace xxl::io {
namespace {

constexpr int kGzipWindowBits = MAX_WBITS + 16;         // as zlib has it for gzip's own format
constexpr std::size_t kUsualWindowOfFrames = 8 * kMiB;  // at most, up to zstd -19 and xz -6
constexpr std::size_t kLargestLz4Block = 4 * kMiB;
constexpr std::size_t kZstdMagicBytes = 4;

// Frames of zstd before 0.8 (magic numbers fd2fb51e and fd2fb522 to fd2fb527), which the library
// may read, but not where the number comes in two pieces, and with no bound on the window.
bool is_old_zstd(std::span<const std::byte> in) {
  if (in.size() < kZstdMagicBytes) return false;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(in[i]); };
  return byte(3) == 0xfd && byte(2) == 0x2f && byte(1) == 0xb5 &&
         (byte(0) == 0x1e || (byte(0) >= 0x22 && byte(0) <= 0x27));
}

}  // namespace

// One codec's part: takes bytes of the input, puts bytes of the output.
class Decompressor::Stream {
 public:
  enum class Outcome { working, frame_done, not_a_frame, too_old, window_too_large, corrupt };
  struct Step {
    Outcome outcome = Outcome::working;
    std::size_t used = 0;
    std::size_t made = 0;
    std::string why;  // corrupt
  };

  Stream() = default;
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // Does as much as one call of the library. After frame_done, the next frame begins. `in` may be
  // empty, to get output that is still held.
  virtual Step step(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  // Whether an empty frame has to follow the last one, at the end of the file.
  virtual bool lacks_last_frame() const { return false; }
};

class Decompressor::GzipStream : public Stream {
 public:
  GzipStream() {
    if (inflateInit2(&stream_, kGzipWindowBits) != Z_OK) throw std::bad_alloc();
    begin_frame();
  }
  ~GzipStream() override { inflateEnd(&stream_); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    int result = Z_OK;
    const auto [used, made] =
        library_step(stream_, in, out, [&] { result = inflate(&stream_, Z_NO_FLUSH); });
    Step step{Outcome::working, used, made, {}};
    if (result == Z_STREAM_END) {
      step.outcome = Outcome::frame_done;
      lacks_last_frame_ = is_block_of_bgzf() && stream_.total_out > 0;
      inflateReset(&stream_);
      begin_frame();
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      constexpr uLong kMagicBytes = 2;
      step.outcome = stream_.total_in <= kMagicBytes ? Outcome::not_a_frame : Outcome::corrupt;
      step.why = stream_.msg != nullptr ? stream_.msg : "needs a dictionary";
    }
    return step;
  }

  bool lacks_last_frame() const override { return lacks_last_frame_; }

 private:
  void begin_frame() {
    header_ = {};
    header_.extra = extra_;
    header_.extra_max = sizeof(extra_);
    inflateGetHeader(&stream_, &header_);
  }

  // SAM format specification, section 4.1: each block has its size in an extra field "BC", and an
  // empty block ends the file.
  bool is_block_of_bgzf() const {
    constexpr uInt kFieldBytes = 6;
    return header_.extra != nullptr && header_.extra_len >= kFieldBytes && extra_[0] == 'B' &&
           extra_[1] == 'C';
  }

  z_stream stream_{};
  gz_header header_{};
  Bytef extra_[8] = {};
  bool lacks_last_frame_ = false;
};

class Decompressor::ZstdStream : public Stream {
 public:
  explicit ZstdStream(std::size_t max_window_bytes) : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax,
                           static_cast<int>(std::bit_width(max_window_bytes)) - 1);
  }
  ~ZstdStream() override { ZSTD_freeDCtx(context_); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    if (frame_bytes_ <= kZstdMagicBytes && is_old_zstd(in)) return {Outcome::too_old, 0, 0, {}};
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(context_, &to, &from);
    Step step{Outcome::working, from.pos, to.pos, {}};
    frame_bytes_ += from.pos;
    if (result == 0) {
      step.outcome = Outcome::frame_done;
      frame_bytes_ = 0;
    } else if (ZSTD_isError(result) != 0) {
      const ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
      if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
      step.outcome = code == ZSTD_error_prefix_unknown                  ? Outcome::not_a_frame
                     : code == ZSTD_error_frameParameter_windowTooLarge ? Outcome::window_too_large
                                                                        : Outcome::corrupt;
      step.why = ZSTD_getErrorString(code);
    }
    return step;
  }

 private:
  ZSTD_DCtx* context_;
  std::uint64_t frame_bytes_ = 0;  // of this frame, so far
};

class Decompressor::Lz4Stream : public Stream {
 public:
  Lz4Stream() {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) != 0) {
      throw std::bad_alloc();
    }
  }
  ~Lz4Stream() override { LZ4F_freeDecompressionContext(context_); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    std::size_t used = in.size(), made = out.size();
    const std::size_t result =
        LZ4F_decompress(context_, out.data(), &made, in.data(), &used, nullptr);
    if (LZ4F_isError(result) == 0) {
      return {result == 0 ? Outcome::frame_done : Outcome::working, used, made, {}};
    }
    const std::string_view name = LZ4F_getErrorName(result);
    if (name == "ERROR_allocation_failed") throw std::bad_alloc();
    return {name == "ERROR_frameType_unknown" ? Outcome::not_a_frame : Outcome::corrupt, 0, 0,
            std::string(name)};
  }

 private:
  LZ4F_dctx* context_ = nullptr;
};

class Decompressor::Bzip2Stream : public Stream {
 public:
  Bzip2Stream() { begin(); }
  ~Bzip2Stream() override { BZ2_bzDecompressEnd(&stream_); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    int result = BZ_OK;
    const auto [used, made] =
        library_step(stream_, in, out, [&] { result = BZ2_bzDecompress(&stream_); });
    Step step{Outcome::working, used, made, {}};
    if (result == BZ_STREAM_END) {
      step.outcome = Outcome::frame_done;
      BZ2_bzDecompressEnd(&stream_);
      begin();
    } else if (result == BZ_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != BZ_OK) {
      step.outcome = result == BZ_DATA_ERROR_MAGIC ? Outcome::not_a_frame : Outcome::corrupt;
      step.why = "its checksum or structure is wrong";
    }
    return step;
  }

 private:
  void begin() {
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }

  bz_stream stream_{};
};

class Decompressor::XzStream : public Stream {
 public:
  explicit XzStream(std::size_t max_window_bytes)
      : memory_bytes_(memory_bytes(Codec::xz, max_window_bytes)) {
    begin();
  }
  ~XzStream() override { lzma_end(&stream_); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    lzma_ret result = LZMA_OK;
    const auto [used, made] =
        library_step(stream_, in, out, [&] { result = lzma_code(&stream_, LZMA_RUN); });
    Step step{Outcome::working, used, made, {}};
    if (result == LZMA_STREAM_END) {
      step.outcome = Outcome::frame_done;
      begin();
    } else if (result == LZMA_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != LZMA_OK && result != LZMA_BUF_ERROR) {
      step.outcome = result == LZMA_FORMAT_ERROR     ? Outcome::not_a_frame
                     : result == LZMA_MEMLIMIT_ERROR ? Outcome::window_too_large
                                                     : Outcome::corrupt;
      step.why = result == LZMA_OPTIONS_ERROR ? "it has a filter or check that this liblzma lacks"
                                              : "its checksum or structure is wrong";
    }
    return step;
  }

 private:
  void begin() {
    if (lzma_stream_decoder(&stream_, memory_bytes_, 0) != LZMA_OK) throw std::bad_alloc();
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::uint64_t memory_bytes_;
};

namespace {

// The dictionary of the first block of an xz file; the usual one if `head` does not hold its
// header.
std::size_t xz_dictionary_bytes(std::span<const std::byte> head) {
  if (head.size() <= LZMA_STREAM_HEADER_SIZE) return kUsualWindowOfFrames;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(head.data());
  lzma_filter filters[LZMA_FILTERS_MAX + 1];
  lzma_stream_flags flags;
  lzma_block block{};
  block.filters = filters;
  block.header_size = lzma_block_header_size_decode(bytes[LZMA_STREAM_HEADER_SIZE]);
  if (LZMA_STREAM_HEADER_SIZE + block.header_size > head.size() ||
      lzma_stream_header_decode(&flags, bytes) != LZMA_OK) {
    return kUsualWindowOfFrames;
  }
  block.check = flags.check;
  if (lzma_block_header_decode(&block, nullptr, bytes + LZMA_STREAM_HEADER_SIZE) != LZMA_OK) {
    return kUsualWindowOfFrames;
  }
  const std::uint64_t memory = lzma_raw_decoder_memusage(filters);
  lzma_filters_free(filters, nullptr);
  return memory == UINT64_MAX ? kUsualWindowOfFrames : static_cast<std::size_t>(memory);
}

}  // namespace

Decompressor::Decompressor(Codec codec, std::string path, std::size_t max_window_bytes)
    : codec_(codec), path_(std::move(path)), max_window_bytes_(max_window_bytes) {
  XXL_CHECK(codec != Codec::none && max_window_bytes >= kKiB);
  if (codec == Codec::gzip) stream_ = std::make_unique<GzipStream>();
  if (codec == Codec::zstd) stream_ = std::make_unique<ZstdStream>(max_window_bytes);
  if (codec == Codec::lz4) stream_ = std::make_unique<Lz4Stream>();
  if (codec == Codec::bzip2) stream_ = std::make_unique<Bzip2Stream>();
  if (codec == Codec::xz) stream_ = std::make_unique<XzStream>(max_window_bytes);
}

Decompressor::~Decompressor() = default;
Decompressor::Decompressor(Decompressor&&) noexcept = default;
Decompressor& Decompressor::operator=(Decompressor&&) noexcept = default;

std::size_t Decompressor::window_bytes(Codec codec, std::span<const std::byte> head) {
  if (codec == Codec::zstd) {
    ZSTD_frameHeader header;
    if (ZSTD_getFrameHeader(&header, head.data(), head.size()) == 0 &&
        header.frameType == ZSTD_frame) {
      return std::bit_ceil(std::max<std::size_t>(header.windowSize, kKiB));
    }
    return kUsualWindowOfFrames;
  }
  if (codec == Codec::xz) return xz_dictionary_bytes(head);
  if (codec != Codec::lz4) return kKiB;
  // Magic number, flags, and a byte whose bits 4 to 6 say how large blocks are.
  constexpr std::size_t kSizeByte = 5;
  constexpr unsigned kSmallest = 4;  // 64 KiB; each further one is four times as large
  if (head.size() <= kSizeByte) return kLargestLz4Block;
  const unsigned size = (std::to_integer<unsigned>(head[kSizeByte]) >> 4) & 7;
  return size < kSmallest ? kLargestLz4Block : (64 * kKiB) << (2 * (size - kSmallest));
}

std::size_t Decompressor::memory_bytes(Codec codec, std::size_t max_window_bytes) {
  if (codec == Codec::none) return 0;
  if (codec == Codec::gzip) return 64 * kKiB;
  if (codec == Codec::bzip2) return 4 * kMiB;
  if (codec == Codec::lz4) return 2 * std::min(max_window_bytes, kLargestLz4Block) + kMiB;
  return max_window_bytes + kMiB;
}

bool Decompressor::wants_input() const {
  return input_.empty() && !input_finished_ && !may_hold_output_;
}

void Decompressor::give(std::span<const std::byte> piece) {
  XXL_CHECK(wants_input());
  input_ = piece;
}

void Decompressor::finish_input() {
  XXL_CHECK(wants_input());
  input_finished_ = true;
  at_end_ = frames_ > 0 && !in_frame_ && !stream_->lacks_last_frame();
}

bool Decompressor::at_end() const {
  return at_end_;
}

std::uint64_t Decompressor::bytes_used() const {
  return used_;
}

void Decompressor::fail(const std::string& message, std::uint64_t offset) const {
  throw Error(ErrorCode::bad_input, message, path_, offset);
}

// Zeros after a frame are no frame: gzip, bzip2 and xz allow them, to fill up a tape or sector.
void Decompressor::skip_padding() {
  const bool may_be_padded = codec_ == Codec::gzip || codec_ == Codec::bzip2 || codec_ == Codec::xz;
  if (in_frame_ || frames_ == 0 || !may_be_padded) return;
  const auto end = std::find_if(input_.begin(), input_.end(),
                                [](std::byte byte) { return byte != std::byte{0}; });
  const auto zeros = static_cast<std::size_t>(end - input_.begin());
  used_ += zeros;
  input_ = input_.subspan(zeros);
}

std::size_t Decompressor::read(std::span<std::byte> out) {
  using Outcome = Stream::Outcome;
  const std::string name = codec_name(codec_);
  std::size_t filled = 0;
  while (filled < out.size() && !at_end_) {
    skip_padding();
    if (input_.empty() && !may_hold_output_) {
      if (!input_finished_) break;
      fail(used_ == 0                    ? "the file is empty, not a " + name + " file"
           : stream_->lacks_last_frame() ? "the file is truncated: a BGZF file ends with an empty "
                                           "block, which is missing"
                                         : "the " + name + " file is truncated",
           used_);
    }
    if (!in_frame_) {
      in_frame_ = true;
      frame_start_ = used_;
    }
    const std::span<std::byte> room = out.subspan(filled);
    const Stream::Step step = stream_->step(input_, room);
    used_ += step.used;
    input_ = input_.subspan(step.used);
    filled += step.made;
    switch (step.outcome) {
      case Outcome::working:
        // Nothing used, and room left: more input is needed, and all given has been used.
        may_hold_output_ = step.made == room.size();
        if (step.used == 0 && step.made == 0 && !input_.empty()) {
          fail("the " + name + " file is corrupt: no progress", used_);
        }
        break;
      case Outcome::frame_done:
        may_hold_output_ = false;
        in_frame_ = false;
        ++frames_;
        at_end_ = input_finished_ && input_.empty() && !stream_->lacks_last_frame();
        break;
      case Outcome::not_a_frame:
        fail(frames_ == 0 ? "not a " + name + " file"
                          : "something after the end of the compressed content that is not a " +
                                name + " frame",
             frame_start_);
      case Outcome::too_old:
        fail("this frame is of a format before zstd 0.8: pipe the file through zstd -dc",
             frame_start_);
      case Outcome::window_too_large:
        throw Error(ErrorCode::no_space,
                    "this frame needs a window of more than " + format_bytes(max_window_bytes_) +
                        " to decompress: pipe the file through " + name + " -dc",
                    path_, frame_start_);
      case Outcome::corrupt:
        fail("the " + name + " file is corrupt: " + step.why, used_);
    }
  }
  return filled;
}

}  // namespace xxl::io
