// Whole sorts of text, over real files: with the real backends, and with queues that complete in
// random order.
#include "job/general_sort/general_sort.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "job/general_sort/general_sort_fixture.h"
#include "late_fault.h"
#include "record/line_keys.h"
#include "record/line_order.h"
#include "simulated_queue.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using namespace test;

TEST_F(GeneralSortTest, any_records_by_any_options_in_any_order_of_completion) {
  for (unsigned round = 0; round < 40; ++round) {
    Random random(round);
    forget_inputs();
    const unsigned kind = round % kKinds;
    GeneralSortOptions& options = options_;
    options.keys = random.below(2) == 0 ? std::shared_ptr<const KeyExtractor>(new WholeLine)
                                        : std::make_shared<BackwardsKey>();
    options.syntax.terminator = random.below(4) == 0 ? '\0' : '\n';
    const std::size_t files = random.below(3) == 0 ? 1 + random.below(5) : 1;
    const std::size_t bytes = random.below(3) == 0 ? random.below(2000) : 2 * kMiB / files;
    for (std::size_t i = 0; i < files; ++i) {
      Records records = random_records(kind, random.below(5) == 0 ? 0 : bytes, random);
      if (options.syntax.terminator == '\0') {
        for (std::string& record : records) std::replace(record.begin(), record.end(), '\0', 'z');
      }
      add_input(records, random.below(2) == 0);
    }
    options.memory_bytes = (kind == 6 ? 3 * kMiB : kMiB) + random.below(4 * kMiB);
    options.threads = static_cast<unsigned>(1 + random.below(8));
    options.unique = random.below(3) == 0;
    options.fold = nullptr;
    if (options.unique && random.below(2) == 0) options.fold = std::make_unique<Counter>;
    options.skip = random.below(4) == 0 ? random.below(50000) : 0;
    options.limit.reset();
    if (random.below(4) == 0) options.limit = random.below(2) == 0 ? 10 : random.below(50000);
    options.batch_size = random.below(3) == 0 ? static_cast<unsigned>(2 + random.below(5)) : 0;
    options.scratch_dirs = {scratch_};
    if (random.below(3) == 0) options.scratch_dirs.push_back(scratch_ + "2");
    options.queue_factory = nullptr;
    if (random.below(3) != 0) options.queue_factory = test::simulated_queues(round);
    options.spare_table_bytes.reset();
    if (random.below(3) == 0) options.spare_table_bytes = random.below(5000);
    SCOPED_TRACE("round " + std::to_string(round));
    expect_sorted(options);
    if (HasFailure()) return;
  }
}

TEST_F(GeneralSortTest, files_of_which_not_all_may_be_open_are_read_in_their_order) {
  // The key is one letter: what is equal stays in the order of the inputs.
  LineOrder order;
  order.fields = {parse_line_key("1,1")};
  order.stable = true;
  options_.keys = make_line_keys(order);
  for (const unsigned large : {150000U, 200000U, 250000U}) {  // records of one file
    forget_inputs();
    unsigned number = 1000000;
    for (unsigned i = 0; i < 261; ++i) {
      Records records(i == 60 ? large : 10);
      for (std::string& record : records) record = "k 00" + std::to_string(number++);
      add_input(records, i % 2 == 0);
    }
    for (const unsigned memory : {4U, 16U, 32U}) {
      SCOPED_TRACE(std::to_string(large) + " records in " + std::to_string(memory) + " MiB");
      options_.memory_bytes = memory * kMiB;
      expect_sorted(options_);
      if (HasFailure()) return;
    }
  }
}

TEST_F(GeneralSortTest, no_input_is_sorted_to_no_output) {
  add_input({});
  EXPECT_EQ(expect_sorted(options_).records_out, 0u);
  add_input({});
  options_.merge_only = true;
  expect_sorted(options_);
}

TEST_F(GeneralSortTest, sorted_files_are_merged_in_one_pass_or_in_several) {
  for (unsigned round = 0; round < 40; ++round) {
    Random random(round);
    forget_inputs();
    options_.keys = random.below(2) == 0 ? std::shared_ptr<const KeyExtractor>(new WholeLine)
                                         : std::make_shared<BackwardsKey>();
    const std::size_t files = 1 + random.below(12);
    for (std::size_t i = 0; i < files; ++i) {
      Records records = random_records(round % 6, random.below(200000), random);
      std::stable_sort(records.begin(), records.end(), [&](const auto& a, const auto& b) {
        return key_of(*options_.keys, a) < key_of(*options_.keys, b);
      });
      add_input(records, random.below(2) == 0);
    }
    options_.merge_only = true;
    options_.unique = random.below(3) == 0;
    options_.fold = nullptr;
    if (options_.unique && random.below(2) == 0) options_.fold = std::make_unique<Counter>;
    options_.batch_size = random.below(2) == 0 ? static_cast<unsigned>(2 + random.below(3)) : 0;
    options_.queue_factory = test::simulated_queues(round);
    SCOPED_TRACE("round " + std::to_string(round));
    expect_sorted(options_);
    if (HasFailure()) return;
  }
}

