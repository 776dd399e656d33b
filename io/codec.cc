#include "io/codec.h"

// For the memory that a context of zstd takes.
#define ZSTD_STATIC_LINKING_ONLY
#include <bzlib.h>
#include <lz4.h>
#include <lz4frame.h>
#include <lz4hc.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <utility>

#include "base/error.h"

namespace xxl::io {
namespace {

constexpr int kGzipWindow = 15;
constexpr int kGzipFormat = 16;  // added to the window: gzip, not zlib
constexpr int kGzipMemory = 8;
constexpr std::size_t kUsualWindowOfFrames =
    8 * kMiB;  // the largest of zstd up to -19, of xz up to -6
constexpr std::size_t kLargestLz4Block = 4 * kMiB;
constexpr int kFirstHighLevelOfLz4 = 3;  // as in the library's frames

int own_level(Codec codec) {
  return codec == Codec::gzip ? 6 : codec == Codec::zstd ? 3 : 1;
}
int max_level(Codec codec) {
  return codec == Codec::gzip ? 9 : codec == Codec::zstd ? 19 : 12;
}
int level_or_own(Codec codec, int level) {
  return level == 0 ? own_level(codec) : level;
}

constexpr std::size_t kZstdMagicBytes = 4;

// Frames of zstd before 0.8 (magic numbers fd2fb51e and fd2fb522 to fd2fb527), which the library
// may read, but not where the number comes in two pieces, and with no bound on the window.
bool is_old_zstd(std::span<const std::byte> in) {
  if (in.size() < kZstdMagicBytes) return false;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(in[i]); };
  return byte(3) == 0xfd && byte(2) == 0x2f && byte(1) == 0xb5 &&
         (byte(0) == 0x1e || (byte(0) >= 0x22 && byte(0) <= 0x27));
}

// zlib counts in 32 bits.
uInt chunk(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::size_t{1} << 30));
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

 protected:
  // The bytes that `call` used and made; its library keeps its place in `stream`.
  template <class Library, class Call>
  static Step step_of(Library& stream, std::span<const std::byte> in, std::span<std::byte> out,
                      Call&& call) {
    stream.next_in = reinterpret_cast<decltype(stream.next_in)>(const_cast<std::byte*>(in.data()));
    stream.next_out = reinterpret_cast<decltype(stream.next_out)>(out.data());
    const auto in_bytes = stream.avail_in = chunk(in.size());
    const auto out_bytes = stream.avail_out = chunk(out.size());
    call();
    Step step;
    step.used = in_bytes - stream.avail_in;
    step.made = out_bytes - stream.avail_out;
    return step;
  }
};

