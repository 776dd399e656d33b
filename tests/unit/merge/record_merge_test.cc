#include "merge/record_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

class ListCursor final : public RecordCursor {
 public:
  explicit ListCursor(std::vector<std::string> records) : records_(std::move(records)) {}
  bool advance() override {
    if (next_ == records_.size()) return false;
    record_ = std::make_shared<std::string>(records_[next_++]);  // what was there before is gone
    return true;
  }
  std::string_view record() const override { return *record_; }
  std::shared_ptr<const void> hold() override { return record_; }

 private:
  std::vector<std::string> records_;
  std::size_t next_ = 0;
  std::shared_ptr<std::string> record_;
};

// The key: the record, or all but its last byte.
class Keys final : public KeyExtractor {
 public:
  explicit Keys(bool made) : made_(made) {}
  bool is_whole_record() const override { return !made_; }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    if (made_ && !record.empty()) record.remove_suffix(1);
    key.append(record.substr(0, limit));
  }
  std::string of(std::string_view record) const {
    std::string key;
    append_key(record, kWholeKey, key);
    return key;
  }

 private:
  bool made_;
};

void expect_merged(std::size_t runs, const Keys& keys, bool marks_same, std::size_t prefix,
                   Random& random) {
  std::vector<std::string> all;
  std::vector<std::unique_ptr<RecordCursor>> cursors;
  const auto by_key = [&](const auto& a, const auto& b) { return keys.of(a) < keys.of(b); };
  for (std::size_t run = 0; run < runs; ++run) {
    std::vector<std::string> records(random.below(30));
    for (std::string& record : records) {
      record = std::string(random.below(2) * prefix, 'p') + std::to_string(random.below(40)) + 'a';
      record.back() = static_cast<char>('a' + run % 26);  // tells records with equal keys apart
    }
    std::stable_sort(records.begin(), records.end(), by_key);
    all.insert(all.end(), records.begin(), records.end());
    cursors.push_back(std::make_unique<ListCursor>(std::move(records)));
  }
  std::stable_sort(all.begin(), all.end(), by_key);
  RecordMerge merge(std::move(cursors), keys, marks_same);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(merge.next());
    ASSERT_TRUE(merge.record() == all[i]) << "record " << i;
    ASSERT_EQ(merge.same_key(), marks_same && i > 0 && keys.of(all[i - 1]) == keys.of(all[i]));
  }
  ASSERT_FALSE(merge.next());
}

TEST(RecordMerge, merges_stably_any_number_of_sequences) {
  Random random(6);
  for (const bool made : {false, true}) {
    for (const bool marks_same : {false, true}) {
      for (const std::size_t runs : {0u, 1u, 2u, 3u, 7u, 8u, 20u}) {
        expect_merged(runs, Keys(made), marks_same, 7, random);
      }
    }
  }
}

TEST(RecordMerge, keys_that_differ_only_far_behind_their_beginning) {
  Random random(7);
  for (const bool made : {false, true}) {
    for (const std::size_t prefix : {4090u, 4094u, 4095u, 4096u, 10000u}) {
      expect_merged(5, Keys(made), true, prefix, random);
    }
  }
}

}  // namespace
}  // namespace xxl
