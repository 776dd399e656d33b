// Whole sorts of text, over real files: with the real backends, and with queues that complete in
// random order and fail on demand.
#include "engine/text_sort/text_sort.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "io_test_support.h"
#include "late_fault.h"
#include "record/line_keys.h"
#include "record/line_order.h"
#include "simulated_queue.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using Records = std::vector<std::string>;

class WholeLine final : public KeyExtractor {
 public:
  bool is_whole_record() const override { return true; }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    key.append(record.substr(0, limit));
  }
};

// The record turned round, without what stands behind a '#'.
class BackwardsKey final : public KeyExtractor {
 public:
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    record = record.substr(0, record.find('#'));
    if (record.size() > limit) record.remove_prefix(record.size() - limit);
    key.append(record.rbegin(), record.rend());
  }
};

// "first record of the group*number"
class Counter final : public GroupFold {
 public:
  void begin(std::string_view record) override {
    first_ = record;
    count_ = 1;
  }
  void add(std::string_view) override { ++count_; }
  void finish(std::string& out) override { out += first_ + "*" + std::to_string(count_); }

 private:
  std::string first_;
  std::size_t count_ = 0;
};

std::string key_of(const KeyExtractor& keys, std::string_view record) {
  std::string key;
  keys.append_key(record, KeyExtractor::kWholeKey, key);
  return key;
}

