#include "sort/bucket_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;

constexpr std::size_t kMaxRecords = 2000;  // of one distribution

// A table with memory of its own.
class Table {
 public:
  Table(const RecordFormat& format, std::size_t slabs, std::size_t records_per_slab)
      : format_(format),
        layout_(format),
        memory_(SlabPool::memory_bytes(slabs, records_per_slab * format.record_bytes)),
        slabs_(memory_, records_per_slab * format.record_bytes),
        table_(layout_, slabs_, BucketTable::kMaxBuckets, 1234) {
    for (int worker = 0; worker < 2; ++worker) add_scratch();
  }

  BucketTable& operator*() { return table_; }
  BucketTable* operator->() { return &table_; }
  const KeyLayout& layout() const { return layout_; }
  std::size_t free_slabs() const { return slabs_.available(); }
  void give_back(const Chain& chain) { slabs_.give_back(chain.head); }
  const ScatterScratch& scratch(std::size_t worker = 0) const { return scratch_[worker]; }

  Segment segment(const Bytes& records) const {
    return {records.data(), records.size() / layout_.record_bytes()};
  }
  bool distribute(std::uint64_t ticket, const Bytes& records, std::size_t keep = 0) {
    const Segment all = segment(records);
    return table_.distribute(Ticket{ticket}, {&all, 1}, scratch_.front(), keep);
  }
  Bytes content(const Chain& chain) const {
    std::vector<Segment> segments;
    table_.slab_chains().append_segments(chain, segments);
    Bytes records;
    for (const Segment& s : segments) {
      records.insert(records.end(), s.records, s.records + s.count * layout_.record_bytes());
    }
    EXPECT_EQ(records.size(), chain.records * layout_.record_bytes());
    return records;
  }
  // Closes every bucket of the current run; their contents one behind the other, each sorted.
  Bytes take_run() {
    Bytes run;
    while (table_.frontier_records() > 0) {
      const Chain chain = table_.close_frontier(~std::uint64_t{0});
      const Bytes bucket = test::sorted_records(format_, content(chain));
      run.insert(run.end(), bucket.begin(), bucket.end());
      give_back(chain);
    }
    return run;
  }

 private:
  void add_scratch() {
    constexpr std::size_t kAlignment = 64;
    scratch_memory_.emplace_back(ScatterScratch::bytes(kMaxRecords, BucketTable::kMaxBuckets) +
                                 kAlignment);
    Bytes& memory = scratch_memory_.back();
    const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::size_t skip = round_up<std::uintptr_t>(start, kAlignment) - start;
    scratch_.push_back(ScatterScratch::carve(std::span<std::byte>(memory).subspan(skip),
                                             kMaxRecords, BucketTable::kMaxBuckets));
  }

  RecordFormat format_;
  KeyLayout layout_;
  Bytes memory_;
  SlabPool slabs_;
  BucketTable table_;
  std::vector<Bytes> scratch_memory_;
  std::vector<ScatterScratch> scratch_;
};