class Decompressor::GzipStream : public Stream {
 public:
  GzipStream() {
    if (inflateInit2(&stream_, kGzipWindow + kGzipFormat) != Z_OK) throw std::bad_alloc();
    begin_frame();
  }
  ~GzipStream() override { inflateEnd(&stream_); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) override {
    int result = Z_OK;
    Step step = step_of(stream_, in, out, [&] { result = inflate(&stream_, Z_NO_FLUSH); });
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
    Step step = step_of(stream_, in, out, [&] { result = BZ2_bzDecompress(&stream_); });
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
    Step step = step_of(stream_, in, out, [&] { result = lzma_code(&stream_, LZMA_RUN); });
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

Codec codec_of(std::string_view path) {
  constexpr std::pair<std::string_view, Codec> kSuffixes[] = {
      {".gz", Codec::gzip}, {".bgz", Codec::gzip},  {".zst", Codec::zstd},
      {".lz4", Codec::lz4}, {".bz2", Codec::bzip2}, {".xz", Codec::xz}};
  for (const auto& [suffix, codec] : kSuffixes) {
    if (path.ends_with(suffix)) return codec;
  }
  return Codec::none;
}

Codec output_codec_of(std::string_view path) {
  const Codec codec = codec_of(path);
  if (codec != Codec::bzip2 && codec != Codec::xz && !path.ends_with(".bgz")) return codec;
  throw Error(ErrorCode::usage,
              "such files are read, not written: give a name that ends in .gz, .zst or .lz4",
              std::string(path));
}

const char* codec_name(Codec codec) {
  static constexpr const char* kNames[] = {"none", "gzip", "zstd", "lz4", "bzip2", "xz"};
  return kNames[static_cast<std::size_t>(codec)];
}

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
  switch (codec) {
    case Codec::none:
      return 0;
    case Codec::gzip:
      return 64 * kKiB;
    case Codec::bzip2:
      return 4 * kMiB;
    case Codec::zstd:
    case Codec::xz:
      return max_window_bytes + kMiB;
    case Codec::lz4:
      return 2 * std::min(max_window_bytes, kLargestLz4Block) + kMiB;
  }
  return 0;
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

void check_level(Codec codec, int level, std::string_view option) {
  if (level >= 0 && level <= max_level(codec)) return;
  throw Error(ErrorCode::usage, "invalid " + std::string(option) + " " + std::to_string(level) +
                                    ": levels of " + codec_name(codec) + " are 1 to " +
                                    std::to_string(max_level(codec)));
}

std::size_t compress_memory_bytes(Codec codec, int level, std::size_t block_bytes) {
  level = level_or_own(codec, level);
  switch (codec) {
    case Codec::none:
    case Codec::bzip2:
    case Codec::xz:
      break;
    case Codec::gzip:
      // As zconf.h says, and the structures.
      return (std::size_t{1} << (kGzipWindow + 2)) + (std::size_t{1} << (kGzipMemory + 9)) +
             16 * kKiB;
    case Codec::zstd: {
      const ZSTD_compressionParameters parameters = ZSTD_getCParams(level, block_bytes, 0);
      return ZSTD_estimateCCtxSize_usingCParams(parameters) + ZSTD_estimateDCtxSize();
    }
    case Codec::lz4:
      return static_cast<std::size_t>(level < kFirstHighLevelOfLz4 ? LZ4_sizeofState()
                                                                   : LZ4_sizeofStateHC()) +
             4 * kKiB;
  }
  return 0;
}

namespace {

class GzipCompressor {
 public:
  GzipCompressor() = default;
  ~GzipCompressor() { close(); }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  std::size_t compress(int level, std::span<const std::byte> in, std::span<std::byte> out) {
    open(level);
    std::size_t used = 0, made = 0;
    int result = Z_OK;
    while (result == Z_OK) {
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + used));
      stream_.avail_in = chunk(in.size() - used);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + made);
      stream_.avail_out = chunk(out.size() - made);
      const uInt in_bytes = stream_.avail_in, out_bytes = stream_.avail_out;
      result = deflate(&stream_, used + in_bytes == in.size() ? Z_FINISH : Z_NO_FLUSH);
      used += in_bytes - stream_.avail_in;
      made += out_bytes - stream_.avail_out;
    }
    XXL_CHECK(result == Z_STREAM_END);
    return made;
  }

 private:
  void open(int level) {
    if (level == level_) {
      XXL_CHECK(deflateReset(&stream_) == Z_OK);
      return;
    }
    close();
    if (deflateInit2(&stream_, level, Z_DEFLATED, kGzipWindow + kGzipFormat, kGzipMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
    level_ = level;
  }

  void close() {
    if (level_ != 0) deflateEnd(&stream_);
    stream_ = {};
    level_ = 0;
  }

  z_stream stream_{};
  int level_ = 0;  // of the stream; 0: not open
};

struct ZstdDeleter {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::size_t compress_zstd(int level, bool checksum, std::span<const std::byte> in,
                          std::span<std::byte> out) {
  thread_local const std::unique_ptr<ZSTD_CCtx, ZstdDeleter> context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksum ? 1 : 0);
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), in.data(), in.size());
  if (ZSTD_isError(size) != 0 && ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) {
    throw std::bad_alloc();
  }
  XXL_CHECK(ZSTD_isError(size) == 0);
  return size;
}

