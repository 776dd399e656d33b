#include "sort/classifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;

constexpr std::uint64_t kMaxWord = ~std::uint64_t{0};

// Splitters that are keys of random records, in order.
std::vector<SplitterKey> splitters_from(const KeyLayout& layout, const Bytes& records) {
  std::vector<SplitterKey> splitters;
  for (std::size_t at = 0; at < records.size(); at += layout.record_bytes()) {
    splitters.push_back(splitter_key(layout, records.data() + at));
  }
  std::sort(splitters.begin(), splitters.end());
  splitters.erase(std::unique(splitters.begin(), splitters.end()), splitters.end());
  return splitters;
}

// Bucket by definition: the number of splitters that are not above the key.
std::size_t bucket_by_definition(const std::vector<SplitterKey>& splitters,
                                 const SplitterKey& key) {
  return static_cast<std::size_t>(std::upper_bound(splitters.begin(), splitters.end(), key) -
                                  splitters.begin());
}

void expect_right_buckets(const RecordFormat& format, const std::vector<SplitterKey>& splitters,
                          const Bytes& records) {
  const KeyLayout layout(format);
  Classifier classifier(layout);
  classifier.set_splitters(splitters);
  ASSERT_EQ(classifier.buckets(), splitters.size() + 1);
  const std::size_t count = records.size() / format.record_bytes;
  std::vector<std::uint16_t> ids(count);
  std::vector<std::uint32_t> counts(classifier.buckets(), 1), expected_counts(counts);
  classifier.classify({records.data(), count}, ids.data(), counts.data());
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* record = records.data() + i * format.record_bytes;
    const std::size_t bucket = bucket_by_definition(splitters, splitter_key(layout, record));
    ASSERT_EQ(ids[i], bucket) << "record " << i;
    ++expected_counts[bucket];
  }
  EXPECT_EQ(counts, expected_counts);
}

class ClassifierOfFormat : public testing::TestWithParam<RecordFormat> {};

INSTANTIATE_TEST_SUITE_P(Formats, ClassifierOfFormat,
                         testing::Values(format_of("u32"), format_of("i32"),
                                         format_of("f32", {"0:f32:desc"}), format_of("u64"),
                                         format_of("i64", {"0:i64:desc"}), format_of("f64"),
                                         format_of("f64", {"0:f64:desc"}), format_of("kv32"),
                                         format_of("kv64"), format_of("kv64", {"0:f64:desc"}),
                                         format_of("gensort"), format_of("fixed:1"),
                                         format_of("fixed:5", {"4:u8", "0:i32be:desc"}),
                                         format_of("fixed:300", {"2:bytes280"})));

TEST_P(ClassifierOfFormat, puts_every_record_between_its_splitters) {
  const RecordFormat& format = GetParam();
  const KeyLayout layout(format);
  Random random(21);
  for (const std::size_t splitters : {0u, 1u, 2u, 5u, 64u, 700u}) {
    for (const test::Distribution& distribution : test::distributions()) {
      SCOPED_TRACE(distribution.name + " " + std::to_string(splitters));
      const Bytes records = distribution.make(format, 600, random);
      const Bytes others = test::random_records(format, splitters, random);
      expect_right_buckets(format, splitters_from(layout, others), records);
      const std::size_t some = std::min<std::size_t>(splitters, 600);  // splitters that are hit
      const Bytes own(records.begin(),
                      records.begin() + static_cast<std::ptrdiff_t>(some * format.record_bytes));
      expect_right_buckets(format, splitters_from(layout, own), records);
    }
  }
}

TEST_P(ClassifierOfFormat, tells_a_key_from_its_neighbours) {
  const RecordFormat& format = GetParam();
  const KeyLayout layout(format);
  Random random(22);
  const Bytes records = test::random_records(format, 40, random);
  std::vector<SplitterKey> splitters;
  for (const SplitterKey& key : splitters_from(layout, records)) {
    if (splitters.empty() || splitters.back() < key) splitters.push_back(key);
    if (SplitterKey next = successor(key); !next.empty()) splitters.push_back(std::move(next));
  }
  expect_right_buckets(format, splitters, records);
}

