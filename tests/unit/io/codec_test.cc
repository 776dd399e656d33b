// Compressed files and blocks, also those of the codecs' own programs.
#include "io/codec.h"

#include <bzlib.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace xxl::io {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Codec kCodecs[] = {Codec::gzip, Codec::zstd, Codec::lz4};
constexpr Codec kReadCodecs[] = {Codec::gzip, Codec::zstd, Codec::lz4, Codec::bzip2, Codec::xz};

// Half random, half repeated from up to `distance` bytes before.
Bytes make_content(std::size_t size, std::uint64_t seed, std::size_t distance = 100000) {
  Random random(seed);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size;) {
    const std::size_t length = std::min(size - i, 1 + random.below(40));
    const std::size_t back = random.below(2) == 0 ? 0 : random.below(std::min(i, distance) + 1);
    for (std::size_t end = i + length; i < end; ++i) {
      bytes[i] = back > 0 ? bytes[i - back] : static_cast<std::byte>(random.below(64));
    }
  }
  return bytes;
}

// A frame of a codec that xxl only reads.
Bytes frame_of_library(Codec codec, std::span<const std::byte> content) {
  Bytes frame(content.size() * 2 + 1024);
  std::size_t size = 0;
  if (codec == Codec::bzip2) {
    auto bytes = static_cast<unsigned>(frame.size());
    EXPECT_EQ(
        BZ2_bzBuffToBuffCompress(
            reinterpret_cast<char*>(frame.data()), &bytes,
            const_cast<char*>(content.empty() ? "" : reinterpret_cast<const char*>(content.data())),
            static_cast<unsigned>(content.size()), 9, 0, 0),
        BZ_OK);
    size = bytes;
  } else {
    EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                      reinterpret_cast<const std::uint8_t*>(content.data()),
                                      content.size(), reinterpret_cast<std::uint8_t*>(frame.data()),
                                      &size, frame.size()),
              LZMA_OK);
  }
  frame.resize(size);
  return frame;
}

Bytes frame_of(Codec codec, int level, std::span<const std::byte> content) {
  if (codec == Codec::bzip2 || codec == Codec::xz) return frame_of_library(codec, content);
  Bytes frame(frame_bound(codec, content.size()));
  frame.resize(compress_frame(codec, level, content, frame));
  return frame;
}