// What `options` make of `records`, in the order of the input.
std::string expected_of(const TextSortOptions& options, Records records) {
  std::vector<std::pair<std::string, std::string>> keyed;
  for (std::string& record : records) {
    std::string key = key_of(*options.keys, record);
    keyed.emplace_back(std::move(key), std::move(record));
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  std::uint64_t left = options.limit.value_or(~std::uint64_t{0});
  for (std::size_t i = 0, end; i < keyed.size() && left > 0; i = end, --left) {
    end = i + 1;
    if (options.unique) {
      while (end < keyed.size() && keyed[end].first == keyed[i].first) ++end;
    }
    text += keyed[i].second;
    if (options.fold) text += "*" + std::to_string(end - i);
    text += options.syntax.terminator;
  }
  return text;
}

// The multiset hash of the records of `text`.
std::uint64_t checksum_of(std::string_view text, char terminator) {
  MultisetHash hash;
  while (!text.empty()) {
    const std::size_t end = text.find(terminator);
    add_record(hash, text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return hash.sum;
}

Records random_records(unsigned kind, std::size_t bytes, Random& random) {
  Records records;
  for (std::size_t made = 0; made < bytes; made += records.back().size() + 1) {
    std::string& record = records.emplace_back();
    const auto letters = [&](std::size_t most, unsigned of) {
      std::string text(random.below(most + 1), ' ');
      for (char& c : text) c = static_cast<char>(random.below(of) + (of <= 26 ? 'a' : 0));
      std::replace(text.begin(), text.end(), '\n', 'n');
      return text;
    };
    switch (kind) {
      case 0:
        record = letters(40, 256);
        break;
      case 1:
        record = letters(2, 2);
        break;
      case 2:
        record = "https://www.example.com/" + std::to_string(random.below(20000)) + '#' +
                 std::to_string(records.size());
        break;
      case 3:
        record = std::string(300, 'c') + letters(4, 3);
        break;
      case 4:
        record = std::to_string(made) + std::string(10 - std::to_string(made).size(), '.');
        break;
      case 5:  // one frequent key
        record =
            random.below(4) != 0 ? "frequent#" + std::to_string(records.size()) : letters(8, 26);
        break;
      default:  // long ones between short ones
        record = random.below(50) == 0 ? std::string(random.below(150000), 'l') + letters(3, 26)
                                       : letters(30, 26);
    }
  }
  return records;
}
constexpr unsigned kKinds = 7;

class TextSortTest : public test::WholeSortTest {
 protected:
  TextSortTest() {
    options_.keys = std::make_shared<WholeLine>();
    options_.output = output_;
    options_.memory_bytes = kMiB;
    options_.scratch_dirs = {scratch_};
    options_.parallel = 2;
  }

  std::string add_input(const Records& records, bool ends = true) {
    std::string text;
    for (const std::string& record : records) text += record + options_.syntax.terminator;
    if (!ends && !records.empty() && !records.back().empty()) text.pop_back();
    const std::string path = directory_ / ("in" + std::to_string(options_.inputs.size()));
    write_file(path, text);
    options_.inputs.push_back(path);
    all_.insert(all_.end(), records.begin(), records.end());
    return path;
  }
  void forget_inputs() {
    options_.inputs.clear();
    all_.clear();
  }

  SortReport expect_sorted(const TextSortOptions& options) {
    const SortReport report = text_sort(options);
    const std::string expected = expected_of(options, all_);
    EXPECT_TRUE(file_text(options.output) == expected) << "the output is wrong";
    EXPECT_EQ(report.records_in, all_.size());
    EXPECT_EQ(report.records_out,
              static_cast<std::uint64_t>(
                  std::count(expected.begin(), expected.end(), options.syntax.terminator)));
    if (!options.fold) {
      EXPECT_EQ(report.checksum, checksum_of(expected, options.syntax.terminator));
    }
    expect_nothing_left();
    return report;
  }

  Error error_of(const TextSortOptions& options) const {
    return error_of_sort(options.output, [&] { text_sort(options); });
  }

  TextSortOptions options_;
  Records all_;
};

// ---- right results ----

TEST_F(TextSortTest, any_records_by_any_options_in_any_order_of_completion) {
  for (unsigned round = 0; round < 80; ++round) {
    Random random(round);
    forget_inputs();
    const unsigned kind = round % kKinds;
    TextSortOptions& options = options_;
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
    options.parallel = static_cast<unsigned>(1 + random.below(8));
    options.unique = random.below(3) == 0;
    options.fold = nullptr;
    if (options.unique && random.below(2) == 0) options.fold = std::make_unique<Counter>;
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

TEST_F(TextSortTest, files_of_which_not_all_may_be_open_are_read_in_their_order) {
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

TEST_F(TextSortTest, no_input_is_sorted_to_no_output) {
  add_input({});
  EXPECT_EQ(expect_sorted(options_).records_out, 0u);
  add_input({});
  options_.merge_only = true;
  expect_sorted(options_);
}

TEST_F(TextSortTest, sorted_files_are_merged_in_one_pass_or_in_several) {
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

TEST_F(TextSortTest, records_that_are_longer_than_a_block_and_than_a_region) {
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
        options_.parallel = threads;
        options_.queue_factory = test::simulated_queues(longest);
        expect_sorted(options_);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(TextSortTest, a_record_that_is_too_long_is_an_error_that_names_its_place) {
  Records records(1000, "short");
  records.emplace_back(900000, 'l');
  const std::string path = add_input(records);
  const Error error = error_of(options_);
  EXPECT_EQ(error.code(), ErrorCode::no_space);
  EXPECT_EQ(error.path(), path);
  EXPECT_EQ(error.offset(), 6000u);
}

TEST_F(TextSortTest, an_input_may_end_at_any_time_after_runs_were_folded) {
  options_.spare_table_bytes = 0;
  options_.parallel = 1;
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

TEST_F(TextSortTest, what_comes_out_of_a_pipe_is_sorted_like_a_file) {
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

TEST_F(TextSortTest, runs_are_folded_when_their_tables_take_what_they_may) {
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

TEST_F(TextSortTest, of_every_input_the_header_is_left_out_and_the_first_is_kept) {
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
    const SortReport report = text_sort(options_);
    EXPECT_EQ(report.records_out, expected.size());
    EXPECT_TRUE(file_text(output_) == "zzz header\n" + expected_of(options_, expected));
  }
}

TEST_F(TextSortTest, malformed_rows_are_left_out_or_are_an_error) {
  options_.syntax.quoted = true;
  options_.malformed = [](std::string_view record) -> std::optional<std::string> {
    if (record.starts_with("bad")) return "it says so";
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
  options_.syntax.skip_malformed = true;
  const SortReport report = text_sort(options_);
  EXPECT_EQ(report.skipped, 100u);
  EXPECT_TRUE(file_text(output_) == expected_of(options_, good));
}

TEST_F(TextSortTest, of_malformed_rows_the_first_of_the_input_is_told) {
  test::LateFault fault;
  options_.inputs = {directory_ / "in"};
  write_file(options_.inputs[0], test::LateFault::text(2 * kMiB, 200 * kKiB));
  options_.memory_bytes = 2 * kMiB;
  options_.parallel = 2;
  options_.syntax.quoted = true;
  options_.malformed = [&](std::string_view row) { return fault.check(row); };
  const std::string line = "line " + std::to_string(test::LateFault::kFirstLine) + ":";
  EXPECT_NE(std::string(error_of(options_).what()).find(line), std::string::npos);
}

TEST_F(TextSortTest, a_check_tells_the_first_malformed_row) {
  test::LateFault fault;
  options_.inputs = {directory_ / "in"};
  write_file(options_.inputs[0], test::LateFault::text(10 * kMiB, 5 * kMiB));
  options_.memory_bytes = 32 * kMiB;  // two threads
  options_.parallel = 2;
  options_.syntax.quoted = true;
  options_.malformed = [&](std::string_view row) { return fault.check(row); };
  try {
    check_text_order(options_);
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string line = "line " + std::to_string(test::LateFault::kFirstLine) + ":";
    EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
  }
}

// ---- faults ----

using test::Fault;

class TextSortFaults : public TextSortTest {
 protected:
  TextSortFaults() {
    Random random(31);
    Records records = random_records(2, 3 * kMiB, random);
    for (std::size_t i = 100; i < records.size(); i += 5000) records[i].append(40000, 'l');
    add_input(records);
    options_.memory_bytes = 2 * kMiB;
    options_.batch_size = 3;
  }

  void expect_errors(const Fault::Kind& kind, std::size_t samples,
                     const test::TransferFunction& strike, ErrorCode code) {
    const auto honest = std::make_shared<Fault>(kind, 0, test::honest_transfer);
    options_.queue_factory =
        test::simulated_queues(1, [honest](const io::Request& r) { return (*honest)(r); });
    expect_sorted(options_);
    const std::uint64_t transfers = honest->seen();
    ASSERT_GT(transfers, samples);
    for (std::uint64_t sample = 0; sample < samples; ++sample) {
      const std::uint64_t number = 1 + sample * (transfers - transfers / 8) / samples;
      SCOPED_TRACE("transfer " + std::to_string(number) + " of " + std::to_string(transfers));
      const auto fault = std::make_shared<Fault>(kind, number, strike);
      options_.queue_factory =
          test::simulated_queues(number, [fault](const io::Request& r) { return (*fault)(r); });
      EXPECT_EQ(error_of(options_).code(), code);
      EXPECT_TRUE(fault->has_struck());
      if (HasFailure()) return;
    }
  }

  Fault::Kind scratch(io::Op op) const {
    return [this, op](const io::Request& r) { return r.op == op && r.file->path() == scratch_; };
  }
};

TEST_F(TextSortFaults, any_failing_transfer_ends_the_sort) {
  expect_errors([](const io::Request&) { return true; }, 40,
                [](const io::Request&) {
                  return io::Completion{EIO, 0};
                },
                ErrorCode::io);
}

TEST_F(TextSortFaults, any_failing_transfer_ends_the_merge_of_files) {
  std::sort(all_.begin(), all_.end());
  const Records sorted = std::move(all_);
  forget_inputs();
  for (int file = 0; file < 5; ++file) {
    Records records;
    for (std::size_t i = static_cast<std::size_t>(file); i < sorted.size(); i += 5) {
      records.push_back(sorted[i]);
    }
    add_input(records);
  }
  options_.merge_only = true;
  expect_errors([](const io::Request&) { return true; }, 25,
                [](const io::Request&) {
                  return io::Completion{EIO, 0};
                },
                ErrorCode::io);
}

TEST_F(TextSortFaults, a_disk_that_fills_up_ends_the_sort) {
  expect_errors([](const io::Request& r) { return r.op == io::Op::write; }, 15,
                [](const io::Request&) {
                  return io::Completion{ENOSPC, 0};
                },
                ErrorCode::no_space);
}

TEST_F(TextSortFaults, a_flipped_bit_in_scratch_is_noticed) {
  expect_errors(
      scratch(io::Op::read), 15,
      [](const io::Request& request) {
        const io::Completion completion = test::honest_transfer(request);
        request.data[0] ^= std::byte{64};
        return completion;
      },
      ErrorCode::corrupt);
}

TEST_F(TextSortFaults, a_write_that_is_lost_is_noticed) {
  expect_errors(
      scratch(io::Op::write), 15,
      [](const io::Request& request) {
        // As if nobody had written there before: a run that is merged leaves places behind, and a
        // block of one long record may come to lie where it was.
        const MemoryRegion nothing(request.data.size());
        io::Request lost;
        lost.op = request.op;
        lost.file = request.file;
        lost.offset = request.offset;
        lost.data = nothing.span();
        return test::honest_transfer(lost);
      },
      ErrorCode::corrupt);
}

TEST_F(TextSortFaults, an_input_that_becomes_shorter_ends_the_sort) {
  const std::string path = options_.inputs.front();
  const std::string content = file_text(path);
  for (const std::uint64_t number : {1u, 2u}) {
    write_file(path, content);
    const auto fault = std::make_shared<Fault>(
        [&](const io::Request& r) { return r.file->path() == path; }, number,
        [&](const io::Request& request) {
          EXPECT_EQ(truncate(path.c_str(), 200000), 0);
          return test::honest_transfer(request);
        });
    options_.queue_factory =
        test::simulated_queues(number, [fault](const io::Request& r) { return (*fault)(r); });
    const Error error = error_of(options_);
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.what();
    EXPECT_EQ(error.path(), path);
  }
}

TEST_F(TextSortFaults, a_pipe_that_nobody_reads_any_more_ends_the_sort) {
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_NE(signal(SIGPIPE, SIG_IGN), SIG_ERR);
  options_.output = pipe;
  std::thread reader([&] {
    const int fd = open(pipe.c_str(), O_RDONLY);
    char byte;
    EXPECT_EQ(read(fd, &byte, 1), 1);
    close(fd);
  });
  try {
    text_sort(options_);
    ADD_FAILURE() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), EPIPE);
  }
  reader.join();
}

}  // namespace
}  // namespace xxl