LZ4F_preferences_t lz4_preferences(int level, std::size_t bytes) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max1MB;
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  preferences.frameInfo.contentSize = bytes;
  preferences.compressionLevel = level < kFirstHighLevelOfLz4 ? 0 : level;
  return preferences;
}

int as_int(std::size_t bytes) {
  XXL_CHECK(bytes <= kGiB + kGiB / 2);
  return static_cast<int>(bytes);
}

}  // namespace

std::size_t frame_bound(Codec codec, std::size_t bytes) {
  switch (codec) {
    case Codec::none:
    case Codec::bzip2:
    case Codec::xz:
      return bytes;
    case Codec::gzip:
      // What deflateBound() says of an unknown stream, plus header and trailer.
      return bytes + (bytes + 7) / 8 + (bytes + 63) / 64 + 64;
    case Codec::zstd:
      return ZSTD_compressBound(bytes);
    case Codec::lz4: {
      const LZ4F_preferences_t preferences = lz4_preferences(1, bytes);
      return LZ4F_compressFrameBound(bytes, &preferences);
    }
  }
  return 0;
}

std::size_t compress_frame(Codec codec, int level, std::span<const std::byte> in,
                           std::span<std::byte> out) {
  XXL_CHECK(codec != Codec::none && out.size() >= frame_bound(codec, in.size()));
  level = level_or_own(codec, level);
  if (codec == Codec::zstd) return compress_zstd(level, true, in, out);
  if (codec == Codec::gzip) {
    thread_local GzipCompressor compressor;
    return compressor.compress(level, in, out);
  }
  const LZ4F_preferences_t preferences = lz4_preferences(level, in.size());
  const std::size_t size =
      LZ4F_compressFrame(out.data(), out.size(), in.data(), in.size(), &preferences);
  if (LZ4F_isError(size) != 0 &&
      std::string_view(LZ4F_getErrorName(size)) == "ERROR_allocation_failed") {
    throw std::bad_alloc();
  }
  XXL_CHECK(LZ4F_isError(size) == 0);
  return size;
}

std::size_t block_bound(Codec codec, std::size_t bytes) {
  XXL_CHECK(codec == Codec::zstd || codec == Codec::lz4);
  if (codec == Codec::zstd) return ZSTD_compressBound(bytes);
  return static_cast<std::size_t>(LZ4_compressBound(as_int(bytes)));
}

std::size_t compress_block(Codec codec, int level, std::span<const std::byte> in,
                           std::span<std::byte> out) {
  XXL_CHECK(out.size() >= block_bound(codec, in.size()));
  level = level_or_own(codec, level);
  if (codec == Codec::zstd) return compress_zstd(level, false, in, out);
  const auto* from = reinterpret_cast<const char*>(in.data());
  auto* to = reinterpret_cast<char*>(out.data());
  // The bound is enough, and more than that is not needed.
  const int room = LZ4_compressBound(as_int(in.size()));
  const int size = level < kFirstHighLevelOfLz4
                       ? LZ4_compress_default(from, to, as_int(in.size()), room)
                       : LZ4_compress_HC(from, to, as_int(in.size()), room, level);
  if (size <= 0) throw std::bad_alloc();
  return static_cast<std::size_t>(size);
}

bool decompress_block(Codec codec, std::span<const std::byte> in, std::span<std::byte> out) {
  XXL_CHECK(codec == Codec::zstd || codec == Codec::lz4);
  if (codec == Codec::zstd) {
    thread_local const std::unique_ptr<ZSTD_DCtx, ZstdDeleter> context(ZSTD_createDCtx());
    if (context == nullptr) throw std::bad_alloc();
    return ZSTD_decompressDCtx(context.get(), out.data(), out.size(), in.data(), in.size()) ==
           out.size();
  }
  return LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()),
                             reinterpret_cast<char*>(out.data()), as_int(in.size()),
                             as_int(out.size())) == as_int(out.size());
}

}  // namespace xxl::io
