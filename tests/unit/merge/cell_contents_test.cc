// What lies in the cells of a merge of text, here of runs in memory (of those on disk:
// general_merger_test.cc).
#include "merge/cell_contents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "resident_records.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Records;
using test::ResidentRecords;
using test::WholeLine;

// Sorts cells, and keeps what the last one held.
class KeptCell final : public CellWork {
 public:
  bool marks_same() const override { return true; }
  bool take(std::size_t, std::span<const CellRecords> sides, const Sort& sort) override {
    sort();
    records.assign(sides.begin(), sides.end());
    return true;
  }
  bool stream(std::size_t, std::span<RecordMerge> sides) override {
    streamed.clear();
    while (sides[0].next()) streamed.emplace_back(sides[0].record());
    return false;
  }
  void skip(std::size_t) override {}

  std::vector<CellRecords> records;
  Records streamed;  // of the first side
};

class CellContentsTest : public testing::Test {
 protected:
  // `runs` random runs of each side, of records with 1 to `longest` of two letters.
  void add_runs(std::size_t sides, std::size_t runs, std::size_t longest) {
    Random random(sides * 100 + runs);
    for (std::size_t run = 0; run < runs; ++run) {
      for (std::size_t side = sides; side-- > 0;) {  // in any order of sides
        Records records(random.below(200));
        for (std::string& record : records) {
          record.resize(1 + random.below(longest));
          for (char& c : record) c = static_cast<char>('a' + random.below(2));
        }
        runs_.push_back(std::make_unique<ResidentRecords>(std::move(records)));
        sources_.push_back(runs_.back()->source(side));
        expected_.resize(sides);
        const Records& all = runs_.back()->records();
        expected_[side].insert(expected_[side].end(), all.begin(), all.end());
      }
    }
    for (Records& records : expected_) std::sort(records.begin(), records.end());
  }
  CellContents contents(std::uint64_t cell_bytes) const {
    return CellContents(sources_, std::vector<MergeSide>(expected_.size(), {&keys_, nullptr}),
                        cell_bytes);
  }

  const WholeLine keys_{};
  std::vector<std::unique_ptr<ResidentRecords>> runs_;
  std::vector<MergeSource> sources_;
  std::vector<Records> expected_;  // of each side
};

TEST_F(CellContentsTest, cells_hold_all_records_of_each_side_in_order) {
  add_runs(2, 7, 12);
  CellContents contents = this->contents(500);
  EXPECT_GT(contents.cells(), 4u);
  std::vector<StringItem> items(4000), scratch(4000);
  std::vector<Records> sorted(2), merged(2);
  for (std::size_t cell = 0; cell < contents.cells(); ++cell) {
    KeptCell work;
    ASSERT_TRUE(contents.take_cell({cell}, {items, scratch, {}}, cell, work));
    const std::vector<CellRecords>& records = work.records;
    std::vector<RecordMerge> merges = contents.merge_held({cell}, true);
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::size_t i = 0; i < records[side].size(); ++i) {
        const std::string record(records[side][i]);
        const bool is_same = !sorted[side].empty() && sorted[side].back() == record;
        if (i > 0) {
          EXPECT_EQ(records[side].same_key(i), is_same);
        } else {
          EXPECT_FALSE(is_same) << "a key in two cells";
        }
        sorted[side].push_back(record);
      }
      while (merges[side].next()) merged[side].emplace_back(merges[side].record());
    }
  }
  EXPECT_TRUE(sorted == expected_);
  EXPECT_TRUE(merged == expected_);
}

TEST_F(CellContentsTest, a_cell_with_more_records_than_items_is_given_record_by_record) {
  add_runs(1, 5, 30);
  CellContents contents = this->contents(1000000);
  ASSERT_EQ(contents.cells(), 1u);
  std::vector<StringItem> items(expected_[0].size()), scratch(items.size());
  KeptCell work;
  EXPECT_FALSE(
      contents.take_cell({0}, {std::span(items).first(items.size() - 1), scratch, {}}, 0, work));
  EXPECT_EQ(work.streamed, expected_[0]);
  EXPECT_TRUE(contents.take_cell({0}, {items, scratch, {}}, 0, work));
  EXPECT_EQ(work.records[0].size(), expected_[0].size());
}

}  // namespace
}  // namespace xxl
