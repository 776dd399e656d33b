#include "testdata/generate.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/machine_limits.h"
#include "io_test_support.h"
#include "job/chunk_threads.h"
#include "record/key_layout.h"
#include "testdata/distributions.h"
#include "testdata/gensort.h"
#include "testdata/record_checksum.h"

namespace xxl {
namespace {

using Bytes = std::vector<std::byte>;

// CRC by the definition, one bit at a time.
std::uint32_t slow_crc32(const std::byte* data, std::size_t bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (std::size_t i = 0; i < bytes; ++i) {
    crc ^= std::to_integer<std::uint32_t>(data[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

GenerateOptions options_for(const std::string& format, std::uint64_t records,
                            const std::string& distribution = "uniform") {
  GenerateOptions options;
  options.format = parse_record_format(format);
  options.records = records;
  options.total_records = records;
  if (format != "gensort") parse_distribution(distribution, options);
  return options;
}

Bytes distributed(const GenerateOptions& options) {
  Bytes data(options.records * options.format.record_bytes);
  DistributedRecords(options).fill(static_cast<std::uint64_t>(options.first_record),
                                   options.records, data.data());
  return data;
}

template <class Key>
std::vector<Key> keys(const std::string& format, std::uint64_t records,
                      const std::string& distribution) {
  const GenerateOptions options = options_for(format, records, distribution);
  const Bytes data = distributed(options);
  std::vector<Key> result(records);
  for (std::size_t i = 0; i < records; ++i) {
    std::memcpy(&result[i], &data[i * options.format.record_bytes], sizeof(Key));
  }
  return result;
}

// How records i - 1 and i of `data` compare, for all i > 0: every number occurs in the result once.
std::set<int> orders(const Bytes& data, const RecordFormat& format) {
  const KeyLayout layout(format);
  std::set<int> result;
  for (std::size_t at = format.record_bytes; at < data.size(); at += format.record_bytes) {
    const int order = layout.compare(&data[at - format.record_bytes], &data[at]);
    result.insert((order > 0) - (order < 0));
  }
  return result;
}

TEST(RecordChecksum, IsTheSumOfTheCrcOfEachRecord) {
  const std::string digits = "123456789";
  EXPECT_EQ(sum_record_crcs(reinterpret_cast<const std::byte*>(digits.data()), 1, 9), 0xcbf43926u);
  Random random(1);
  Bytes data(3000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  for (std::size_t record_bytes = 1; record_bytes <= 131; ++record_bytes) {
    for (const std::size_t count : {0, 1, 3, 4, 5, 22}) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        sum += slow_crc32(&data[i * record_bytes], record_bytes);
      }
      EXPECT_EQ(sum_record_crcs(data.data(), count, record_bytes), sum)
          << count << " records of " << record_bytes;
    }
  }
}

struct GensortVector {
  GensortKind kind;
  std::uint64_t checksum;
  std::uint32_t file_crc;
};

TEST(Gensort, MakesThePublishedRecords) {
  const std::array<GensortVector, 4> vectors{{{{false, false}, 0x1ea6370b955, 0xb2d6dc98},
                                              {{true, false}, 0x1f5dfb3631a, 0xb726b8d7},
                                              {{false, true}, 0x1e96301166b, 0x997bda43},
                                              {{true, true}, 0x1eef17d1cac, 0xa5ea1561}}};
  for (const GensortVector& vector : vectors) {
    Bytes data(1000 * kGensortRecordBytes);
    make_gensort_records(vector.kind, 0, 1000, data.data());
    EXPECT_EQ(sum_record_crcs(data.data(), 1000, kGensortRecordBytes), vector.checksum);
    EXPECT_EQ(slow_crc32(data.data(), data.size()), vector.file_crc);
  }
}

TEST(Gensort, RecordsDependOnTheirNumberAlone) {
  for (const bool ascii : {false, true}) {
    for (const bool skewed : {false, true}) {
      const GensortKind kind{ascii, skewed};
      Bytes all(300 * kGensortRecordBytes);
      const std::uint64_t base = (std::uint64_t{1} << 40) - 150;  // the skew changes at 2^40
      make_gensort_records(kind, base, 300, all.data());
      for (std::size_t first = 0; first < 300; first += 7) {
        for (const std::size_t count : {1, 2, 13}) {
          if (first + count > 300) continue;
          Bytes part(count * kGensortRecordBytes);
          make_gensort_records(kind, base + first, count, part.data());
          EXPECT_TRUE(
              std::equal(part.begin(), part.end(),
                         all.begin() + static_cast<std::ptrdiff_t>(first * kGensortRecordBytes)));
        }
      }
    }
  }
}

TEST(Gensort, AsciiRecordsCarryTheirNumber) {
  std::string record(kGensortRecordBytes, 0);
  make_gensort_records({true, false}, 0xabcdef, 1, reinterpret_cast<std::byte*>(record.data()));
  EXPECT_EQ(record.substr(10, 36), "  00000000000000000000000000ABCDEF  ");
  EXPECT_EQ(record.substr(98), "\r\n");
}

TEST(Generate, FilesInParallelEqualThoseOfOneThread) {
  const io::test::TempDirectory directory;
  struct Case {
    std::string format;
    std::uint64_t records;
  };
  // 5 MB each, so that there are several chunks; some records straddle their edges.
  for (const Case& c : std::vector<Case>{{"gensort", 50000},
                                         {"u64", 700000},
                                         {"kv32", 700001},
                                         {"fixed:4099", 1300},
                                         {"fixed:3000017", 3}}) {
    GenerateOptions options = options_for(c.format, c.records);
    options.first_record = 5;
    options.total_records = 0;
    options.checksum = true;
    std::array<std::string, 2> contents;
    std::array<GenerateReport, 2> reports;
    for (const unsigned parallel : {1u, 4u}) {
      options.threads = parallel;
      options.output = directory / "out";
      reports[parallel / 4] = generate(options);
      contents[parallel / 4] = io::test::file_text(options.output);
    }
    EXPECT_TRUE(contents[0] == contents[1]) << c.format;
    ASSERT_EQ(contents[0].size(), c.records * options.format.record_bytes);
    Bytes expected(contents[0].size());
    if (c.format == "gensort") {
      make_gensort_records({}, 5, c.records, expected.data());
    } else {
      options.total_records = 5 + c.records;
      expected = distributed(options);
    }
    EXPECT_EQ(std::memcmp(expected.data(), contents[0].data(), expected.size()), 0) << c.format;
    for (const GenerateReport& report : reports) {
      EXPECT_EQ(report.records, c.records);
      EXPECT_TRUE(report.checksum ==
                  sum_record_crcs(expected.data(), c.records, options.format.record_bytes));
    }
  }
}

TEST(Generate, WritesPipesInOrder) {
  const io::test::TempDirectory directory;
  GenerateOptions options = options_for("u64", 1000001);
  options.output = directory / "pipe";
  ASSERT_EQ(mkfifo(options.output.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = io::test::file_text(options.output); });
  options.threads = 4;
  generate(options);
  reader.join();
  const Bytes expected = distributed(options);
  ASSERT_EQ(received.size(), expected.size());
  EXPECT_EQ(std::memcmp(received.data(), expected.data(), expected.size()), 0);
}

TEST(Generate, ReportsAStreamThatCannotTakeTheData) {
  GenerateOptions options = options_for("u64", 1000000);
  options.output = "/dev/full";
  options.threads = 4;
  try {
    generate(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    EXPECT_EQ(error.path(), "/dev/full");
  }
}

TEST(Generate, MakesEmptyFiles) {
  const io::test::TempDirectory directory;
  GenerateOptions options = options_for("u64", 0);
  options.output = directory / "empty";
  generate(options);
  EXPECT_EQ(std::filesystem::file_size(options.output), 0u);
}

TEST(Generate, RefusesWhatMakesNoSense) {
  const auto refused = [](const GenerateOptions& options) {
    try {
      generate(options);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::usage;
    }
  };
  GenerateOptions options = options_for("u64", 10);
  options.output = "/dev/null";
  EXPECT_FALSE(refused(options));
  options.total_records = 9;
  EXPECT_TRUE(refused(options));
  options.total_records = 0;
  options.first_record = ~std::uint64_t{0} - 9;
  EXPECT_TRUE(refused(options));
  options.first_record = 0;
  options.records = std::uint64_t{1} << 61;
  EXPECT_TRUE(refused(options));
  options.records = 10;
  options.ascii = true;
  EXPECT_TRUE(refused(options));
  options = options_for("gensort", 10);
  options.output = "/dev/null";
  options.distribution = Distribution::zipf;
  EXPECT_TRUE(refused(options));
}

TEST(ParseDistribution, ReadsNamesAndTheta) {
  GenerateOptions options;
  parse_distribution("nearly-sorted", options);
  EXPECT_EQ(options.distribution, Distribution::nearly_sorted);
  parse_distribution("zipf:0.75", options);
  EXPECT_EQ(options.distribution, Distribution::zipf);
  EXPECT_EQ(options.zipf_theta, 0.75);
  for (const char* wrong : {"", "zipf:", "zipf:x", "zipf:1x", "zipf:-1", "zipf:nan", "zipf:inf",
                            "Uniform", "uniform:1"}) {
    EXPECT_THROW(parse_distribution(wrong, options), Error) << wrong;
  }
}

const std::vector<std::string> kFormats{"u32",  "u64",  "i32",     "i64",     "f32",      "f64",
                                        "kv32", "kv64", "fixed:8", "fixed:5", "fixed:100"};
const std::vector<std::string> kDistributions{"uniform",      "normal",  "zipf:1",
                                              "sorted",       "reverse", "nearly-sorted",
                                              "few-distinct", "constant"};

TEST(Distributions, AnyPartCanBeMadeByItself) {
  for (const std::string& format : kFormats) {
    for (const std::string& distribution : kDistributions) {
      GenerateOptions options = options_for(format, 3000, distribution);
      const Bytes all = distributed(options);
      options.first_record = 1234;
      options.records = 777;
      const Bytes part = distributed(options);
      EXPECT_TRUE(
          std::equal(part.begin(), part.end(),
                     all.begin() + static_cast<std::ptrdiff_t>(1234 * options.format.record_bytes)))
          << format << " " << distribution;
    }
  }
}

TEST(Distributions, SortedAndReverseAreStrictForEveryFormat) {
  for (const std::string& format : kFormats) {
    for (const std::uint64_t records : {1, 2, 3, 5000, 100000}) {
      const GenerateOptions sorted = options_for(format, records, "sorted");
      const GenerateOptions reverse = options_for(format, records, "reverse");
      if (records == 1) continue;
      EXPECT_EQ(orders(distributed(sorted), sorted.format), std::set{-1}) << format;
      EXPECT_EQ(orders(distributed(reverse), reverse.format), std::set{1}) << format;
    }
  }
}

TEST(Distributions, SortedFollowsDescendingAndBigEndianKeys) {
  for (const char* key : {"0:u64:desc", "3:u32be", "8:f64be:desc", "1:i16", "2:bytes3:desc"}) {
    GenerateOptions options = options_for("fixed:20", 300, "sorted");
    options.format.key = {parse_key_field(key, options.format)};
    EXPECT_EQ(orders(distributed(options), options.format), std::set{-1}) << key;
  }
}

TEST(Distributions, SortedKeysSpanTheRange) {
  const auto u64 = keys<std::uint64_t>("u64", 1000, "sorted");
  EXPECT_EQ(u64.front(), 0u);
  EXPECT_GT(u64.back(), ~std::uint64_t{0} / 1000 * 998);
  const auto i32 = keys<std::int32_t>("i32", 1000, "sorted");
  EXPECT_EQ(i32.front(), std::numeric_limits<std::int32_t>::min());
  EXPECT_GT(i32.back(), std::numeric_limits<std::int32_t>::max() / 1000 * 997);
  const auto f32 = keys<float>("f32", 1000, "sorted");
  EXPECT_EQ(f32.front(), std::numeric_limits<float>::lowest());
  EXPECT_GT(f32.back(), 1e37f);
  EXPECT_TRUE(std::isfinite(f32.back()));
}

TEST(Distributions, SortedKeysOfAPartOfAHugeSetAscend) {
  GenerateOptions options = options_for("u64", 1000, "sorted");
  options.total_records = ~std::uint64_t{0};
  options.first_record = options.total_records - 1000;
  EXPECT_EQ(orders(distributed(options), options.format), std::set{-1});
}

TEST(Distributions, FloatsAreFinite) {
  for (const std::string& distribution : kDistributions) {
    for (const float key : keys<float>("f32", 20000, distribution)) {
      ASSERT_TRUE(std::isfinite(key)) << distribution;
    }
    for (const double key : keys<double>("f64", 20000, distribution)) {
      ASSERT_TRUE(std::isfinite(key)) << distribution;
    }
  }
}

TEST(Distributions, UniformFillsAllPartsOfTheRangeAlike) {
  std::array<int, 16> counts{};
  for (const std::uint32_t key : keys<std::uint32_t>("u32", 160000, "uniform")) ++counts[key >> 28];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  std::array<int, 16> float_counts{};
  for (const double key : keys<double>("f64", 160000, "uniform")) {
    ASSERT_TRUE(key >= 0 && key < 1);
    ++float_counts[static_cast<std::size_t>(key * 16)];
  }
  for (const int count : float_counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Distributions, NormalHasItsMomentsAndQuantiles) {
  const auto check = [](const std::vector<double>& z) {
    const double n = static_cast<double>(z.size());
    const double mean = std::accumulate(z.begin(), z.end(), 0.0) / n;
    const double square = std::inner_product(z.begin(), z.end(), z.begin(), 0.0) / n;
    EXPECT_NEAR(mean, 0, 0.02);
    EXPECT_NEAR(square, 1, 0.03);
    const auto beyond_2 = std::count_if(z.begin(), z.end(), [](double x) { return x > 2; });
    EXPECT_NEAR(static_cast<double>(beyond_2) / n, 0.02275, 0.003);
  };
  check(keys<double>("f64", 100000, "normal"));
  std::vector<double> z;
  for (const std::int64_t key : keys<std::int64_t>("i64", 100000, "normal")) {
    z.push_back(static_cast<double>(key) / 0x1p60);
  }
  check(z);
}

TEST(Distributions, NormalInverseIsTheInverse) {
  for (double z = -8; z <= 5; z += 0.01) {
    const double p = std::erfc(-z / std::sqrt(2.0)) / 2;
    EXPECT_NEAR(normal_inverse(p), z, 2e-6) << z;
  }
}

TEST(Distributions, ZipfRanksHaveTheirProbabilities) {
  constexpr int kDraws = 200000;
  for (const double theta : {0.0, 0.25, 0.5, 0.99, 1.0, 1.01, 1.5, 2.0, 4.0}) {
    for (const std::uint64_t universe : {1, 2, 3, 50, 1000}) {
      const Zipf zipf(theta, universe);
      Random random(7);
      std::vector<int> counts(universe + 1);
      for (int i = 0; i < kDraws; ++i) {
        const std::uint64_t rank = zipf(random);
        ASSERT_TRUE(rank >= 1 && rank <= universe);
        ++counts[rank];
      }
      double sum = 0;
      for (std::uint64_t i = 1; i <= universe; ++i) {
        sum += std::pow(static_cast<double>(i), -theta);
      }
      // Chi-squared over ranks expected often enough, against its mean plus 6 deviations.
      double chi_squared = 0;
      int cells = 0;
      for (std::uint64_t i = 1; i <= universe; ++i) {
        const double expected = kDraws * std::pow(static_cast<double>(i), -theta) / sum;
        if (expected < 10) continue;
        const double difference = counts[i] - expected;
        chi_squared += difference * difference / expected;
        ++cells;
      }
      EXPECT_LT(chi_squared, cells + 6 * std::sqrt(2.0 * cells) + 6) << theta << " " << universe;
    }
  }
}

TEST(Distributions, ZipfWorksOnHugeUniverses) {
  for (const double theta : {0.0, 0.5, 1.0, 2.0}) {
    for (const std::uint64_t universe : {std::uint64_t{1} << 52, ~std::uint64_t{0}}) {
      const Zipf zipf(theta, universe);
      Random random(7);
      for (int i = 0; i < 1000; ++i) {
        const std::uint64_t rank = zipf(random);
        ASSERT_TRUE(rank >= 1 && rank <= universe);
      }
    }
  }
}

TEST(Distributions, FrequentZipfKeysAreNotAllSmall) {
  for (const char* format : {"u32", "i32", "f32"}) {
    std::map<std::uint32_t, int> counts;
    for (const std::uint32_t key : keys<std::uint32_t>(format, 100000, "zipf:1")) ++counts[key];
    std::vector<std::pair<int, std::uint32_t>> frequent;
    for (const auto& [key, count] : counts) frequent.emplace_back(count, key);
    std::sort(frequent.rbegin(), frequent.rend());
    // H(100000) is 12.09: the most frequent key has 8271 records, the second half as many.
    EXPECT_NEAR(frequent[0].first, 8271, 400);
    EXPECT_NEAR(frequent[1].first, 4136, 300);
    std::set<std::uint32_t> eighths;
    for (std::size_t i = 0; i < 32; ++i) eighths.insert(frequent[i].second >> 29);
    EXPECT_GE(eighths.size(), 6u) << format;
  }
}

TEST(Distributions, NearlySortedDisplacesOnePercentNotFar) {
  constexpr std::uint64_t kRecords = 1000000;
  const auto sorted = keys<std::uint64_t>("u64", kRecords, "sorted");
  const auto nearly = keys<std::uint64_t>("u64", kRecords, "nearly-sorted");
  std::size_t displaced = 0;
  for (std::size_t i = 0; i < kRecords; ++i) {
    if (nearly[i] == sorted[i]) continue;
    ++displaced;
    const auto home = static_cast<std::size_t>(
        std::lower_bound(sorted.begin(), sorted.end(), nearly[i]) - sorted.begin());
    ASSERT_EQ(sorted[home], nearly[i]);
    ASSERT_EQ(nearly[home], sorted[i]);
    ASSERT_LT(std::max(home, i) - std::min(home, i), 65536u);
  }
  EXPECT_NEAR(static_cast<double>(displaced), 10000, 1000);
}

TEST(Distributions, NearlySortedIsAPermutationOfSortedAtAnySize) {
  for (std::uint64_t records = 1; records < 300; ++records) {
    auto nearly = keys<std::uint32_t>("u32", records, "nearly-sorted");
    std::sort(nearly.begin(), nearly.end());
    ASSERT_EQ(nearly, keys<std::uint32_t>("u32", records, "sorted"));
  }
}

TEST(Distributions, FewDistinctAndConstantHaveSixteenKeysAndOne) {
  for (const char* format : {"u32", "i32", "f32", "kv32"}) {
    std::map<std::uint32_t, int> counts;
    const GenerateOptions options = options_for(format, 16000, "few-distinct");
    const Bytes data = distributed(options);
    for (std::size_t i = 0; i < options.records; ++i) {
      std::uint32_t key;
      std::memcpy(&key, &data[i * options.format.record_bytes], sizeof key);
      ++counts[key];
    }
    EXPECT_EQ(counts.size(), 16u) << format;
    for (const auto& [key, count] : counts) EXPECT_NEAR(count, 1000, 200) << format;
  }
  const auto constant = keys<std::uint64_t>("u64", 1000, "constant");
  EXPECT_EQ(std::set(constant.begin(), constant.end()).size(), 1u);
}

TEST(Distributions, ValuesOfPairsAreRecordNumbers) {
  GenerateOptions options = options_for("kv64", 100);
  options.first_record = std::uint64_t{1} << 33;
  options.total_records = std::uint64_t{1} << 34;
  Bytes data = distributed(options);
  for (std::size_t i = 0; i < 100; ++i) {
    std::uint64_t value;
    std::memcpy(&value, &data[i * 16 + 8], sizeof value);
    EXPECT_EQ(value, options.first_record + i);
  }
  data = distributed(options_for("kv32", 100));
  for (std::size_t i = 0; i < 100; ++i) {
    std::uint32_t value;
    std::memcpy(&value, &data[i * 8 + 4], sizeof value);
    EXPECT_EQ(value, i);
  }
}

TEST(Distributions, FixedRecordsHaveTheKeyInFrontAndRandomBytesBehind) {
  const Bytes data = distributed(options_for("fixed:100", 1000, "constant"));
  std::array<int, 256> counts{};
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(std::memcmp(&data[i * 100], &data[0], 8), 0);
    for (std::size_t j = 8; j < 100; ++j) ++counts[std::to_integer<std::size_t>(data[i * 100 + j])];
  }
  for (const int count : counts) EXPECT_NEAR(count, 92000 / 256, 120);
}

TEST(Distributions, SeedsGiveDifferentData) {
  GenerateOptions options = options_for("u64", 1000);
  const Bytes first = distributed(options);
  options.seed = 2;
  const Bytes second = distributed(options);
  std::set<std::uint64_t> seen;
  for (const Bytes* data : {&first, &second}) {
    for (std::size_t at = 0; at < data->size(); at += 8) {
      std::uint64_t key;
      std::memcpy(&key, &(*data)[at], sizeof key);
      seen.insert(key);
    }
  }
  EXPECT_EQ(seen.size(), 2000u);
}

TEST(ChunkThreads, AreAsManyAsProcessorsAllowed) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(thread_count(0, 4, 1000, 1, 1000), 5u);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(thread_count(0, 4, 100000, 1, 100000), available_processors() + 4);
  EXPECT_EQ(thread_count(3, 4, 1000, 1, 1000), 7u);
}

}  // namespace
}  // namespace xxl
