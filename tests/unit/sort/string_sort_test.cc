#include "sort/string_sort.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

using Records = std::vector<std::string>;

// The record is the key, or (made) the key is told by a function.
class Keys final : public KeyExtractor {
 public:
  using Make = std::function<std::string(std::string_view)>;
  explicit Keys(Make make = nullptr, bool costly = false)
      : make_(std::move(make)), costly_(costly) {}

  // The key lies in the record, from this place on.
  static Keys after(std::size_t bytes) {
    Keys keys([bytes](std::string_view record) { return std::string(record.substr(bytes)); });
    keys.begin_ = bytes;
    return keys;
  }

  bool is_whole_record() const override { return make_ == nullptr; }
  bool is_in_record() const override { return is_whole_record() || begin_ != 0; }
  std::string_view key_in(std::string_view record) const override { return record.substr(begin_); }
  bool is_costly_in_full() const override { return costly_; }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    const std::string whole = make_ ? make_(record) : std::string(record);
    // As allowed, sometimes more than was asked for.
    key.append(whole, 0, limit > whole.size() ? whole.size() : limit + (limit % 3));
  }
  std::string whole_key(std::string_view record) const {
    std::string key;
    append_key(record, kWholeKey, key);
    return key;
  }

 private:
  Make make_;
  bool costly_;
  std::size_t begin_ = 0;
};

// Records by what `view` makes of their places.
struct Access {
  std::function<std::string_view(std::uint64_t)> view;
  std::string_view operator()(std::uint64_t place) const { return view(place); }
  void prefetch(std::uint64_t place) const { EXPECT_NO_THROW(view(place)); }
};

std::string random_text(Random& random, std::size_t longest, unsigned letters) {
  std::string text(random.below(longest + 1), ' ');
  for (char& c : text) c = static_cast<char>(random.below(letters));
  return text;
}

struct Kind {
  std::string name;
  std::function<std::string(Random&)> make;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"bytes", [](Random& r) { return random_text(r, 20, 256); }},
      {"bits", [](Random& r) { return random_text(r, 30, 2); }},
      {"zeros", [](Random& r) { return std::string(r.below(40), '\0'); }},
      {"empty", [](Random&) { return std::string(); }},
      {"equal", [](Random&) { return std::string("all the same, and rather long"); }},
      {"few", [](Random& r) { return "value " + std::to_string(r.below(5)); }},
      {"prefixes",
       [](Random& r) { return std::string("abcdefghijklmnopqrstuvwxyz", r.below(27)); }},
      {"eights", [](Random& r) { return std::string(8 * r.below(60), 'x'); }},
      {"common", [](Random& r) { return std::string(300, 'c') + random_text(r, 6, 4); }},
      {"long", [](Random& r) { return std::string(5000, 'l') + std::to_string(r.below(30)); }},
      {"mixed",
       [](Random& r) { return std::string(r.below(3) * 130, 'm') + random_text(r, 9, 3); }},
  };
  return all;
}

Records records_of(const Kind& kind, std::size_t count, Random& random) {
  Records records(count);
  for (std::string& record : records) record = kind.make(random);
  return records;
}

// Sorts with and without their common prefix, and compares with std::stable_sort.
void expect_sorted(const Records& records, const Keys& keys, std::size_t depth,
                   std::size_t key_bytes_per_item) {
  std::vector<StringItem> items(records.size()), scratch(records.size());
  std::vector<std::uint64_t> key_memory(key_bytes_per_item * records.size() / 8 + 1);
  const Access access{[&](std::uint64_t place) -> std::string_view { return records.at(place); }};
  for (std::size_t i = 0; i < items.size(); ++i) items[i].ref = i;
  StringSorter sorter(access, keys, scratch, std::as_writable_bytes(std::span(key_memory)));
  sorter.sort(items, depth);

  std::vector<std::size_t> expected(records.size());
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i;
  std::stable_sort(expected.begin(), expected.end(), [&](std::size_t a, std::size_t b) {
    return keys.whole_key(records[a]) < keys.whole_key(records[b]);
  });
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_EQ(items[i].place(), expected[i]) << "item " << i;
    const bool same =
        i > 0 && keys.whole_key(records[expected[i - 1]]) == keys.whole_key(records[expected[i]]);
    ASSERT_EQ(items[i].same_key(), same) << "item " << i;
  }
}

