// Whole sorts of text of which a transfer fails, is lost or altered, or whose surroundings do.
#include "job/general_sort/general_sort.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "base/memory_region.h"
#include "job/general_sort/general_sort_fixture.h"
#include "simulated_queue.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using namespace test;

class GeneralSortFaults : public GeneralSortTest {
 protected:
  GeneralSortFaults() {
    Random random(31);
    Records records = random_records(2, 3 * kMiB, random);
    for (std::size_t i = 100; i < records.size(); i += 5000) records[i].append(40000, 'l');
    add_input(records);
    options_.memory_bytes = 2 * kMiB;
    options_.batch_size = 3;
  }

  void expect_errors(const Fault::Kind& kind, std::size_t samples,
                     const test::TransferFunction& strike, ErrorCode code) {
    test::expect_errors(
        kind, samples, strike, code, 8,
        [this](io::IoService::Factory queues) {
          options_.queue_factory = std::move(queues);
          expect_sorted(options_);
        },
        [this](io::IoService::Factory queues) {
          options_.queue_factory = std::move(queues);
          return error_of(options_);
        });
  }

  Fault::Kind scratch(io::Op op) const { return transfers_of(scratch_, op); }
};

TEST_F(GeneralSortFaults, any_failing_transfer_ends_the_sort) {
  expect_errors(any_transfer, 40, failing(EIO), ErrorCode::io);
}

TEST_F(GeneralSortFaults, any_failing_transfer_ends_the_merge_of_files) {
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
  expect_errors(any_transfer, 25, failing(EIO), ErrorCode::io);
}

TEST_F(GeneralSortFaults, a_disk_that_fills_up_ends_the_sort) {
  expect_errors([](const io::Request& r) { return r.op == io::Op::write; }, 15, failing(ENOSPC),
                ErrorCode::no_space);
}

TEST_F(GeneralSortFaults, what_befalls_a_write_of_a_verified_output_is_noticed) {
  options_.verify = true;
  for (const auto& [what, strike] : kSilentFaults) {
    SCOPED_TRACE(what);
    expect_errors(transfers_of(options_.output, io::Op::write), 5, strike, ErrorCode::corrupt);
  }
}

TEST_F(GeneralSortFaults, a_flipped_bit_in_scratch_is_noticed) {
  expect_errors(scratch(io::Op::read), 15, changing(0), ErrorCode::corrupt);
}

TEST_F(GeneralSortFaults, a_write_that_is_lost_is_noticed) {
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

TEST_F(GeneralSortFaults, an_input_that_becomes_shorter_ends_the_sort) {
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
    options_.queue_factory = queues_with(fault, number);
    const Error error = error_of(options_);
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.what();
    EXPECT_EQ(error.path(), path);
  }
}

TEST_F(GeneralSortFaults, a_pipe_that_nobody_reads_any_more_ends_the_sort) {
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
    general_sort(options_);
    ADD_FAILURE() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), EPIPE);
  }
  reader.join();
}

}  // namespace
}  // namespace xxl
