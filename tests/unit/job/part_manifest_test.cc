#include "job/part_manifest.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace xxl {
namespace {

std::string manifest_of(const std::string& files, const std::string& record = "csv",
                        const std::string& totals = "") {
  return R"({"format": "xxl parts 1", "record": ")" + record + R"(", )" + totals + R"("files": [)" +
         files + "]}";
}

std::string part(const std::string& file, const std::string& records = "1",
                 const std::string& checksum = "\"xxh3-4k:00000000000000ff\"") {
  return R"({"file": ")" + file + R"(", "records": )" + records + R"(, "bytes": 8, "checksum": )" +
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
    expect_refused(manifest_of(part("p", count)), "entry 1 of 'files': 'records' is not a count");
  }
}

TEST(PartManifest, checksums_are_hexadecimal) {
  for (const char* checksum : {R"("xxh3-4k:")", R"("xxh3-4k:-1")", R"("xxh3-4k: 1")",
                               R"("xxh3-4k:1g")", R"("xxh3-4k:10000000000000000")"}) {
    expect_refused(manifest_of(part("p", "1", checksum)), "'checksum' is malformed");
  }
  expect_refused(manifest_of(part("p", "1", R"("md5:00")")), "'checksum' is of an unknown kind");
}

TEST(PartManifest, each_file_is_one_of_the_directory) {
  for (const char* file : {"", ".", "..", "../x", "/x", "x/", "a/x", "a=b/..", "a=b/c=d/x",
                           "..=/../x", R"(x\u0000y)"}) {
    expect_refused(manifest_of(part(file)), "is not the name of a file in the directory");
  }
  expect_refused(manifest_of(part("p") + ", " + part("q") + ", " + part("p")),
                 "entry 3 of 'files': the same file as one before");
}

TEST(PartManifest, what_is_missing_or_of_another_type_is_named) {
  expect_refused("[]", "not an object with a member 'format'");
  expect_refused("{}", "no member 'format'");
  expect_refused(R"({"format": 1})", "'format' is not a text");
  expect_refused(R"({"format": "xxl parts 2"})", "'format' is not 'xxl parts 1'");
  expect_refused(R"({"format": "xxl parts 1"})", "no member 'record'");
  expect_refused(manifest_of("7"), "entry 1 of 'files': not an object with a member 'file'");
  expect_refused(manifest_of(part("p") + R"(, {"file": 7})"),
                 "entry 2 of 'files': 'file' is not a");
  for (const std::string none : {"0", "[]", "{}", "null"}) {
    expect_refused(R"({"format": "xxl parts 1", "record": "csv", "files": )" + none + "}",
                   "'files' is not a list of at least one file");
  }
}

TEST(PartManifest, text_that_is_not_json_is_refused_by_line_and_column) {
  expect_refused("", "line 1, column 1: not valid JSON");
  expect_refused("{\n \"format\": \"xxl parts 1\",\n x", "line 3, column 2: not valid JSON");
  expect_refused("{\"format\": 4" + std::string(400, '9') + "}", "a number in it is too large");
}

TEST(PartManifest, totals_are_those_of_all_files) {
  const std::string files = part("p") + ", " + part("q", "2");
  parse_manifest(manifest_of(files, "csv", R"("records": 3, "bytes": 16, )"), "manifest.json");
  expect_refused(manifest_of(files, "csv", R"("records": 4, )"),
                 "'records' is 4, but its files have 3");
  expect_refused(manifest_of(files, "csv", R"("bytes": 17, )"),
                 "'bytes' is 17, but its files have 16");
  expect_refused(manifest_of(files, "csv", R"("bytes": -1, )"), "'bytes' is not a count");
}