void append(Bytes& to, const Bytes& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// All of the content, through pieces and buffers of random sizes up to the ones given.
Bytes decompress(Codec codec, std::span<const std::byte> file, std::size_t piece_bytes = 1 << 20,
                 std::size_t buffer_bytes = 1 << 20,
                 std::size_t max_window_bytes = Decompressor::kMaxWindowBytes) {
  Random random(1);
  Decompressor decompressor(codec, "file", max_window_bytes);
  Bytes content;
  std::size_t given = 0;
  while (!decompressor.at_end()) {
    if (decompressor.wants_input()) {
      if (given == file.size()) {
        decompressor.finish_input();
      } else {
        // A copy of its own, so that reading beyond it is noticed.
        static Bytes piece;
        const std::size_t size = std::min(file.size() - given, 1 + random.below(piece_bytes));
        piece = Bytes(file.begin() + static_cast<long>(given),
                      file.begin() + static_cast<long>(given + size));
        decompressor.give(piece);
        given += size;
      }
    }
    const std::size_t most = 1 + random.below(buffer_bytes);
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(most);
    const std::size_t size = decompressor.read({buffer.get(), most});
    EXPECT_TRUE(size == most || decompressor.wants_input() || decompressor.at_end());
    content.insert(content.end(), buffer.get(), buffer.get() + size);
  }
  EXPECT_EQ(decompressor.bytes_used(), file.size());
  return content;
}

std::optional<Error> error_of(Codec codec, std::span<const std::byte> file) {
  try {
    decompress(codec, file, 1 << 20, 1 << 16);
  } catch (const Error& error) {
    return error;
  }
  return {};
}

// A directory of its own, removed at the end.
class Directory {
 public:
  Directory() {
    std::string name = std::filesystem::temp_directory_path() / "xxl-codec-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
}

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Bytes bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

int shell(const std::string& command) {
  return std::system(command.c_str());
}

TEST(Codec, FollowsFromTheNameOfTheFile) {
  EXPECT_EQ(codec_of("a.csv.gz"), Codec::gzip);
  EXPECT_EQ(codec_of("a.zst"), Codec::zstd);
  EXPECT_EQ(codec_of("dir.gz/a.lz4"), Codec::lz4);
  EXPECT_EQ(codec_of("a.bgz"), Codec::gzip);
  EXPECT_EQ(codec_of("a.bz2"), Codec::bzip2);
  EXPECT_EQ(codec_of("a.tsv.xz"), Codec::xz);
  EXPECT_EQ(codec_of("a.gzip"), Codec::none);
  EXPECT_EQ(codec_of("-"), Codec::none);
}

TEST(Codec, OutputsAreNotWrittenAsWhatCanOnlyBeRead) {
  EXPECT_EQ(output_codec_of("a.gz"), Codec::gzip);
  EXPECT_EQ(output_codec_of("a.bz"), Codec::none);
  for (const char* name : {"a.bz2", "a.xz", "a.bgz"}) {
    EXPECT_THROW(output_codec_of(name), Error) << name;
  }
}

TEST(Codec, ZerosAfterAFrameArePaddingOfSomeCodecs) {
  const Bytes content = make_content(3000, 8);
  for (const Codec codec : kReadCodecs) {
    SCOPED_TRACE(codec_name(codec));
    Bytes file = frame_of(codec, 0, content), both = content;
    file.resize(file.size() + 10240);
    if (codec == Codec::zstd || codec == Codec::lz4) {
      EXPECT_TRUE(error_of(codec, file));
      continue;
    }
    EXPECT_TRUE(decompress(codec, file) == content);
    EXPECT_TRUE(decompress(codec, file, 3, 50) == content);
    append(file, frame_of(codec, 0, content));
    append(both, content);
    EXPECT_TRUE(decompress(codec, file, 100, 1 << 20) == both);
    file.push_back(std::byte{1});
    EXPECT_TRUE(error_of(codec, file));
    EXPECT_TRUE(error_of(codec, Bytes(100)));  // zeros alone
  }
}

TEST(Codec, LevelsAreThoseOfTheCodec) {
  for (const Codec codec : kCodecs) {
    EXPECT_NO_THROW(check_level(codec, 0, "--level"));
    EXPECT_NO_THROW(check_level(codec, 9, "--level"));
    EXPECT_THROW(check_level(codec, -1, "--level"), Error);
    EXPECT_THROW(check_level(codec, 20, "--level"), Error);
  }
}

TEST(Codec, FramesBehindOneAnotherAreOneFile) {
  for (const Codec codec : kReadCodecs) {
    SCOPED_TRACE(codec_name(codec));
    Bytes content, file;
    int level = 0;
    for (const std::size_t size : {0, 1, 100000, 0, 1000000, 17}) {
      const Bytes block = make_content(size, size);
      append(content, block);
      append(file, frame_of(codec, level++, block));
    }
    EXPECT_TRUE(decompress(codec, file) == content);
    EXPECT_TRUE(decompress(codec, file, 5000, 100) == content);
    EXPECT_TRUE(decompress(codec, file, 3, 7000) == content);
    EXPECT_TRUE(decompress(codec, frame_of(codec, 0, {})).empty());
  }
}

TEST(Codec, ProgramsReadWhatIsWritten) {
  const Directory directory;
  for (const Codec codec : kCodecs) {
    Bytes content, file;
    for (const std::size_t size : {200000, 0, 2500000}) {
      const Bytes block = make_content(size, size + 1);
      append(content, block);
      append(file, frame_of(codec, 0, block));
    }
    write_file(directory / "file", file);
    const std::string name = codec_name(codec);
    EXPECT_EQ(shell(name + " -dc < " + (directory / "file") + " > " + (directory / "out")), 0);
    EXPECT_TRUE(read_file(directory / "out") == content) << name;
  }
}

// A gzip frame whose extra field says that it is a block of a BGZF file; its size there is not
// read.
Bytes block_of_bgzf(std::span<const std::byte> content) {
  constexpr std::size_t kHeaderBytes = 10, kFlags = 3;
  constexpr std::byte kHasExtra{4};
  constexpr std::string_view kExtra("\x06\0BC\x02\0\0\0", 8);
  Bytes block = frame_of(Codec::gzip, 0, content);
  block[kFlags] |= kHasExtra;
  const auto extra = std::as_bytes(std::span(kExtra));
  block.insert(block.begin() + kHeaderBytes, extra.begin(), extra.end());
  return block;
}

TEST(Codec, ABgzfFileEndsWithAnEmptyBlock) {
  const Bytes content = make_content(3000, 9);
  Bytes file = block_of_bgzf(content), both = content;
  append(file, block_of_bgzf(content));
  append(both, content);
  const auto error = error_of(Codec::gzip, file);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->offset(), file.size());
  EXPECT_THROW(decompress(Codec::gzip, file, 1, 50), Error);
  append(file, block_of_bgzf({}));
  EXPECT_TRUE(decompress(Codec::gzip, file) == both);
  EXPECT_TRUE(decompress(Codec::gzip, file, 3, 50) == both);
  append(file, frame_of(Codec::gzip, 0, content));  // of no BGZF file
  append(both, content);
  EXPECT_TRUE(decompress(Codec::gzip, file) == both);
}

TEST(Codec, WhatProgramsWriteIsRead) {
  const Directory directory;
  const Bytes content = make_content(2000000, 3, 1000000);
  const Bytes small = make_content(1000, 4);
  write_file(directory / "in", content);
  write_file(directory / "small", small);
  for (const char* command : {"gzip -1",
                              "gzip -9",
                              "gzip -c -n",
                              "zstd -1",
                              "zstd -12",
                              "zstd --long=27 -3",
                              "zstd --no-check",
                              "zstd -T2",
                              "lz4 -1",
                              "lz4 -9",
                              "lz4 -B4",
                              "lz4 -BD -B5",
                              "lz4 -BX",
                              "lz4 --no-frame-crc",
                              "lz4 --content-size",
                              "bzip2 -1",
                              "bzip2 -9",
                              "xz -0",
                              "xz -6",
                              "xz -9e",
                              "xz -T2 --block-size=65536",
                              "xz --check=crc32",
                              "xz --x86 --lzma2=dict=16MiB"}) {
    SCOPED_TRACE(command);
    const std::string out = directory / "out", run = command + std::string(" -c -q ");
    ASSERT_EQ(shell(run + (directory / "in") + " 2> /dev/null > " + out), 0);
    ASSERT_EQ(shell(run + (directory / "small") + " 2> /dev/null >> " + out), 0);
    const Codec codec = command[0] == 'g'   ? Codec::gzip
                        : command[0] == 'z' ? Codec::zstd
                        : command[0] == 'b' ? Codec::bzip2
                        : command[0] == 'x' ? Codec::xz
                                            : Codec::lz4;
    Bytes both = content;
    append(both, small);
    EXPECT_TRUE(decompress(codec, read_file(out)) == both);
    EXPECT_TRUE(decompress(codec, read_file(out), 10000, 10000) == both);
  }
}

TEST(Codec, TruncatedFilesAreNoticedAtEveryByte) {
  for (const Codec codec : kReadCodecs) {
    SCOPED_TRACE(codec_name(codec));
    const Bytes frame = frame_of(codec, 0, make_content(300, 5));
    Bytes file = frame;
    append(file, frame);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const std::optional<Error> error = error_of(codec, std::span(file).first(size));
      ASSERT_EQ(error.has_value(), size != frame.size()) << size;
      if (!error) continue;
      EXPECT_EQ(error->code(), ErrorCode::bad_input);
      EXPECT_EQ(error->offset(), size);
      EXPECT_EQ(error->path(), "file");
    }
    EXPECT_EQ(std::string(error_of(codec, {})->what()),
              std::string("file: byte 0: the file is empty, not a ") + codec_name(codec) + " file");
  }
}

