#include "engine/part_manifest.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace xxl {
namespace {

std::string manifest_of(const std::string& files) {
  return R"({"format": "xxl parts 1", "record": "csv", "files": [)" + files + "]}";
}

std::string part(const std::string& file, const std::string& records = "1",
                 const std::string& checksum = "\"xxh3-4k:00000000000000ff\"") {
  return R"({"file": ")" + file + R"(", "records": )" + records + R"(, "bytes": 2, "checksum": )" +
         checksum + R"(, "first_key": "a", "last_key": "b"})";
}

void expect_refused(const std::string& text, const std::string& why) {
  try {
    parse_manifest(text, "manifest.json");
    FAIL() << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(PartManifest, is_read_as_it_was_written) {
  PartManifest manifest;
  manifest.record = "lines";
  manifest.parts = {{"part-00000", 2, 10, "a", "\"b\"\n", ~std::uint64_t{0}},
                    {"part-00001", 0, 0, "", "", 0}};
  EXPECT_EQ(parse_manifest(manifest.text(), "manifest.json"), manifest);
}

TEST(PartManifest, counts_are_whole_numbers) {
  EXPECT_EQ(parse_manifest(manifest_of(part("p", "7")), "manifest.json").parts[0].records, 7u);
  for (const char* count : {"-1", "1.5", "1e30", "true", "\"1\"", "18446744073709551616", "null"}) {
    expect_refused(manifest_of(part("p", count)), "records is no count");
  }
}

TEST(PartManifest, checksums_are_hexadecimal) {
  for (const char* checksum : {R"("xxh3-4k:")", R"("xxh3-4k:-1")", R"("xxh3-4k: 1")",
                               R"("xxh3-4k:1g")", R"("xxh3-4k:10000000000000000")"}) {
    expect_refused(manifest_of(part("p", "1", checksum)), "malformed checksum");
  }
  expect_refused(manifest_of(part("p", "1", R"("md5:00")")), "unknown checksum");
}

TEST(PartManifest, each_file_is_one_of_the_directory) {
  for (const char* file : {"", ".", "..", "../x", "/x", R"(x\u0000y)"}) {
    expect_refused(manifest_of(part(file)), "outside of the directory");
  }
  expect_refused(manifest_of(part("p") + ", " + part("q") + ", " + part("p")), "twice");
}

TEST(PartManifest, an_empty_part_has_no_keys) {
  const PartManifest manifest = parse_manifest(manifest_of(part("p", "0")), "manifest.json");
  EXPECT_EQ(manifest.parts[0].first_key + manifest.parts[0].last_key, "");
}

}  // namespace
}  // namespace xxl
