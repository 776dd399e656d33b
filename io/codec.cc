#include "io/codec.h"

// For the memory that a context of zstd takes.
#define ZSTD_STATIC_LINKING_ONLY
#include <lz4.h>
#include <lz4frame.h>
#include <lz4hc.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <new>
#include <utility>

#include "base/error.h"
#include "io/library_step.h"

namespace xxl::io {
namespace {

constexpr int kGzipWindow = 15;
constexpr int kGzipFormat = 16;  // added to the window: gzip, not zlib
constexpr int kGzipMemory = 8;
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

void check_level(Codec codec, int level, std::string_view option) {
  if (level >= 0 && level <= max_level(codec)) return;
  throw Error(ErrorCode::usage, "invalid " + std::string(option) + " " + std::to_string(level) +
                                    ": levels of " + codec_name(codec) + " are 1 to " +
                                    std::to_string(max_level(codec)));
}

std::size_t compress_memory_bytes(Codec codec, int level, std::size_t block_bytes) {
  level = level_or_own(codec, level);
  if (codec == Codec::gzip) {
    // As zconf.h says, and the structures.
    return (std::size_t{1} << (kGzipWindow + 2)) + (std::size_t{1} << (kGzipMemory + 9)) +
           16 * kKiB;
  }
  if (codec == Codec::zstd) {
    const ZSTD_compressionParameters parameters = ZSTD_getCParams(level, block_bytes, 0);
    return ZSTD_estimateCCtxSize_usingCParams(parameters) + ZSTD_estimateDCtxSize();
  }
  if (codec != Codec::lz4) return 0;
  const int state = level < kFirstHighLevelOfLz4 ? LZ4_sizeofState() : LZ4_sizeofStateHC();
  return static_cast<std::size_t>(state) + 4 * kKiB;
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
      const auto [in_bytes,
                  out_bytes] = library_step(stream_, in.subspan(used), out.subspan(made), [&] {
        result = deflate(&stream_, used + stream_.avail_in == in.size() ? Z_FINISH : Z_NO_FLUSH);
      });
      used += in_bytes;
      made += out_bytes;
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
  // deflateBound() of a stream with any settings, plus header and trailer.
  if (codec == Codec::gzip) return bytes + (bytes + 7) / 8 + (bytes + 63) / 64 + 64;
  if (codec == Codec::zstd) return ZSTD_compressBound(bytes);
  if (codec != Codec::lz4) return bytes;
  const LZ4F_preferences_t preferences = lz4_preferences(1, bytes);
  return LZ4F_compressFrameBound(bytes, &preferences);
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