TEST(Codec, AnythingBehindTheLastFrameIsAnError) {
  for (const Codec codec : kReadCodecs) {
    SCOPED_TRACE(codec_name(codec));
    Bytes file = frame_of(codec, 0, make_content(300, 6));
    const std::size_t frame_bytes = file.size();
    for (const char c : std::string("garbage behind it")) file.push_back(static_cast<std::byte>(c));
    const std::optional<Error> error = error_of(codec, file);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::bad_input);
    EXPECT_EQ(error->offset(), frame_bytes);
    EXPECT_NE(std::string(error->what()).find("after the end of the compressed content"),
              std::string::npos);
    const std::optional<Error> other = error_of(codec, std::span(file).subspan(frame_bytes));
    ASSERT_TRUE(other);
    EXPECT_EQ(std::string(other->what()),
              std::string("file: byte 0: not a ") + codec_name(codec) + " file");
  }
}

TEST(Codec, ChangedBytesAreNoticed) {
  for (const Codec codec : kReadCodecs) {
    SCOPED_TRACE(codec_name(codec));
    const Bytes content = make_content(2000, 7);
    const Bytes frame = frame_of(codec, 0, content);
    for (std::size_t i = 0; i < frame.size(); ++i) {
      for (const unsigned bit : {0u, 5u, 7u}) {
        Bytes changed = frame;
        changed[i] ^= static_cast<std::byte>(1u << bit);
        try {
          // Some bits make no difference: time and system in a header, what fills up a byte.
          ASSERT_TRUE(decompress(codec, changed, 1 << 20, 1 << 12) == content) << i;
        } catch (const Error& error) {
          ASSERT_TRUE(error.code() == ErrorCode::bad_input || error.code() == ErrorCode::no_space);
          ASSERT_LE(error.offset(), changed.size());
        }
      }
    }
  }
}

