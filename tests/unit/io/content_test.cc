// What the first bytes of an input say that it is.
#include "io/content.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace xxl::io {
namespace {

using std::string_view_literals::operator""sv;

Codec codec_of_head(std::string_view head) {
  return recognize_content(std::as_bytes(std::span(head)), "in");
}

std::string refusal_of(std::string_view head) {
  try {
    codec_of_head(head);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

TEST(Content, IsCompressedWhereItBeginsLikeACompressedFile) {
  EXPECT_EQ(codec_of_head("\x1f\x8b\x08\x00\x00"sv), Codec::gzip);
  EXPECT_EQ(codec_of_head("\x28\xb5\x2f\xfd\x04"sv), Codec::zstd);
  EXPECT_EQ(codec_of_head("\x04\x22\x4d\x18\x64"sv), Codec::lz4);
  EXPECT_EQ(codec_of_head("\xfd\x37zXZ\x00\x00\x04"sv), Codec::xz);
  EXPECT_EQ(codec_of_head("BZh9\x31\x41\x59\x26\x53\x59\x12"sv), Codec::bzip2);
  EXPECT_EQ(codec_of_head("BZh1\x17\x72\x45\x38\x50\x90"sv), Codec::bzip2);  // of nothing
}

TEST(Content, OfTextIsNotCompressed) {
  for (const std::string_view text :
       {""sv, "a"sv, "BZh9 is a magic number\n"sv, "PAR1 is a gene\n"sv, "ARROW1 \n"sv, "PK\n"sv,
        "\xff\xff\xff\xff\n"sv, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv,
        "\x1f\x8b"sv}) {
    EXPECT_EQ(codec_of_head(text), Codec::none) << text;
  }
}

TEST(Content, OfTablesAndArchivesIsRefused) {
  EXPECT_EQ(refusal_of("PAR1\x15\x04\x15\x10"sv).substr(0, 22), "in: is a Parquet file,");
  EXPECT_EQ(refusal_of("ARROW1\x00\x00\xff\xff\xff\xff"sv).substr(0, 21), "in: is an Arrow file,");
  EXPECT_EQ(refusal_of("\xff\xff\xff\xff\x78\x00\x00\x00\x10\x00\x00\x00"sv).substr(0, 21),
            "in: is an Arrow file,");
  EXPECT_EQ(refusal_of("!<arch>\nmember"sv).substr(0, 20), "in: is an ar archive");
  std::string tar(512, '\0');
  tar.replace(0, 1, "f").replace(257, 5, "ustar");
  EXPECT_EQ(refusal_of(tar).substr(0, 20), "in: is a tar archive");
  EXPECT_EQ(refusal_of(std::string(257, 'x') + "ustar" + std::string(300, 'x')), "");
  EXPECT_EQ(refusal_of("PK\x03\x04\x14\x00"sv).substr(0, 20), "in: is a zip archive");
}

}  // namespace
}  // namespace xxl::io