TEST(Classifier, splitters_may_be_at_both_ends_of_the_key_space) {
  const RecordFormat format = format_of("u64");
  const std::vector<std::uint64_t> keys = {0, 1, 2, 1u << 31, kMaxWord - 1, kMaxWord};
  Bytes records(keys.size() * 8);
  std::memcpy(records.data(), keys.data(), records.size());
  expect_right_buckets(format, {{0}}, records);
  expect_right_buckets(format, {{kMaxWord}}, records);
  expect_right_buckets(format, {{0}, {kMaxWord}}, records);
  expect_right_buckets(format, {{0}, {1}, {kMaxWord - 1}, {kMaxWord}}, records);
}

TEST(Classifier, splitters_may_crowd_in_one_place) {
  const RecordFormat format = format_of("u64");
  std::vector<SplitterKey> splitters = {{5}};
  for (std::uint64_t i = 0; i < 3000; ++i) splitters.push_back({(kMaxWord >> 1) + i});
  splitters.push_back({kMaxWord - 3});
  Random random(23);
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 3000; ++i) {
    keys.push_back((kMaxWord >> 1) - 10 + random.below(3020));
    keys.push_back(random());
  }
  Bytes records(keys.size() * 8);
  std::memcpy(records.data(), keys.data(), records.size());
  expect_right_buckets(format, splitters, records);
}

TEST(Classifier, keys_with_a_long_common_prefix_go_by_the_words_behind_it) {
  const RecordFormat format = format_of("fixed:250");
  const KeyLayout layout(format);
  Random random(24);
  for (const std::size_t prefix : {8u, 100u, 247u}) {
    const Bytes records = test::common_prefix_records(format, 500, prefix, random);
    const Bytes splitters = test::common_prefix_records(format, 100, prefix, random);
    expect_right_buckets(format, splitters_from(layout, splitters), records);
  }
}

TEST(Classifier, cuts_keys_that_are_too_long_for_a_splitter) {
  const RecordFormat format = format_of("fixed:400");
  const KeyLayout layout(format);
  const Bytes record(400, std::byte{7});
  EXPECT_EQ(splitter_key(layout, record.data()).size(), kMaxSplitterWords);
  Random random(25);
  const Bytes records = test::common_prefix_records(format, 200, 8 * kMaxSplitterWords, random);
  const auto splitters = splitters_from(layout, records);
  EXPECT_EQ(splitters.size(), 1u);
  expect_right_buckets(format, splitters, records);
}

// ---- splitters moved to edges of slots ----

// The keys of `splitters`, their neighbours, and keys in the middle between them, as records.
Bytes records_around(const std::vector<SplitterKey>& splitters, Random& random) {
  Bytes records;
  const auto add = [&](const SplitterKey& key) {
    for (const std::uint64_t word : key) {
      for (int shift = 56; shift >= 0; shift -= 8) {
        records.push_back(static_cast<std::byte>(word >> shift));
      }
    }
  };
  for (const SplitterKey& splitter : splitters) {
    for (const std::uint64_t change : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}}) {
      for (std::size_t word = 0; word < splitter.size(); ++word) {
        SplitterKey key = splitter;
        key[word] += change;
        add(key);
      }
    }
    SplitterKey key = splitter;
    key.front() += random() >> random.below(64);
    add(key);
  }
  return records;
}

struct RoundingCase {
  std::string name;
  std::vector<SplitterKey> splitters;
};

std::vector<RoundingCase> rounding_cases(std::size_t words, Random& random) {
  std::vector<RoundingCase> cases;
  const auto add = [&](std::string name, auto make, std::size_t count) {
    std::vector<SplitterKey> splitters;
    for (std::size_t i = 0; i < count; ++i) {
      SplitterKey key(words);
      for (std::uint64_t& word : key) word = random.below(3) == 0 ? 0 : random();
      key.front() = make(i);
      splitters.push_back(key);
    }
    std::sort(splitters.begin(), splitters.end());
    splitters.erase(std::unique(splitters.begin(), splitters.end()), splitters.end());
    cases.push_back({name + " " + std::to_string(count), std::move(splitters)});
  };
  for (const std::size_t count : {1u, 2u, 3u, 50u, 2000u}) {
    add(
        "uniform", [&](std::size_t) { return random(); }, count);
    add(
        "narrow", [&](std::size_t) { return 12345 + random.below(4 * count); }, count);
    add(
        "even", [&](std::size_t i) { return i << 40; }, count);
    add(
        "skewed", [&](std::size_t) { return random() >> random.below(64); }, count);
    add(
        "at the end", [&](std::size_t) { return kMaxWord - random.below(8 * count); }, count);
    add(
        "few prefixes", [&](std::size_t) { return random.below(4) << 60; }, count);
  }
  return cases;
}

