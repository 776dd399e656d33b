#include "merge/run_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "record/key_extractor.h"
#include "resident_records.h"

namespace xxl {
namespace {

using test::Records;
using test::ResidentRecords;

// The first byte, so that records with equal keys differ.
class FirstByte final : public KeyExtractor {
 public:
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    key.append(record.substr(0, std::min<std::size_t>(limit, 1)));
  }
};

struct Item {
  std::string record;
  std::size_t run, index;
};

class RunCutTest : public testing::Test {
 protected:
  void make_runs(std::size_t count, std::size_t longest, Random& random) {
    runs_.clear();
    sources_.clear();
    merged_.clear();
    for (std::size_t run = 0; run < count; ++run) {
      Records records(random.below(60));
      for (std::string& record : records) {
        record.resize(1 + random.below(longest));
        for (char& c : record) c = static_cast<char>('a' + random.below(3));
      }
      runs_.push_back(std::make_unique<ResidentRecords>(std::move(records)));
      sources_.push_back(runs_.back()->source());
      const Records& sorted = runs_.back()->records();
      for (std::size_t i = 0; i < sorted.size(); ++i) merged_.push_back({sorted[i], run, i});
    }
    std::stable_sort(merged_.begin(), merged_.end(), [](const Item& a, const Item& b) {
      return a.record.front() < b.record.front();
    });
  }
  std::vector<std::size_t> ends() const {
    std::vector<std::size_t> ends;
    for (const auto& run : runs_) ends.push_back(run->records().size());
    return ends;
  }

  const FirstByte keys_{};
  std::vector<std::unique_ptr<ResidentRecords>> runs_;
  std::vector<MergeSource> sources_;
  std::vector<Item> merged_;
};

TEST_F(RunCutTest, lies_where_a_merge_would_be_cut) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    make_runs(1 + random.below(8), 1 + random.below(20), random);
    std::uint64_t all = 0;
    for (const Item& item : merged_) all += item.record.size() + 1;
    // Two cuts, the second of what the first left.
    std::vector<std::size_t> from(runs_.size());
    std::size_t next = 0;
    for (int cuts = 0; cuts < 2; ++cuts) {
      const std::uint64_t most = random.below(all + 2);
      const bool at_start = random.below(2) == 0;
      const IsBehindCut is_behind = [&](std::uint64_t before, std::uint64_t bytes) {
        return at_start ? before >= most : before + bytes > most;
      };
      std::vector<std::size_t> expected = from;
      std::uint64_t bytes = 0;
      for (; next < merged_.size(); ++next) {
        const Item& item = merged_[next];
        if (is_behind(bytes, item.record.size() + 1)) break;
        bytes += item.record.size() + 1;
        expected[item.run] = item.index + 1;
      }
      const RunCut cut = cut_runs(sources_, keys_, from, ends(), 1, is_behind);
      ASSERT_EQ(cut.bytes, bytes);
      ASSERT_EQ(cut.items, expected);
      from = cut.items;
    }
  }
}

TEST_F(RunCutTest, of_no_runs_has_nothing_in_front) {
  EXPECT_EQ(cut_runs({}, keys_, {}, {}, 1, [](auto, auto) { return false; }).bytes, 0u);
}

}  // namespace
}  // namespace xxl