Bytes joined(const Bytes& a, const Bytes& b) {
  Bytes all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

class BucketTableOfFormat : public testing::TestWithParam<RecordFormat> {};

INSTANTIATE_TEST_SUITE_P(Formats, BucketTableOfFormat,
                         testing::Values(format_of("u32"), format_of("f64", {"0:f64:desc"}),
                                         format_of("kv64"), format_of("gensort"),
                                         format_of("fixed:3", {"1:u8"}), format_of("fixed:270")));

TEST_P(BucketTableOfFormat, buckets_one_behind_the_other_are_the_sorted_input) {
  const RecordFormat& format = GetParam();
  Random random(31);
  for (const test::Distribution& distribution : test::distributions()) {
    for (const std::size_t buckets : {1u, 2u, 16u, 100u}) {
      SCOPED_TRACE(distribution.name + " " + std::to_string(buckets));
      Table table(format, 1000, 7);
      const Bytes first = distribution.make(format, 500, random);
      const Bytes second = distribution.make(format, 700, random);
      table->choose_splitters(table.segment(first), buckets);
      ASSERT_TRUE(table.distribute(0, first));
      ASSERT_TRUE(table.distribute(1, second));
      EXPECT_FALSE(table->empty());
      ASSERT_EQ(table.take_run(), test::sorted_records(format, joined(first, second)));
      EXPECT_TRUE(table->empty());
      EXPECT_TRUE(table->run_is_empty());
      EXPECT_EQ(table.free_slabs(), 1000u);
    }
  }
}

TEST(BucketTable, records_that_come_too_late_wait_for_the_next_run) {
  const RecordFormat format = format_of("u64");
  Table table(format, 500, 4);
  Random random(32);
  const Bytes first = test::random_records(format, 500, random);
  const Bytes second = test::random_records(format, 500, random);
  table->choose_splitters(table.segment(first), 10);
  ASSERT_TRUE(table.distribute(0, first));
  Bytes left;
  for (int i = 0; i < 5; ++i) {
    ASSERT_GT(table->frontier_records(), 0u);
    const Chain chain = table->close_frontier(~std::uint64_t{0});
    const Bytes bucket = test::sorted_records(format, table.content(chain));
    left.insert(left.end(), bucket.begin(), bucket.end());
    table.give_back(chain);
  }
  table->begin_round();
  ASSERT_TRUE(table.distribute(0, second));
  const Bytes first_run = joined(left, table.take_run());
  EXPECT_EQ(first_run, test::sorted_records(format, first_run));
  EXPECT_TRUE(table->run_is_empty());
  EXPECT_FALSE(table->empty());
  table->start_next_run();
  const Bytes second_run = table.take_run();
  EXPECT_EQ(second_run, test::sorted_records(format, second_run));
  EXPECT_TRUE(table->empty());
  EXPECT_EQ(test::sorted_records(format, joined(first_run, second_run)),
            test::sorted_records(format, joined(first, second)));
}

TEST(BucketTable, without_room_nothing_is_stored_and_the_round_is_over) {
  const RecordFormat format = format_of("u32");
  Table table(format, 40, 10);
  Random random(33);
  const Bytes some = test::random_records(format, 200, random);
  const Bytes many = test::random_records(format, 400, random);
  const Bytes few = test::random_records(format, 1, random);
  table->choose_splitters(table.segment(some), 4);
  ASSERT_TRUE(table.distribute(0, some));
  const std::size_t free = table.free_slabs();
  EXPECT_FALSE(table.distribute(1, many));
  EXPECT_FALSE(table.distribute(2, few));
  EXPECT_EQ(table.free_slabs(), free);
  table->begin_round();
  EXPECT_FALSE(table.distribute(0, few, free + 1));  // less than `keep` would be left
  table->begin_round();
  EXPECT_TRUE(table.distribute(0, few));
  EXPECT_EQ(table.take_run(), test::sorted_records(format, joined(some, few)));
}

TEST(BucketTable, workers_store_in_the_order_of_their_tickets) {
  const RecordFormat format = format_of("kv64");
  Table table(format, 2000, 5);
  Random random(34);
  const Bytes records = test::few_distinct_records(format, 8000, 9, random);
  const std::size_t part_bytes = 400 * format.record_bytes;
  const Segment head{records.data(), 400};
  table->choose_splitters(head, 5);
  std::vector<std::jthread> threads;
  for (std::uint64_t worker = 0; worker < 2; ++worker) {
    threads.emplace_back([&, worker] {
      for (std::uint64_t ticket = worker; ticket < 20; ticket += 2) {
        const Segment part{records.data() + ticket * part_bytes, 400};
        EXPECT_TRUE(table->distribute(Ticket{ticket}, {&part, 1}, table.scratch(worker), 0));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(table.take_run(), test::sorted_records(format, records));  // stable: same bytes
}

TEST(BucketTable, a_key_that_fills_a_bucket_has_it_to_itself) {
  const RecordFormat format = format_of("kv64");
  Table table(format, 500, 8);
  Random random(35);
  Bytes records = test::random_records(format, 900, random);
  const Bytes equal = test::few_distinct_records(format, 900, 1, random);
  records.insert(records.end(), equal.begin(), equal.end());
  table->choose_splitters(table.segment(records), 8);
  ASSERT_TRUE(table.distribute(0, records));
  bool found = false;
  while (table->frontier_records() > 0) {
    const bool one_key = table->frontier_is_one_key();
    const Chain chain = table->close_frontier(~std::uint64_t{0});
    if (one_key) {
      found = true;
      EXPECT_EQ(table.content(chain), equal);
    }
    table.give_back(chain);
  }
  EXPECT_TRUE(found);
}

TEST(BucketTable, splitting_keeps_all_records_in_stable_order) {
  const RecordFormat format = format_of("kv32");
  Random random(36);
  for (const test::Distribution& distribution : test::distributions()) {
    SCOPED_TRACE(distribution.name);
    Table table(format, 2000, 4);
    const Bytes narrow = test::few_distinct_records(format, 50, 2, random);
    const Bytes records = distribution.make(format, 1500, random);
    table->choose_splitters(table.segment(narrow), 2);  // splitters that fit nothing
    ASSERT_TRUE(table.distribute(0, records));
    for (int i = 0; i < 10; ++i) {
      const auto bucket = table->oversized(200);
      if (!bucket) break;
      const std::uint64_t in_bucket = table->records_in(*bucket);
      Chain chain = table->split(*bucket, 8);
      if (chain.records == 0) break;
      EXPECT_EQ(chain.records, in_bucket);
      EXPECT_EQ(table->records_in(*bucket), 0u);
      table->begin_round();
      for (std::uint64_t ticket = 0; chain.records > 0; ++ticket) {
        const Chain part = table->slab_chains().take_front(chain, 16);
        std::vector<Segment> segments;
        table->slab_chains().append_segments(part, segments);
        ASSERT_TRUE(table->distribute(Ticket{ticket}, segments, table.scratch(), 0));
        table.give_back(part);
      }
    }
    EXPECT_EQ(table->oversized(1000), std::nullopt);
    ASSERT_EQ(table.take_run(), test::sorted_records(format, records));
    EXPECT_EQ(table.free_slabs(), 2000u);
  }
}

TEST(BucketTable, a_bucket_of_keys_that_differ_beyond_splitters_cannot_be_split) {
  const RecordFormat format = format_of("fixed:300");
  Table table(format, 300, 3);
  Random random(37);
  const Bytes records = test::common_prefix_records(format, 300, 8 * kMaxSplitterWords, random);
  table->choose_splitters(table.segment(records), 4);
  ASSERT_TRUE(table.distribute(0, records));
  const auto bucket = table->oversized(100);
  ASSERT_TRUE(bucket);
  EXPECT_EQ(table->split(*bucket, 4).records, 0u);
  EXPECT_EQ(table->records_in(*bucket), 300u);
  EXPECT_EQ(table.take_run(), test::sorted_records(format, records));
}

TEST(BucketTable, a_bucket_is_crowded_when_it_grows_past_the_limit) {
  const RecordFormat format = format_of("u64");
  Table table(format, 500, 8);
  Random random(38);
  const Bytes records = test::random_records(format, 300, random);
  table->choose_splitters(table.segment(records), 2);
  table->set_crowded_limit(250);
  ASSERT_TRUE(table.distribute(0, records));
  EXPECT_FALSE(table->is_crowded());
  ASSERT_TRUE(table.distribute(1, test::random_records(format, 600, random)));
  EXPECT_TRUE(table->is_crowded());
  table->begin_round();
  EXPECT_FALSE(table->is_crowded());
}

// ---- cells ----

// u64 records of `keys`.
Bytes records_of(const std::vector<std::uint64_t>& keys) {
  Bytes records(8 * keys.size());
  std::memcpy(records.data(), keys.data(), records.size());
  return records;
}

// Keys 1000 * i + 1, ..., 1000 * i + 30, for i below `groups`: too far apart to share a bucket when
// there are many.
Bytes grouped(std::size_t groups) {
  std::vector<std::uint64_t> keys;
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::uint64_t i = 1; i <= 30; ++i) keys.push_back(1000 * group + i);
  }
  return records_of(keys);
}

class BucketTableCells : public testing::Test {
 protected:
  BucketTableCells() {
    const Bytes records = grouped(40);
    table_->choose_splitters(table_.segment(records), 8);
    EXPECT_TRUE(table_.distribute(0, records));
    cells_.assign(table_->cells().begin(), table_->cells().end());
  }

  // Splits `bucket` and distributes its records again.
  void split(std::size_t bucket) {
    const std::size_t before = table_->buckets();
    Chain chain = table_->split(bucket, 4);
    ASSERT_GT(chain.records, 0u);
    ASSERT_GT(table_->buckets(), before);
    table_->begin_round();
    std::vector<Segment> segments;
    table_->slab_chains().append_segments(chain, segments);
    ASSERT_TRUE(table_->distribute(Ticket{0}, segments, table_.scratch(), 0));
    table_.give_back(chain);
  }

  void expect_same_cells() {
    const std::vector<SplitterKey> now(table_->cells().begin(), table_->cells().end());
    EXPECT_EQ(now, cells_);
  }

  Table table_{format_of("u64"), 3000, 4};
  std::vector<SplitterKey> cells_;
};

TEST_F(BucketTableCells, a_bucket_is_a_whole_cell_until_it_is_split) {
  std::size_t cell = 0;
  while (table_->frontier_records() > 0) {
    EXPECT_TRUE(table_->frontier_is_whole_cell());
    EXPECT_GE(table_->frontier_cell(), cell);
    cell = table_->frontier_cell() + 1;
    table_.give_back(table_->close_frontier(~std::uint64_t{0}));
  }
  EXPECT_EQ(cell, cells_.size() + 1);
}

TEST_F(BucketTableCells, parts_of_a_split_bucket_stay_parts_of_its_cell) {
  ASSERT_GE(table_->buckets(), 4u);
  ASSERT_NO_FATAL_FAILURE(split(2));
  expect_same_cells();
  std::size_t parts = 0;
  while (table_->frontier_records() > 0) {
    const bool of_split = table_->frontier_cell() == 2;
    EXPECT_EQ(table_->frontier_is_whole_cell(), !of_split) << table_->frontier();
    parts += of_split ? 1 : 0;
    table_.give_back(table_->close_frontier(~std::uint64_t{0}));
  }
  EXPECT_GT(parts, 1u);
}

TEST_F(BucketTableCells, the_last_part_of_a_cell_is_not_all_of_it_though_the_others_have_left) {
  ASSERT_NO_FATAL_FAILURE(split(0));
  ASSERT_GT(table_->frontier_records(), 0u);
  while (table_->frontier_cell() == 0 && table_->frontier_records() > 0) {
    if (table_->frontier_cell() != 0) break;
    EXPECT_FALSE(table_->frontier_is_whole_cell());
    table_.give_back(table_->close_frontier(~std::uint64_t{0}));
    table_->join_empty();
    table_->begin_round();
  }
  EXPECT_TRUE(table_->frontier_is_whole_cell());
}

TEST_F(BucketTableCells, joined_again_a_split_cell_is_whole_and_no_other_is_joined) {
  const std::size_t buckets = table_->buckets();
  ASSERT_NO_FATAL_FAILURE(split(3));
  ASSERT_NO_FATAL_FAILURE(split(1));
  while (table_->frontier_records() > 0) {
    table_.give_back(table_->close_frontier(~std::uint64_t{0}));
  }
  table_->start_next_run();
  EXPECT_TRUE(table_->empty());
  table_->join_empty();
  table_->begin_round();
  EXPECT_GE(table_->buckets(), std::min<std::size_t>(buckets, 8));
  expect_same_cells();
  const Bytes records = grouped(40);
  ASSERT_TRUE(table_.distribute(0, records));
  std::vector<std::size_t> cells;
  Bytes run;
  while (table_->frontier_records() > 0) {
    cells.push_back(table_->frontier_cell());
    const Chain chain = table_->close_frontier(~std::uint64_t{0});
    for (const std::byte byte : table_.content(chain)) run.push_back(byte);
    table_.give_back(chain);
  }
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  EXPECT_EQ(cells.size(), cells_.size() + 1) << "every cell has a bucket of its own still";
  EXPECT_TRUE(std::is_sorted(cells.begin(), cells.end()));
  EXPECT_EQ(test::sorted_records(format_of("u64"), run), records);
}

TEST_F(BucketTableCells, an_empty_bucket_ahead_of_the_frontier_is_not_joined_to_one_behind) {
  // The first cell in parts, of which the first has left: what comes for it is the next run's.
  ASSERT_NO_FATAL_FAILURE(split(0));
  ASSERT_GT(table_->frontier_records(), 0u);
  const Chain first = table_->close_frontier(~std::uint64_t{0});
  const Bytes left = table_.content(first);
  table_.give_back(first);
  ASSERT_GT(table_->frontier_records(), 0u);
  ASSERT_EQ(table_->frontier_cell(), 0u);
  const Chain second = table_->empty_frontier();  // stays open
  const Bytes moved = table_.content(second);
  table_->join_empty();
  table_->begin_round();
  ASSERT_TRUE(table_.distribute(0, moved));
  table_.give_back(second);
  ASSERT_TRUE(table_.distribute(1, left));
  EXPECT_EQ(table_->frontier_records(), moved.size() / 8) << "they are of the current run";
  const Chain again = table_->close_frontier(~std::uint64_t{0});
  EXPECT_EQ(table_.content(again), moved);
  table_.give_back(again);
  table_.take_run();
  table_->start_next_run();
  EXPECT_EQ(table_->frontier_records(), left.size() / 8) << "and these are of the next";
}

TEST_F(BucketTableCells, a_frontier_bucket_of_more_than_wanted_is_not_closed) {
  const std::uint64_t records = table_->frontier_records();
  const std::size_t frontier = table_->frontier();
  ASSERT_GT(records, 1u);
  EXPECT_EQ(table_->close_frontier(records - 1).records, 0u);
  EXPECT_EQ(table_->frontier(), frontier);
  EXPECT_EQ(table_->frontier_records(), records);
  const Chain chain = table_->close_frontier(records);
  EXPECT_EQ(chain.records, records);
  EXPECT_EQ(table_->frontier(), frontier + 1);
  table_.give_back(chain);
}

TEST_F(BucketTableCells, an_emptied_frontier_stays_in_the_current_run) {
  const std::uint64_t records = table_->frontier_records();
  const std::size_t frontier = table_->frontier();
  const Chain chain = table_->empty_frontier();
  EXPECT_EQ(chain.records, records);
  EXPECT_EQ(table_->frontier(), frontier);
  EXPECT_EQ(table_->close_frontier(100).records, 0u) << "nothing is in it to be closed";
  EXPECT_EQ(table_->frontier(), frontier);
  ASSERT_TRUE(table_.distribute(1, table_.content(chain)));
  EXPECT_EQ(table_->frontier_records(), records);
  table_.give_back(chain);
}

TEST(BucketTable, the_front_of_a_chain_is_taken_in_whole_slabs) {
  const RecordFormat format = format_of("u32");
  Table table(format, 100, 10);
  Bytes records(95 * 4);
  const Bytes numbers = [&] {
    for (std::uint32_t i = 0; i < 95; ++i) std::memcpy(records.data() + 4 * i, &i, 4);
    return records;
  }();
  table->choose_splitters(table.segment(numbers), 1);
  ASSERT_TRUE(table.distribute(0, numbers));
  ASSERT_EQ(table->frontier_records(), 95u);
  Bytes taken;
  Chain chain = table->empty_frontier();
  for (const std::uint64_t expected : {40u, 40u, 15u}) {
    const Chain front = table->slab_chains().take_front(chain, 4);
    EXPECT_EQ(front.records, expected);
    taken = joined(taken, table.content(front));
    table.give_back(front);
  }
  EXPECT_EQ(taken, numbers);
  EXPECT_TRUE(table->empty());
  EXPECT_EQ(table.free_slabs(), 100u);
}

}  // namespace
}  // namespace xxl
