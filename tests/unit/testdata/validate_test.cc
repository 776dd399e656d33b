#include "testdata/validate.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "io_test_support.h"
#include "record/key_layout.h"
#include "testdata/generate.h"
#include "testdata/record_checksum.h"

namespace xxl {
namespace {

using Bytes = std::vector<std::byte>;

std::string text_of(const Bytes& data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

// The definition, for comparison.
ValidateReport slow_validate(const RecordFormat& format, const Bytes& data) {
  const KeyLayout layout(format);
  ValidateReport report;
  report.records = data.size() / format.record_bytes;
  report.checksum = sum_record_crcs(data.data(), report.records, format.record_bytes);
  for (std::uint64_t i = 1; i < report.records; ++i) {
    const std::byte* record = &data[i * format.record_bytes];
    const int order = layout.compare(record - format.record_bytes, record);
    if (order == 0) ++report.duplicate_keys;
    if (order <= 0) continue;
    if (report.unordered_records++ == 0) report.first_unordered = i;
  }
  return report;
}

void expect_equal(const ValidateReport& a, const ValidateReport& b, const std::string& what) {
  EXPECT_EQ(a.records, b.records) << what;
  EXPECT_EQ(checksum_text(a.checksum), checksum_text(b.checksum)) << what;
  EXPECT_EQ(a.duplicate_keys, b.duplicate_keys) << what;
  EXPECT_EQ(a.first_unordered, b.first_unordered) << what;
  EXPECT_EQ(a.unordered_records, b.unordered_records) << what;
}

ValidateReport validate_pipe(const RecordFormat& format, const std::string& path,
                             const Bytes& data) {
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { io::test::write_file(path, text_of(data)); });
  struct Finish {
    std::thread& writer;
    const std::string& path;
    ~Finish() {
      writer.join();
      std::filesystem::remove(path);
    }
  } finish{writer, path};
  return validate(format, path, 3);
}

// Validates `data` as a file and as a pipe, on one thread and on several.
void check(const RecordFormat& format, const Bytes& data, const std::string& what) {
  const io::test::TempDirectory directory;
  const ValidateReport expected = slow_validate(format, data);
  io::test::write_file(directory / "file", text_of(data));
  for (const unsigned parallel : {1u, 3u}) {
    expect_equal(validate(format, directory / "file", parallel), expected, what);
  }
  expect_equal(validate_pipe(format, directory / "pipe", data), expected, what + " in a pipe");
}

// `records` keys 0, 2, 4, ... as big-endian numbers at the start of the records.
Bytes ascending(const RecordFormat& format, std::uint64_t records) {
  Bytes data(records * format.record_bytes);
  Random random(3);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::uint64_t key = __builtin_bswap64(2 * i);
    std::memcpy(&data[i * format.record_bytes], &key, sizeof key);
  }
  return data;
}

void set_key(const RecordFormat& format, Bytes& data, std::uint64_t record, std::uint64_t key) {
  key = __builtin_bswap64(key);
  std::memcpy(&data[record * format.record_bytes], &key, sizeof key);
}

TEST(Validate, CountsAndSumsRecordsInOrder) {
  const RecordFormat format = parse_record_format("fixed:100");
  check(format, ascending(format, 50000), "ascending");
}

TEST(Validate, TakesEmptyFilesAndSingleRecords) {
  for (const char* name : {"u32", "u64", "kv64", "gensort", "fixed:7"}) {
    const RecordFormat format = parse_record_format(name);
    check(format, {}, "empty");
    check(format, Bytes(format.record_bytes), "one record");
  }
}

TEST(Validate, FindsDisorderWhereverItIs) {
  // Chunks hold as many records as fit in 1 MiB: plant around every edge that may be one.
  for (const char* name : {"gensort", "fixed:4096", "fixed:1000"}) {
    const RecordFormat format = parse_record_format(name);
    const std::uint64_t chunk = (1 << 20) / format.record_bytes;
    const std::uint64_t records = 2 * chunk + 3;
    const Bytes sorted = ascending(format, records);
    for (const std::uint64_t edge : {std::uint64_t{1}, chunk, 2 * chunk, records - 1}) {
      for (std::uint64_t place = edge - 1; place <= edge + 1 && place < records; ++place) {
        if (place == 0) continue;
        Bytes data = sorted;
        set_key(format, data, place, 2 * place - 3);
        check(format, data, "disorder at " + std::to_string(place));
      }
    }
  }
}

TEST(Validate, ReportsTheFirstOfManyDisorders) {
  const RecordFormat format = parse_record_format("gensort");
  Bytes data = ascending(format, 60000);
  for (std::uint64_t place = 59999; place > 12345; place -= 1117) set_key(format, data, place, 0);
  check(format, data, "many");
}

TEST(Validate, CountsDuplicateKeysAcrossChunks) {
  const RecordFormat format = parse_record_format("fixed:1000");
  RecordFormat by_8_bytes = format;
  by_8_bytes.key = {parse_key_field("0:bytes8", format)};
  const std::uint64_t chunk = (1 << 20) / 1000;
  Bytes data = ascending(format, 3 * chunk);
  for (const std::uint64_t place : {std::uint64_t{5}, chunk, chunk + 1, 2 * chunk}) {
    set_key(format, data, place, 2 * place - 2);
  }
  check(by_8_bytes, data, "duplicates");
}

TEST(Validate, AgreesWithTheDefinitionForEveryFormat) {
  for (const char* name : {"u32", "u64", "i32", "i64", "f32", "f64", "kv32", "kv64", "gensort",
                           "fixed:3", "fixed:5001"}) {
    const RecordFormat format = parse_record_format(name);
    Random random(5);
    Bytes data(3'000'000 / format.record_bytes * format.record_bytes);
    for (std::byte& byte : data) byte = static_cast<std::byte>(random() & random() & random());
    check(format, data, name);
  }
  RecordFormat format = parse_record_format("fixed:12");
  format.key = {parse_key_field("4:i16:desc", format), parse_key_field("0:f32be", format)};
  Random random(6);
  Bytes data(1'200'000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random() & 3);
  check(format, data, "two fields");
  for (const char* key : {"0:u32:desc", "0:f32:desc"}) {
    format = parse_record_format("kv32");
    format.key = {parse_key_field(key, format)};
    check(format, data, key);
  }
}

TEST(Validate, ComparesFloatsInTotalOrder) {
  const std::vector<float> ordered{-std::numeric_limits<float>::quiet_NaN(),
                                   -std::numeric_limits<float>::infinity(),
                                   -1.0f,
                                   -0.0f,
                                   0.0f,
                                   1.0f,
                                   std::numeric_limits<float>::infinity(),
                                   std::numeric_limits<float>::quiet_NaN()};
  Bytes data(ordered.size() * sizeof(float));
  std::memcpy(data.data(), ordered.data(), data.size());
  const io::test::TempDirectory directory;
  io::test::write_file(directory / "file", text_of(data));
  const ValidateReport report = validate(parse_record_format("f32"), directory / "file");
  EXPECT_EQ(report.unordered_records, 0u);
  EXPECT_EQ(report.duplicate_keys, 0u);
}

TEST(Validate, RefusesLeftOverBytes) {
  const RecordFormat format = parse_record_format("gensort");
  const io::test::TempDirectory directory;
  const Bytes data(1'500'017);
  io::test::write_file(directory / "file", text_of(data));
  const auto expect_refused = [&](const std::string& path, const auto& run) {
    try {
      run();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
      EXPECT_EQ(error.path(), path);
      EXPECT_EQ(error.offset(), 1'500'000u);
      EXPECT_NE(
          std::string(error.what()).find("the last 17 bytes are not a whole record of 100 bytes"),
          std::string::npos)
          << error.what();
    }
  };
  expect_refused(directory / "file", [&] { validate(format, directory / "file"); });
  expect_refused(directory / "pipe", [&] { validate_pipe(format, directory / "pipe", data); });
}

TEST(Validate, RefusesMissingFiles) {
  EXPECT_THROW(validate(parse_record_format("u64"), "/nonexistent/file"), Error);
}

TEST(Validate, FindsTheChecksumOfGenerate) {
  const io::test::TempDirectory directory;
  for (const char* name : {"gensort", "u64", "fixed:33"}) {
    GenerateOptions options;
    options.format = parse_record_format(name);
    options.records = 100000;
    options.checksum = true;
    options.output = directory / "file";
    const GenerateReport generated = generate(options);
    const ValidateReport report = validate(options.format, options.output);
    EXPECT_EQ(report.records, generated.records);
    EXPECT_EQ(checksum_text(report.checksum), checksum_text(generated.checksum));
  }
}

}  // namespace
}  // namespace xxl