TEST(RoundSplitters, keeps_their_number_and_order_and_classification_stays_exact) {
  Random random(26);
  for (const std::size_t words : {1u, 2u, 4u}) {
    const std::string bytes = std::to_string(8 * words);
    const RecordFormat format = format_of("fixed:" + bytes);
    for (const RoundingCase& c : rounding_cases(words, random)) {
      SCOPED_TRACE(c.name + ", words " + std::to_string(words));
      std::vector<SplitterKey> rounded = c.splitters;
      round_splitters(rounded);
      ASSERT_EQ(rounded.size(), c.splitters.size());
      ASSERT_TRUE(std::is_sorted(rounded.begin(), rounded.end()));
      ASSERT_EQ(std::adjacent_find(rounded.begin(), rounded.end()), rounded.end());
      expect_right_buckets(format, rounded, records_around(rounded, random));
      expect_right_buckets(format, rounded, records_around(c.splitters, random));
      if (HasFailure()) return;
    }
  }
}

TEST(RoundSplitters, changes_buckets_by_a_quarter_at_most) {
  Random random(27);
  for (const RoundingCase& c : rounding_cases(1, random)) {
    std::vector<SplitterKey> rounded = c.splitters;
    round_splitters(rounded);
    for (std::size_t i = 1; i + 1 < rounded.size(); ++i) {
      const std::uint64_t key = c.splitters[i].front(), moved = rounded[i].front();
      const std::uint64_t gap =
          std::min(key - c.splitters[i - 1].front(), c.splitters[i + 1].front() - key);
      ASSERT_LE(moved < key ? key - moved : moved - key, gap / 4) << c.name << " splitter " << i;
    }
  }
}

TEST(RoundSplitters, leaves_the_bucket_of_a_single_key_alone) {
  Random random(28);
  for (const std::size_t words : {1u, 2u}) {
    std::vector<SplitterKey> splitters;
    std::vector<SplitterKey> single;
    for (std::size_t i = 1; i < 40; ++i) {
      SplitterKey key(words, random());
      key.front() = (i << 58) + random.below(std::uint64_t{1} << 50);
      if (i % 5 == 0 && words > 1) key.back() = kMaxWord;  // its successor has another first word
      splitters.push_back(key);
      if (i % 3 == 0 || i % 5 == 0) {
        single.push_back(key);
        splitters.push_back(successor(key));
      }
    }
    round_splitters(splitters);
    for (const SplitterKey& key : single) {
      EXPECT_TRUE(std::binary_search(splitters.begin(), splitters.end(), key));
      EXPECT_TRUE(std::binary_search(splitters.begin(), splitters.end(), successor(key)));
    }
  }
}

TEST(RoundSplitters, nothing_to_round_is_no_error) {
  std::vector<SplitterKey> none;
  round_splitters(none);
  EXPECT_TRUE(none.empty());
  std::vector<SplitterKey> one = {{7, 3}};
  round_splitters(one);
  EXPECT_EQ(one, (std::vector<SplitterKey>{{7, 3}}));
}

TEST(SplitterKeys, the_successor_is_the_next_number) {
  EXPECT_EQ(successor({7}), SplitterKey{8});
  EXPECT_EQ(successor({7, kMaxWord}), (SplitterKey{8, 0}));
  EXPECT_EQ(successor({7, kMaxWord, 3}), (SplitterKey{7, kMaxWord, 4}));
}

TEST(SplitterKeys, the_largest_key_has_no_successor) {
  EXPECT_TRUE(successor({kMaxWord}).empty());
  EXPECT_TRUE(successor({kMaxWord, kMaxWord}).empty());
}

}  // namespace
}  // namespace xxl