TEST(Codec, LargeWindowsAreRefused) {
  const Directory directory;
  write_file(directory / "in", make_content(4000000, 8));
  ASSERT_EQ(shell("zstd -q -19 -c " + (directory / "in") + " > " + (directory / "out")), 0);
  const Bytes file = read_file(directory / "out");
  EXPECT_EQ(decompress(Codec::zstd, file, 1 << 20, 1 << 20, 8 * kMiB).size(), 4000000u);
  try {
    decompress(Codec::zstd, file, 1 << 20, 1 << 20, kMiB);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    EXPECT_STREQ(error.what(),
                 "file: byte 0: this frame needs a window of more than 1 MiB to decompress: pipe "
                 "the file through zstd -dc");
  }
  ASSERT_EQ(shell("xz -9 -c " + (directory / "in") + " > " + (directory / "out")), 0);
  const Bytes xz = read_file(directory / "out");
  const auto head = std::span(xz).first(Decompressor::kHeadBytes);
  const std::size_t window = Decompressor::window_bytes(Codec::xz, head);
  EXPECT_GE(window, 64 * kMiB);
  EXPECT_LT(window, 65 * kMiB);
  EXPECT_EQ(decompress(Codec::xz, xz, 1 << 20, 1 << 20, window).size(), 4000000u);
  EXPECT_THROW(decompress(Codec::xz, xz, 1 << 20, 1 << 20, 8 * kMiB), Error);
}

// Formats before zstd 0.8, of which libzstd takes any window, and only if the magic number comes in
// one piece.
TEST(Codec, OldFramesOfZstdAreRefused) {
  Bytes file(frame_bound(Codec::zstd, 0));
  file.resize(compress_frame(Codec::zstd, 0, {}, file));
  const std::size_t start = file.size();
  for (const unsigned char byte : {0x26, 0xb5, 0x2f, 0xfd, 0x0a, 0xc9, 0xf9, 0x60}) {
    file.push_back(std::byte{byte});
  }
  for (const unsigned char version : {0x1e, 0x22, 0x27}) {
    file[start] = std::byte{version};
    try {
      decompress(Codec::zstd, file, 1000, 1000);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.offset(), start);
      EXPECT_NE(std::string(error.what()).find("before zstd 0.8"), std::string::npos);
    }
    EXPECT_THROW(decompress(Codec::zstd, file, 1, 1000), Error);
  }
  // Behind a byte that is no frame.
  Decompressor decompressor(Codec::zstd, "file");
  Bytes content(1000);
  decompressor.give(std::span(file).subspan(start - 1, 1));
  decompressor.read(content);
  decompressor.give(std::span(file).subspan(start));
  EXPECT_THROW(decompressor.read(content), Error);
}

TEST(Codec, BlocksComeBack) {
  for (const Codec codec : {Codec::zstd, Codec::lz4}) {
    for (const int level : {0, 1, 3, 9}) {
      for (const std::size_t size : {0, 1, 1000, 1000000}) {
        const Bytes content = make_content(size, size);
        Bytes block(block_bound(codec, size));
        block.resize(compress_block(codec, level, content, block));
        Bytes back(size);
        ASSERT_TRUE(decompress_block(codec, block, back));
        EXPECT_TRUE(back == content);
        back.push_back({});
        EXPECT_FALSE(decompress_block(codec, block, back));
        if (size < 2) continue;
        EXPECT_LT(block.size(), size);
        EXPECT_FALSE(decompress_block(codec, block, std::span(back).first(size - 1)));
        EXPECT_FALSE(decompress_block(codec, std::span(block).first(block.size() / 2),
                                      std::span(back).first(size)));
      }
    }
  }
}

}  // namespace
}  // namespace xxl::io
