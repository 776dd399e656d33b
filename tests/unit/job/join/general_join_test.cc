// Whole joins of text, over real files: with queues that complete in random order and fail on
// demand.
#include "job/join/general_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "io_test_support.h"
#include "join/line_rows.h"
#include "record/field_keys.h"
#include "simulated_queue.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using test::Fault;
using Records = std::vector<std::string>;

// The first field of a line.
std::string key_of(const std::string& line) {
  return line.substr(0, line.find(' '));
}

std::string rest_of(const std::string& line) {
  return line.substr(key_of(line).size());
}

// What a join makes of lines "key rest".
std::string expected_rows(const Records& r, const Records& s, const JoinShape& shape) {
  std::map<std::string, std::array<Records, 2>> groups;
  for (const std::string& line : r) groups[key_of(line)][0].push_back(line);
  for (const std::string& line : s) groups[key_of(line)][1].push_back(line);
  std::string text;
  for (const auto& [key, sides] : groups) {
    const bool both = !sides[0].empty() && !sides[1].empty();
    if (both && shape.pairs) {
      for (const std::string& a : sides[0]) {
        for (const std::string& b : sides[1]) text += a + rest_of(b) + "\n";
      }
    }
    if (both ? shape.matched_r : shape.unmatched_r) {
      for (const std::string& a : sides[0]) text += a + "\n";
    }
    if (!both && shape.unmatched_s) {
      for (const std::string& b : sides[1]) text += b + "\n";
    }
  }
  return text;
}

std::string text_of(const Records& records) {
  std::string text;
  for (const std::string& record : records) text += record + "\n";
  return text;
}

Records random_lines(Random& random, std::size_t bytes, std::uint64_t keys, std::uint64_t frequent,
                     std::size_t longest) {
  Records records;
  for (std::size_t made = 0; made < bytes; made += records.back().size() + 1) {
    std::string& line = records.emplace_back("k" + std::to_string(random.below(keys)));
    if (frequent > 0 && random.below(20) == 0) {
      line = "frequent";
      --frequent;
    }
    line += " " + std::to_string(records.size());
    if (random.below(100) == 0) line.append(random.below(longest), 'l');
  }
  return records;
}

void sort_by_key(Records& records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
}

class GeneralJoinTest : public test::WholeSortTest {
 protected:
  GeneralJoinTest() {
    const auto keys = make_field_keys({.syntax = {}, .fields = {0}});
    for (RecordRules& rules : options_.rules) rules.keys = keys;
    options_.shape = shape_of(JoinKind::inner);
    options_.make_rows = [] {
      LineRowFormat format;
      format.key_fields = {std::vector<std::size_t>{0}, std::vector<std::size_t>{0}};
      return std::make_unique<LineRows>(format);
    };
    options_.inputs = {directory_ / "r", directory_ / "s"};
    options_.output = output_;
    options_.memory_bytes = 4 * kMiB;
    options_.scratch_dirs = {scratch_};
    options_.threads = 2;
  }

  void set_inputs(Records r, Records s) {
    if (options_.presorted[0]) sort_by_key(r);
    if (options_.presorted[1]) sort_by_key(s);
    write_file(options_.inputs[0], text_of(r));
    write_file(options_.inputs[1], text_of(s));
    sides_ = {std::move(r), std::move(s)};
  }

  JoinReport expect_joined() {
    const JoinReport report = general_join(options_);
    const std::string expected = expected_rows(sides_[0], sides_[1], options_.shape);
    EXPECT_TRUE(file_text(options_.output) == expected) << "the output is wrong";
    EXPECT_EQ(report.rows,
              static_cast<std::uint64_t>(std::count(expected.begin(), expected.end(), '\n')));
    EXPECT_EQ(report.sides[0].records, sides_[0].size());
    EXPECT_EQ(report.sides[1].records, sides_[1].size());
    expect_nothing_left();
    return report;
  }

  Error error_of_join() const {
    return error_of_sort(options_.output, [&] { general_join(options_); });
  }

  GeneralJoinOptions options_;
  std::array<Records, kJoinSides> sides_;
};