TEST(PartManifest, its_kind_of_records_fits_into_the_files) {
  for (const char* record : {"lines", "csv", "tsv", "parquet", "arrow", "u64", "kv32", "fixed:8"}) {
    parse_manifest(manifest_of(part("p"), record), "manifest.json");
  }
  parse_manifest(manifest_of(part("p", "1000"), "parquet"), "manifest.json");
  expect_refused(manifest_of(part("p", "9"), "lines"),
                 "p cannot have 9 records of lines in 8 bytes");
  expect_refused(manifest_of(part("p"), "u32"), "p cannot have 1 records of u32 in 8 bytes");
  expect_refused(manifest_of(part("p", "2"), "fixed:3"), "cannot have 2 records of fixed:3");
  expect_refused(manifest_of(part("p"), "rows"), "'record' is not a kind of records: 'rows'");
}

TEST(PartManifest, a_change_of_anything_is_noticed) {
  PartManifest manifest;
  manifest.record = "lines";
  manifest.parts = {{"part-00000", 2, 10, "a", "b\xff", 7}, {"part-00001", 1, 10, "c", "d", 7}};
  const std::string text = manifest.text();
  parse_manifest(text, "manifest.json");
  std::string spaced = text;
  spaced.insert(spaced.find("\"files\""), "\n\n  ");
  parse_manifest(spaced, "manifest.json");
  const auto change = [&](const std::string& what, const std::string& by) {
    std::string changed = text;
    changed.replace(changed.find(what), what.size(), by);
    expect_refused(changed, "changed after it was written");
  };
  change("\"lines\"", "\"csv\"");
  change("part-00001", "part-00002");
  change("\"a\"", "\"b\"");
  change("\"d\"", "\"e\"");
  change("xxh3-4k:0000000000000007", "xxh3-4k:0000000000000008");
}

// Whatever the keys: those of which each byte takes the most in JSON.
TEST(PartManifest, is_never_larger_than_one_that_is_read) {
  for (const auto& [parts, key_bytes] :
       {std::pair(kMostPartsOfLongKeys, kMostKeyBytes), std::pair(kMostParts, kShortKeyBytes)}) {
    const std::string key(key_bytes, '\1');
    const std::string file = std::string(255, 'x') + "/part-0.csv";
    const PartManifest::Part part{file, ~std::uint64_t{0}, ~std::uint64_t{0}, key,
                                  key,  ~std::uint64_t{0}};
    ManifestText one("lines", 1, 1), two("lines", 1, 1);
    one.add(part);
    two.add(part);
    two.add(part);
    const std::uint64_t first = std::move(one).finish().size();
    EXPECT_LE(first + (parts - 1) * (std::move(two).finish().size() - first), kMostManifestBytes);
  }
}

TEST(PartManifest, names_of_parts_have_their_number) {
  EXPECT_EQ(part_name(0), "part-00000");
  EXPECT_EQ(part_name(123456), "part-123456");
  EXPECT_EQ(ending_of_part("part-00012.parquet"), ".parquet");
  EXPECT_EQ(ending_of_part("part-123456"), "");
  EXPECT_EQ(ending_of_part("part-0.csv"), ".csv");
  EXPECT_EQ(name_in_directory(1), "part-1");
  EXPECT_FALSE(ending_of_part("part-x"));
  EXPECT_FALSE(ending_of_part("parts-00001"));
}

TEST(PartManifest, kinds_of_text_and_columns_have_endings) {
  EXPECT_EQ(part_ending("lines"), ".txt");
  EXPECT_EQ(part_ending("tsv"), ".tsv");
  EXPECT_EQ(part_ending("parquet"), ".parquet");
  EXPECT_EQ(part_ending("fixed:16"), "");
}

TEST(PartManifest, a_part_may_be_in_a_directory_of_a_value) {
  const std::string text = manifest_of(part("city=New York/part-0.csv"));
  EXPECT_EQ(parse_manifest(text, "_manifest.json").parts[0].file, "city=New York/part-0.csv");
}

TEST(PartManifest, an_empty_part_has_no_keys) {
  const PartManifest manifest = parse_manifest(manifest_of(part("p", "0")), "manifest.json");
  EXPECT_EQ(manifest.parts[0].first_key + manifest.parts[0].last_key, "");
}

}  // namespace
}  // namespace xxl