TEST_F(GeneralSortTest, records_that_are_longer_than_a_block_and_than_a_region) {
  options_.memory_bytes = 8 * kMiB;
  for (const bool made : {false, true}) {
    for (const std::size_t longest : {20000u, 100000u, 1000000u}) {
      for (const unsigned threads : {1u, 2u}) {
        if (threads == 2 && longest < 1000000) continue;
        SCOPED_TRACE(std::to_string(longest) + " made " + std::to_string(made));
        Random random(longest);
        forget_inputs();
        if (made) options_.keys = std::make_shared<BackwardsKey>();
        Records records;
        for (std::size_t bytes = 0; bytes < 12 * kMiB;) {
          std::string& record = records.emplace_back(longest / 2 + random.below(longest / 2), 'l');
          record += std::to_string(random.below(1000));
          bytes += record.size();
          for (int i = 0; i < 1000; ++i) records.push_back(std::to_string(random.below(100000)));
        }
        add_input(records);
        options_.threads = threads;
        options_.queue_factory = test::simulated_queues(longest);
        expect_sorted(options_);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(GeneralSortTest, a_record_that_is_too_long_is_an_error_that_names_its_place) {
  Records records(1000, "short");
  records.emplace_back(900000, 'l');
  const std::string path = add_input(records);
  const Error error = error_of(options_);
  EXPECT_EQ(error.code(), ErrorCode::no_space);
  EXPECT_EQ(error.path(), path);
  EXPECT_EQ(error.offset(), 6000u);
}

TEST_F(GeneralSortTest, an_input_may_end_at_any_time_after_runs_were_compacted) {
  options_.spare_table_bytes = 0;
  options_.threads = 1;
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  options_.keys = std::make_shared<BackwardsKey>();
  options_.memory_bytes = 2 * kMiB;
  for (std::size_t bytes = kMiB; bytes < 6 * kMiB; bytes += 128 * kKiB) {
    SCOPED_TRACE(std::to_string(bytes) + " bytes");
    Random random(bytes);
    forget_inputs();
    const std::string file = add_input(random_records(3, bytes, random));
    std::thread writer([&] { write_file(pipe, file_text(file)); });
    options_.inputs = {pipe};
    expect_sorted(options_);
    writer.join();
    if (HasFailure()) return;
  }
}

TEST_F(GeneralSortTest, what_comes_out_of_a_pipe_is_sorted_like_a_file) {
  Random random(21);
  const Records records = random_records(2, 5 * kMiB, random);
  const std::string file = add_input(records);
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { write_file(pipe, file_text(file)); });
  options_.inputs = {pipe};
  expect_sorted(options_);
  writer.join();
}

TEST_F(GeneralSortTest, runs_are_compacted_when_their_tables_take_what_they_may) {
  Random random(31);
  options_.memory_bytes = 2 * kMiB;
  for (const unsigned kind : {3U, 5U}) {
    forget_inputs();
    const std::string file = add_input(random_records(kind, 10 * kMiB, random));
    const std::string pipe = directory_ / "pipe";
    for (const bool is_pipe : {false, true}) {
      SCOPED_TRACE("kind " + std::to_string(kind) + (is_pipe ? " pipe" : " file"));
      options_.spare_table_bytes.reset();
      const unsigned usual = expect_sorted(options_).passes;
      options_.spare_table_bytes = 0;
      std::thread writer;
      if (is_pipe) {
        std::filesystem::remove(pipe);
        ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
        writer = std::thread([&] { write_file(pipe, file_text(file)); });
        options_.inputs = {pipe};
      }
      const SortReport report = expect_sorted(options_);
      if (is_pipe) writer.join();
      options_.inputs = {file};
      EXPECT_GE(report.passes, 2U);
      EXPECT_GE(report.passes, usual);
    }
  }
}

TEST_F(GeneralSortTest, of_every_input_the_header_is_left_out_and_the_first_is_kept) {
  Random random(22);
  options_.syntax.header = true;
  Records expected;
  for (int file = 0; file < 3; ++file) {
    Records records = random_records(0, file == 1 ? 0 : kMiB, random);
    expected.insert(expected.end(), records.begin(), records.end());
    records.insert(records.begin(), "zzz header");
    add_input(records, file != 1);
  }
  for (const bool merge_only : {false, true}) {
    options_.merge_only = merge_only;
    if (merge_only) {
      forget_inputs();
      std::sort(expected.begin(), expected.end());
      Records records = expected;
      records.insert(records.begin(), "zzz header");
      add_input(records);
      add_input({"zzz header"});
    }
    const SortReport report = general_sort(options_);
    EXPECT_EQ(report.records_out, expected.size());
    EXPECT_TRUE(file_text(output_) == "zzz header\n" + expected_of(options_, expected));
  }
}

TEST_F(GeneralSortTest, malformed_rows_are_left_out_or_are_an_error) {
  options_.syntax.rows = true;
  auto fate = RecordFault::Fate::error;
  options_.malformed = [&](std::string_view record) -> std::optional<RecordFault> {
    if (record.starts_with("bad")) return RecordFault{"it says so", fate};
    return std::nullopt;
  };
  Random random(23);
  Records good;
  Records records;
  for (std::size_t i = 0; i < 100000; ++i) {
    if (i % 1000 == 999) records.push_back("bad,row");
    good.push_back(std::to_string(random.below(1000000)) + ",\"a\nb\"");
    records.push_back(good.back());
  }
  const std::string path = add_input(records);
  const Error error = error_of(options_);
  EXPECT_EQ(error.code(), ErrorCode::bad_input);
  EXPECT_EQ(error.path(), path);
  options_.syntax.tolerant = true;
  fate = RecordFault::Fate::skip;
  options_.rejects = directory_ / "rejects";
  const std::string first =
      path + ": line 1999: it says so";  // the others before it have two lines
  for (const bool merge : {false, true}) {
    options_.merge_only = merge;
    options_.check_merged = false;
    const SortReport report = general_sort(options_);
    EXPECT_EQ(report.skipped, 100u);
    EXPECT_EQ(report.first_fault, first);
    const std::string rejects = file_text(options_.rejects);
    EXPECT_TRUE(rejects.starts_with("file,line,reason,row\n")) << rejects;
    EXPECT_NE(rejects.find(path + ",1999,it says so,\"bad,row\"\n"), std::string::npos);
    EXPECT_EQ(std::count(rejects.begin(), rejects.end(), '\n'), 101);
    if (!merge) {
      EXPECT_TRUE(file_text(output_) == expected_of(options_, good));
    }
  }
  options_.merge_only = false;
  options_.max_rejects = 99;
  options_.rejects.clear();
  EXPECT_EQ(error_of(options_).code(), ErrorCode::bad_input);
  options_.max_rejects = 100;
  EXPECT_EQ(general_sort(options_).skipped, 100u);
  options_.max_rejects.reset();
  fate = RecordFault::Fate::keep;
  options_.keeps_malformed = true;
  const SortReport kept = general_sort(options_);
  EXPECT_EQ(kept.skipped, 0u);
  EXPECT_EQ(kept.kept, 100u);
  EXPECT_EQ(kept.first_fault, first);
  EXPECT_TRUE(file_text(output_) == expected_of(options_, records));
}

TEST_F(GeneralSortTest, of_malformed_rows_the_first_of_the_input_is_told) {
  test::LateFault fault;
  options_.inputs = {directory_ / "in"};
  write_file(options_.inputs[0], test::LateFault::text(2 * kMiB, 200 * kKiB));
  options_.memory_bytes = 2 * kMiB;
  options_.threads = 2;
  options_.syntax.rows = true;
  options_.malformed = [&](std::string_view row) { return fault.check(row); };
  const std::string line = "line " + std::to_string(test::LateFault::kFirstLine) + ":";
  EXPECT_NE(std::string(error_of(options_).what()).find(line), std::string::npos);
}

TEST_F(GeneralSortTest, a_check_tells_the_first_malformed_row) {
  test::LateFault fault;
  options_.inputs = {directory_ / "in"};
  write_file(options_.inputs[0], test::LateFault::text(10 * kMiB, 5 * kMiB));
  options_.memory_bytes = 32 * kMiB;  // two threads
  options_.threads = 2;
  options_.syntax.rows = true;
  options_.malformed = [&](std::string_view row) { return fault.check(row); };
  try {
    check_general_order(options_);
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string line = "line " + std::to_string(test::LateFault::kFirstLine) + ":";
    EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace xxl