TEST_F(GeneralJoinTest, any_inputs_by_any_options_in_any_order_of_completion) {
  for (unsigned round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(round);
    const JoinKind kinds[] = {JoinKind::inner, JoinKind::left, JoinKind::right,
                              JoinKind::full,  JoinKind::semi, JoinKind::anti};
    options_.shape = shape_of(kinds[round % 6]);
    options_.presorted = {random.below(3) == 0, random.below(3) == 0};
    options_.threads = 1 + static_cast<unsigned>(random.below(3));
    options_.batch_size = random.below(2) == 0 ? 0 : 2;
    options_.queue_factory = test::simulated_queues(round);
    options_.spare_table_bytes.reset();
    if (round % 2 == 1) options_.spare_table_bytes = 0;
    const std::uint64_t keys = 1 + random.below(random.below(2) == 0 ? 300'000 : 30'000);
    const std::size_t sizes[] = {0, 100, 300'000, 6 * kMiB};
    set_inputs(random_lines(random, sizes[random.below(4)], keys, 3, 20'000),
               random_lines(random, keys > 1000 ? sizes[random.below(4)] : 1000, keys, 5000, 5000));
    if (keys < 1000 && sides_[0].size() > 3000) continue;  // too many rows
    expect_joined();
    if (HasFailure()) return;
  }
}

TEST_F(GeneralJoinTest, large_inputs_go_through_scratch_and_groups_that_do_not_fit_too) {
  Random random(7);
  set_inputs(random_lines(random, 5 * kMiB, 200'000, 4, 10),
             random_lines(random, 8 * kMiB, 200'000, 60'000, 3000));
  const JoinReport report = expect_joined();
  EXPECT_GT(report.sides[0].runs, 2u);
  EXPECT_GT(report.scratch_bytes, 8 * kMiB);
  EXPECT_GT(report.spilled_bytes, 0u);
}

// Counts how often an S is taken apart.
class CountingRows final : public JoinRows {
 public:
  CountingRows(std::unique_ptr<JoinRows> rows, std::atomic<std::uint64_t>& taken_apart)
      : rows_(std::move(rows)), taken_apart_(taken_apart) {}
  void set_r(std::string_view r) override { rows_->set_r(r); }
  void append_pair(std::string_view s, std::string& row) override {
    ++taken_apart_;
    rows_->append_pair(s, row);
  }
  void append_part(std::string_view s, std::string& part) override {
    ++taken_apart_;
    rows_->append_part(s, part);
  }
  void append_pair_of_part(std::string_view part, std::string& row) override {
    rows_->append_pair_of_part(part, row);
  }
  void append_alone(JoinSide side, std::string_view record, std::string& row) override {
    rows_->append_alone(side, record, row);
  }

 private:
  std::unique_ptr<JoinRows> rows_;
  std::atomic<std::uint64_t>& taken_apart_;
};

TEST_F(GeneralJoinTest, an_s_of_many_rs_is_taken_apart_once) {
  std::atomic<std::uint64_t> taken_apart = 0;
  options_.make_rows = [&, make = options_.make_rows] {
    return std::make_unique<CountingRows>(make(), taken_apart);
  };
  Random random(9);
  set_inputs(random_lines(random, 2000, 5, 50, 10), random_lines(random, 10'000, 5, 50, 10));
  expect_joined();
  EXPECT_EQ(taken_apart, sides_[1].size());
}

TEST_F(GeneralJoinTest, what_has_no_room_for_its_tables_is_compacted_and_joined_as_it_is_merged) {
  Random random(12);
  set_inputs(random_lines(random, 9 * kMiB, 200'000, 4, 10),
             random_lines(random, 8 * kMiB, 200'000, 1000, 10));
  expect_joined();
  options_.spare_table_bytes = 0;
  const JoinReport report = expect_joined();
  EXPECT_GT(report.sides[0].passes, 0u);
  EXPECT_GT(report.sides[1].passes, 0u);
}

TEST_F(GeneralJoinTest, rows_that_are_counted_are_not_written) {
  Random random(8);
  set_inputs(random_lines(random, 100'000, 1000, 0, 10), random_lines(random, 50'000, 1000, 0, 10));
  const std::uint64_t rows = expect_joined().rows;
  write_file(output_, "as it was");
  options_.count_only = true;
  const JoinReport report = general_join(options_);
  EXPECT_EQ(report.rows, rows);
  EXPECT_EQ(report.bytes_written, 0u);
  EXPECT_EQ(file_text(output_), "as it was");
}

TEST_F(GeneralJoinTest, an_input_that_is_said_to_be_sorted_and_is_not_is_an_error_with_its_line) {
  for (const std::size_t side : {0, 1}) {
    options_.presorted = {};
    set_inputs({"a 1", "c 2", "b 3"}, {"a 1", "c 2", "b 3"});
    options_.presorted[side] = true;
    const Error error = error_of_join();
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_EQ(error.path(), options_.inputs[side]);
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
  }
}

TEST_F(GeneralJoinTest, an_input_that_looks_sorted_is_joined_as_it_is_read) {
  Random random(10);
  options_.presorted = {true, true};
  set_inputs(random_lines(random, 5 * kMiB, 200'000, 0, 10),
             random_lines(random, 6 * kMiB, 200'000, 0, 10));
  options_.presorted = {};
  const JoinReport report = expect_joined();
  EXPECT_TRUE(report.plan.sides[0].presorted);
  EXPECT_TRUE(report.plan.sides[1].presorted);
  EXPECT_EQ(report.scratch_bytes, 0u);
}

TEST_F(GeneralJoinTest, an_input_that_looks_sorted_and_is_not_is_sorted) {
  Random random(11);
  options_.presorted = {true, true};
  set_inputs(random_lines(random, 5 * kMiB, 200'000, 0, 10),
             random_lines(random, 6 * kMiB, 200'000, 0, 10));
  options_.presorted = {};
  std::swap(sides_[1][sides_[1].size() / 64 * 63], sides_[1][sides_[1].size() / 64 * 63 + 100]);
  write_file(options_.inputs[1], text_of(sides_[1]));
  const JoinReport report = expect_joined();
  EXPECT_FALSE(report.plan.sides[1].presorted);
  EXPECT_GT(report.sides[1].runs, 0u);
}

TEST_F(GeneralJoinTest, text_is_not_joined_by_hashing) {
  options_.method = JoinMethod::hash;
  set_inputs({"a"}, {"a"});
  EXPECT_EQ(error_of_join().code(), ErrorCode::usage);
}

TEST_F(GeneralJoinTest, the_plan_tells_runs_and_scratch) {
  Random random(9);
  set_inputs(random_lines(random, 6 * kMiB, 1000, 0, 10), {"a"});
  options_.presorted[1] = true;
  const JoinPlan plan = plan_general_join(options_);
  EXPECT_EQ(plan.method, JoinMethod::sort_merge);
  EXPECT_GT(plan.sides[0].expected_runs, 2u);
  EXPECT_GT(plan.sides[0].scratch_bytes, 6 * kMiB);
  EXPECT_TRUE(plan.sides[1].presorted);
  EXPECT_EQ(plan.sides[1].scratch_bytes, 0u);
}

// ---- faults ----

class GeneralJoinFaults : public GeneralJoinTest {
 protected:
  GeneralJoinFaults() {
    Random random(31);
    set_inputs(random_lines(random, 2 * kMiB, 60'000, 3, 10'000),
               random_lines(random, 3 * kMiB, 60'000, 3000, 10'000));
    options_.batch_size = 5;
  }

  void expect_errors(const Fault::Kind& kind, std::size_t samples,
                     const test::TransferFunction& strike, ErrorCode code) {
    test::expect_errors(
        kind, samples, strike, code, 8,
        [this](io::IoService::Factory queues) {
          options_.queue_factory = std::move(queues);
          expect_joined();
        },
        [this](io::IoService::Factory queues) {
          options_.queue_factory = std::move(queues);
          return error_of_join();
        });
  }

  Fault::Kind scratch(io::Op op) const { return test::transfers_of(scratch_, op); }
};

TEST_F(GeneralJoinFaults, any_failing_transfer_ends_the_join) {
  expect_errors(test::any_transfer, 15, test::failing(EIO), ErrorCode::io);
}

TEST_F(GeneralJoinFaults, any_failing_transfer_ends_the_join_of_sorted_files) {
  options_.presorted = {true, true};
  set_inputs(sides_[0], sides_[1]);
  expect_errors(test::any_transfer, 10, test::failing(EIO), ErrorCode::io);
}

TEST_F(GeneralJoinFaults, a_flipped_bit_in_scratch_is_noticed) {
  expect_errors(scratch(io::Op::read), 8, test::changing(0), ErrorCode::corrupt);
}

TEST_F(GeneralJoinFaults, a_block_that_is_not_written_as_it_was_is_noticed) {
  expect_errors(
      scratch(io::Op::write), 8,
      [](const io::Request& request) {
        request.data[1] ^= std::byte{1};
        return test::honest_transfer(request);
      },
      ErrorCode::corrupt);
}

}  // namespace
}  // namespace xxl
