// Faults of disks and of files while records are sorted: each ends the sort with its error, and
// nothing is left.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "job/fixed_sort/fixed_sort_fixture.h"
#include "simulated_queue.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using test::Bytes;
using test::Fault;
using test::format_of;
using test::text_of;

class ExternalSortFaults : public ExternalSortTest {
 protected:
  ExternalSortFaults() {
    Random random(92);
    add_input(test::random_records(format_, 3 * kMiB / 16, random));
  }

  void expect_errors(const Fault::Kind& kind, std::size_t samples,
                     const test::TransferFunction& strike, ErrorCode code) {
    FixedSortOptions options = sort_options();
    test::expect_errors(
        kind, samples, strike, code, 16,
        [&](io::IoService::Factory queues) {
          options.queue_factory = std::move(queues);
          expect_sorted(options);
        },
        [&](io::IoService::Factory queues) {
          options.queue_factory = std::move(queues);
          return error_of(options);
        });
  }

  virtual FixedSortOptions sort_options() const {
    FixedSortOptions options = this->options(format_);
    options.batch_size = 4;
    return options;
  }

  Fault::Kind input_reads() const {
    return [this](const io::Request& r) { return r.file->path() == inputs_.front(); };
  }
  static bool is_read(const io::Request& request) { return request.op == io::Op::read; }
  static bool is_write(const io::Request& request) { return request.op == io::Op::write; }

  const RecordFormat format_ = format_of("kv64");
};

TEST_F(ExternalSortFaults, any_failing_read_ends_the_sort) {
  expect_errors(is_read, 25, test::failing(EIO), ErrorCode::io);
}

TEST_F(ExternalSortFaults, any_failing_write_ends_the_sort) {
  expect_errors(is_write, 25, test::failing(EIO), ErrorCode::io);
}

TEST_F(ExternalSortFaults, a_disk_that_fills_up_ends_the_sort) {
  expect_errors(is_write, 12, test::failing(ENOSPC), ErrorCode::no_space);
}

TEST_F(ExternalSortFaults, a_flipped_bit_in_scratch_is_noticed) {
  expect_errors(test::transfers_of(scratch_, io::Op::read), 12,
                test::changing(11),  // of a record: what fills the last sector may change
                ErrorCode::corrupt);
}

TEST_F(ExternalSortFaults, a_write_that_is_lost_is_noticed) {
  expect_errors(
      test::transfers_of(scratch_, io::Op::write), 12,
      [](const io::Request& request) {
        return io::Completion{0, request.data.size()};
      },
      ErrorCode::corrupt);
}

TEST_F(ExternalSortFaults, a_block_from_another_place_is_noticed) {
  expect_errors(
      test::transfers_of(scratch_, io::Op::read), 12,
      [](io::Request request) {
        request.offset = request.offset == 0 ? request.data.size() : 0;
        return test::honest_transfer(request);
      },
      ErrorCode::corrupt);
}

TEST_F(ExternalSortFaults, an_input_that_becomes_shorter_ends_the_sort) {
  const std::string path = inputs_.front();
  const std::string content = file_text(path);
  for (const std::uint64_t number : {1u, 2u, 9u}) {
    write_file(path, content);
    const auto fault =
        std::make_shared<Fault>(input_reads(), number, [&](const io::Request& request) {
          EXPECT_EQ(truncate(path.c_str(), 200 * 1024 + 5), 0);
          return test::honest_transfer(request);
        });
    FixedSortOptions options = sort_options();
    options.queue_factory = test::queues_with(fault, number);
    const Error error = error_of(options);
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.what();
    EXPECT_EQ(error.path(), path);
  }
}

TEST_F(ExternalSortFaults, an_input_that_grows_is_read_to_its_end) {
  const std::string path = inputs_.front();
  const std::string content = file_text(path);
  for (const std::uint64_t number : {1u, 2u, 9u}) {
    write_file(path, content);
    const auto fault =
        std::make_shared<Fault>(input_reads(), number, [&](const io::Request& request) {
          EXPECT_EQ(truncate(path.c_str(), 5 * kMiB), 0);
          return test::honest_transfer(request);
        });
    FixedSortOptions options = sort_options();
    options.queue_factory = test::queues_with(fault, number);
    const SortReport report = fixed_sort(options);
    EXPECT_GE(report.records_in, all_.size() / options.format.record_bytes);
    EXPECT_EQ(report.records_in, report.records_out);
  }
}

class VerifiedSortFaults : public ExternalSortFaults {
 protected:
  FixedSortOptions sort_options() const override {
    FixedSortOptions options = ExternalSortFaults::sort_options();
    options.verify = true;
    return options;
  }
};

TEST_F(VerifiedSortFaults, what_befalls_a_write_of_the_output_is_noticed) {
  for (const auto& [what, strike] : test::kSilentFaults) {
    SCOPED_TRACE(what);
    expect_errors(test::transfers_of(output_, io::Op::write), 5, strike, ErrorCode::corrupt);
  }
}

// The first run goes to the output's own file here, until it turns out not to be the only one.
class ExternalSortFaultsOfNearlySorted : public ExternalSortFaults {
 protected:
  ExternalSortFaultsOfNearlySorted() {
    Bytes records = test::sorted_records(format_, all_);
    std::rotate(records.begin(), records.begin() + 16 * 30000, records.end());
    inputs_.clear();
    all_.clear();
    add_input(records);
  }
};

TEST_F(ExternalSortFaultsOfNearlySorted, any_failing_transfer_ends_the_sort) {
  expect_errors(test::any_transfer, 25, test::failing(EIO), ErrorCode::io);
}

class ExternalMergeFaults : public ExternalSortFaults {
 protected:
  ExternalMergeFaults() {
    inputs_.clear();
    all_.clear();
    Random random(93);
    for (int file = 0; file < 5; ++file) {
      add_input(test::sorted_records(format_, test::random_records(format_, 40000, random)));
    }
  }
  FixedSortOptions sort_options() const override {
    FixedSortOptions options = this->options(format_);
    options.merge_only = true;
    options.batch_size = 2;
    return options;
  }
};

TEST_F(ExternalMergeFaults, any_failing_transfer_ends_the_merge) {
  expect_errors(test::any_transfer, 25, test::failing(EIO), ErrorCode::io);
}

TEST_F(ExternalMergeFaults, an_input_block_that_is_out_of_order_as_it_was_read_is_noticed) {
  const auto fault = std::make_shared<Fault>(is_read, 30, [](const io::Request& request) {
    const io::Completion completion = test::honest_transfer(request);
    request.data[16 * 100 + 7] ^= std::byte{128};  // the leading bit of a key
    return completion;
  });
  FixedSortOptions options = sort_options();
  options.batch_size = 0;
  options.queue_factory = test::queues_with(fault, 1);
  EXPECT_EQ(error_of(options).code(), ErrorCode::bad_input);
}

}  // namespace
}  // namespace xxl
