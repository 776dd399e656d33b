#include "job/join/counted_first.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io_test_support.h"
#include "standard_input.h"

namespace xxl {
namespace {

JoinReport report_of(std::vector<std::string> phases, double seconds) {
  JoinReport report;
  for (std::string& name : phases) report.phases.emplace_back().name = std::move(name);
  report.seconds = seconds;
  return report;
}

class CountedFirstTest : public testing::Test {
 protected:
  CountedFirstTest() {
    io::test::write_file(r_, "r\n");
    io::test::write_file(s_, "s\n");
    options_.inputs = {r_, s_};
    options_.parts = 3;
    options_.output = "out";
  }

  // A join of which the rows take `bytes`; notes the options of each time.
  JoinReport run(std::uint64_t bytes) {
    return join_counted_first(
        options_,
        [&](JoinOptions first) {
          given_.push_back(std::move(first));
          return std::pair(report_of({"sort", "merge"}, 1), bytes);
        },
        [&](const JoinOptions& second) {
          given_.push_back(second);
          return report_of({"sort", "write"}, 2);
        });
  }

  // Why `path` cannot be an input.
  Error refusal(const std::string& path) {
    options_.inputs[1] = path;
    try {
      run(1);
    } catch (const Error& error) {
      EXPECT_TRUE(given_.empty()) << "nothing was done yet";
      return error;
    }
    ADD_FAILURE() << "no error was thrown";
    return Error(ErrorCode::io, "none");
  }

  io::test::TempDirectory directory_;
  const std::string r_ = directory_ / "r", s_ = directory_ / "s";
  JoinOptions options_;
  std::vector<JoinOptions> given_;
};

TEST_F(CountedFirstTest, the_join_knows_what_was_counted) {
  run(700);
  ASSERT_EQ(given_.size(), 2);
  EXPECT_EQ(given_[0].parts, 0);
  EXPECT_EQ(given_[0].expected_bytes, std::nullopt);
  EXPECT_EQ(given_[1].parts, 3);
  EXPECT_EQ(given_[1].expected_bytes, 700);
  for (const JoinOptions& options : given_) EXPECT_EQ(options.inputs, options_.inputs);
}

TEST_F(CountedFirstTest, no_rows_are_known_too) {
  run(0);
  EXPECT_EQ(given_.back().expected_bytes, 0);
}

TEST_F(CountedFirstTest, the_report_is_of_both) {
  const JoinReport report = run(1);
  EXPECT_EQ(report.seconds, 3);
  std::vector<std::string> phases;
  for (const PhaseReport& phase : report.phases) phases.push_back(phase.name);
  EXPECT_EQ(phases, (std::vector<std::string>{"count: sort", "count: merge", "sort", "write"}));
}

TEST_F(CountedFirstTest, standard_input_is_read_from_the_same_place) {
  io::test::write_file(directory_ / "in", "header, and rows");
  const test::StandardInput input(open((directory_ / "in").c_str(), O_RDONLY | O_CLOEXEC));
  lseek(STDIN_FILENO, 8, SEEK_SET);
  options_.inputs[1] = "-";
  off_t place = 0;
  join_counted_first(
      options_,
      [&](const JoinOptions&) {
        lseek(STDIN_FILENO, 0, SEEK_END);
        return std::pair(JoinReport{}, std::uint64_t{1});
      },
      [&](const JoinOptions&) {
        place = lseek(STDIN_FILENO, 0, SEEK_CUR);
        return JoinReport{};
      });
  EXPECT_EQ(place, 8);
}

TEST_F(CountedFirstTest, a_pipe_is_refused_before_anything_is_read) {
  const std::string path = directory_ / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const Error error = refusal(path);
  EXPECT_EQ(error.code(), ErrorCode::usage);
  EXPECT_EQ(error.path(), path);
}

TEST_F(CountedFirstTest, standard_input_that_is_a_pipe_is_refused) {
  const io::test::Pipe pipe;
  const test::StandardInput input(dup(pipe.read_end.fd()));
  const Error error = refusal("-");
  EXPECT_EQ(error.code(), ErrorCode::usage);
  EXPECT_EQ(error.path(), "standard input");
}

TEST_F(CountedFirstTest, what_is_missing_is_left_to_the_join) {
  options_.inputs = {directory_ / "missing", directory_.path()};
  run(1);
  EXPECT_EQ(given_.size(), 2);
}

}  // namespace
}  // namespace xxl
