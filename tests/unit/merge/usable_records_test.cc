#include "merge/usable_records.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "merge/runs_in_memory.h"
#include "simulated_queue.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;
using test::merge::RunsInMemory;

// Runs the blocks of which come in any order, and what may be merged of them.
class Merging : public RunsInMemory {
 public:
  Merging(const RecordFormat& format, std::vector<Bytes> records)
      : RunsInMemory(format, 5, std::move(records)), format_(format) {}

  bool finished(std::size_t run) const {
    return runs()[run].records_in_memory() == described()[run].records;
  }
  void fetch_next_of(std::uint32_t run) {
    RunsInMemory::fetch_next_of(run);
    usable_.update(run);
  }
  // Takes what may be merged, and checks that it comes before the records that are not there.
  void take() {
    const UsableRecords::Bound bound = usable_.bound();
    const std::vector<std::uint64_t> before = taken_;
    taken_ = usable_.ends_below(bound, 0, before);
    bool all_finished = true, all_begun = true;
    for (std::size_t run = 0; run < taken_.size(); ++run) {
      EXPECT_GE(taken_[run], before[run]);
      EXPECT_LE(taken_[run], runs()[run].records_in_memory());
      if (finished(run)) continue;
      all_finished = false;
      all_begun = all_begun && runs()[run].records_in_memory() > before[run];
      expect_taken_before(run);
    }
    EXPECT_EQ(bound.none, all_finished);
    EXPECT_TRUE(all_finished || !all_begun || taken_ != before) << "it must go on";
  }
  const std::vector<std::uint64_t>& taken() const { return taken_; }

 private:
  const std::byte* record(std::size_t run, std::uint64_t index) const {
    return records_of(run).data() + index * format_.record_bytes;
  }
  // The last record taken of each run comes before the first that `run` has not in memory.
  void expect_taken_before(std::size_t run) const {
    const std::byte* const missing = record(run, runs()[run].records_in_memory());
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i] == 0) continue;
      const int order = test::compare_records(format_, record(i, taken_[i] - 1), missing);
      EXPECT_TRUE(order < 0 || (order == 0 && i <= run)) << i << " beside " << run;
    }
  }

  const RecordFormat format_;
  CommonCells cells_{described(), 1000};
  Workers workers_{1};
  Mailbox mailbox_;
  io::IoService io_{test::simulated_queues(1)};
  std::vector<std::unique_ptr<PieceSorter>> sorters_;
  const MergeContext context_{{layout(), io_, workers_, mailbox_, nullptr}, sorters_, 10, 21};
  UsableRecords usable_{context_, runs(), cells_};
  std::vector<std::uint64_t> taken_ = std::vector<std::uint64_t>(runs().size());
};

TEST(UsableRecords, what_may_be_merged_comes_before_all_that_is_missing) {
  std::uint64_t seed = 400;
  for (const char* record : {"u64", "kv64", "fixed:24"}) {
    const RecordFormat format = format_of(record);
    for (const test::Distribution& distribution : test::distributions()) {
      SCOPED_TRACE(record + (" " + distribution.name) + " seed " + std::to_string(++seed));
      Random random(seed);
      const Bytes records = distribution.make(format, 200, random);
      Merging merging(format, test::merge::dealt_out(format, records, 6, random));
      for (;;) {
        merging.take();
        std::vector<std::uint32_t> unfinished;
        for (std::uint32_t run = 0; run < 6; ++run) {
          if (!merging.finished(run)) unfinished.push_back(run);
        }
        if (unfinished.empty()) break;
        merging.fetch_next_of(unfinished[random.below(unfinished.size())]);
      }
      for (std::size_t run = 0; run < 6; ++run) {
        EXPECT_EQ(merging.taken()[run], merging.runs()[run].run().records);
      }
    }
  }
}

TEST(UsableRecords, of_keys_equal_to_the_bound_only_those_of_runs_before_it_may_be_merged) {
  Merging merging(format_of("u64"), std::vector<Bytes>(5, Bytes(8 * 20, std::byte{7})));
  for (const std::uint32_t run : {0u, 1u}) {
    while (!merging.finished(run)) merging.fetch_next_of(run);
  }
  merging.fetch_next_of(2);
  merging.fetch_next_of(4);
  merging.take();  // the next block of run 2 sets the bound
  EXPECT_EQ(merging.taken(), (std::vector<std::uint64_t>{20, 20, 5, 0, 0}));
}

}  // namespace
}  // namespace xxl
