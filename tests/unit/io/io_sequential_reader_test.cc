// Reading streams block by block, and giving up on them.
#include "io/sequential_reader.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/units.h"
#include "tests/unit/io_test_support.h"

namespace xxl::io {
namespace {

using test::Pipe;

class StreamReader : public testing::TestWithParam<Backend> {
 protected:
  static constexpr std::size_t kRecordBytes = 8;
  static constexpr std::size_t kBlockBytes = 4096;

  void SetUp() override {
    if (GetParam() == Backend::io_uring && !test::uring_works()) {
      GTEST_SKIP() << "no io_uring on this system";
    }
    Pipe pipe;
    files_.push_back(std::move(pipe.read_end));
    write_end_ = std::move(pipe.write_end);
  }

  void send(const std::string& text) {
    XXL_CHECK(write(write_end_.fd(), text.data(), text.size()) ==
              static_cast<ssize_t>(text.size()));
  }

  std::vector<File> files_;
  File write_end_;
  MemoryRegion memory_{4 * SequentialReader::buffer_bytes(kBlockBytes, kRecordBytes)};
  Mailbox mailbox_;
};

INSTANTIATE_TEST_SUITE_P(Backends, StreamReader,
                         testing::Values(Backend::io_uring, Backend::threads),
                         [](const auto& test) {
                           return test.param == Backend::threads ? "threads" : "io_uring";
                         });

TEST_P(StreamReader, HandsOutWholeRecordsUntilThePipeEnds) {
  IoService io(GetParam(), memory_.span());
  SequentialReader reader(files_, kRecordBytes, kBlockBytes, memory_.span(), io, mailbox_);
  std::string sent(2 * kBlockBytes + kRecordBytes, 'x');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i % 23);
  send(sent);
  write_end_ = File();
  std::string received;
  for (reader.pump(); !reader.finished(); reader.pump()) {
    mailbox_.wait_and_run();
    while (const auto block = reader.next()) {
      received.append(reinterpret_cast<const char*>(block->records.data()), block->records.size());
      reader.release(*block);
    }
  }
  EXPECT_EQ(received, sent);
}

TEST_P(StreamReader, IsDestroyedThoughThePipeNeverDelivers) {
  IoService io(GetParam(), memory_.span());
  {
    SequentialReader reader(files_, kRecordBytes, kBlockBytes, memory_.span(), io, mailbox_);
    reader.pump();
    while (io.stats().busy_ns == 0) std::this_thread::yield();
  }
  EXPECT_EQ(io.stats().requests, 1);
}

TEST_P(StreamReader, IsDestroyedInTheMiddleOfASlowStream) {
  IoService io(GetParam(), memory_.span());
  send(std::string(kBlockBytes + kRecordBytes, 'x'));
  SequentialReader reader(files_, kRecordBytes, kBlockBytes, memory_.span(), io, mailbox_);
  reader.pump();
  mailbox_.wait_and_run();
  const auto block = reader.next();
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->records.size(), kBlockBytes);
  reader.pump();  // only the start of this block will ever arrive
}

}  // namespace
}  // namespace xxl::io