std::size_t common_prefix(const Records& records, const Keys& keys) {
  if (records.empty()) return 0;
  std::string common = keys.whole_key(records[0]);
  for (const std::string& record : records) {
    const std::string key = keys.whole_key(record);
    std::size_t at = 0;
    while (at < std::min(common.size(), key.size()) && common[at] == key[at]) ++at;
    common.resize(at);
  }
  return common.size();
}

class StringSort : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Kinds, StringSort, testing::Range<std::size_t>(0, kinds().size()),
                         [](const auto& info) { return kinds()[info.param].name; });

TEST_P(StringSort, records_are_their_keys) {
  const Keys keys;
  Random random(1);
  for (const std::size_t count : {0u, 1u, 2u, 16u, 17u, 18u, 100u, 1500u}) {
    const Records records = records_of(kinds()[GetParam()], count, random);
    expect_sorted(records, keys, 0, 0);
    expect_sorted(records, keys, common_prefix(records, keys), 0);
  }
}

TEST_P(StringSort, keys_lie_in_records) {
  const Keys keys = Keys::after(3);
  Random random(3);
  for (const std::size_t count : {0u, 1u, 2u, 16u, 17u, 18u, 100u, 1500u}) {
    Records records = records_of(kinds()[GetParam()], count, random);
    for (std::string& record : records) record.insert(0, std::to_string(100 + random.below(900)));
    expect_sorted(records, keys, 0, 0);
    expect_sorted(records, keys, common_prefix(records, keys), 0);
  }
}

TEST_P(StringSort, keys_are_made) {
  // Not in the order of the records, and equal for different records.
  const Keys keys([](std::string_view record) {
    std::string key(record.rbegin(), record.rend());
    for (char& c : key) c = static_cast<char>(c & ~2);
    return key;
  });
  Random random(2);
  for (const std::size_t count : {0u, 1u, 2u, 17u, 500u}) {
    const Records records = records_of(kinds()[GetParam()], count, random);
    // The least memory for keys, and much.
    expect_sorted(records, keys, 0, kKeyMemoryPerItem);
    expect_sorted(records, keys, 0, 7000);
    expect_sorted(records, keys, common_prefix(records, keys), kKeyMemoryPerItem);
  }
}

TEST(StringSorter, costly_keys_with_much_in_common_are_sorted_stably) {
  const std::string common(300'000, 'c');
  const Keys keys(
      [&](std::string_view record) { return common + std::string(record.substr(0, 1)); }, true);
  Random random(5);
  for (const std::size_t count : {2u, 3u, 20u}) {
    Records records(count);
    for (std::string& record : records) {
      for (int i = 0; i < 2; ++i) record += static_cast<char>('a' + random.below(4));
    }
    expect_sorted(records, keys, 250'000, kKeyMemoryPerItem);  // windows first, then compared
    expect_sorted(records, keys, common.size(), 100'000);
  }
}

void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 1 << 20);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  (*static_cast<const std::function<void()>*>(argument))();
                  return nullptr;
                },
                const_cast<std::function<void()>*>(&work)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(StringSortDepth, keys_that_each_go_on_where_the_one_before_ends_need_no_deep_stack) {
  // Key i is 8 i bytes of one letter: one key ends at every depth.
  constexpr std::size_t kKeys = 2000;
  const std::string text(8 * kKeys, 'a');
  const Access access{
      [&](std::uint64_t place) { return std::string_view(text).substr(8 * place); }};
  std::vector<StringItem> items(kKeys), scratch(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) items[i].ref = i;
  const Keys keys;
  StringSorter sorter(access, keys, scratch, {});
  // As much stack as a worker thread has, at least.
  on_small_stack([&] { sorter.sort(items, 0); });
  for (std::size_t i = 0; i < kKeys; ++i) ASSERT_EQ(items[i].ref, kKeys - 1 - i);
}

TEST(KeyWord, is_padded_with_zeros_behind_the_end) {
  EXPECT_EQ(key_word("", 0), 0u);
  EXPECT_EQ(key_word("a", 0), 0x6100000000000000u);
  EXPECT_EQ(key_word("a", 1), 0u);
  EXPECT_EQ(key_word("abcdefgh", 0), 0x6162636465666768u);
  EXPECT_EQ(key_word("abcdefghi", 1), 0x6263646566676869u);
  EXPECT_EQ(key_word("abcdefghi", 7), 0x6869000000000000u);
  EXPECT_EQ(key_word("abcdefghi", 9), 0u);
  EXPECT_EQ(key_word("abc\xff", 2), 0x63ff000000000000u);
}

}  // namespace
}  // namespace xxl
