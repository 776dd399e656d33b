// The promises of IoQueue, kept by every backend.
#include "io/io_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <thread>

#include "base/error.h"
#include "base/units.h"
#include "io/request_fifo.h"
#include "io/thread_queue.h"
#include "io/transfer.h"
#include "io/uring_queue.h"
#include "tests/unit/io_test_support.h"

namespace xxl::io {
namespace {

using test::Completions;
using test::fill;
using test::is_filled;
using test::Pipe;
using test::TempDirectory;
using test::uring_works;

class EveryQueue : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::io_uring && !uring_works()) {
      GTEST_SKIP() << "no io_uring on this system";
    }
    queue_ = make_queue(8);
  }

  static std::unique_ptr<IoQueue> make_queue(unsigned depth) {
    if (GetParam() == Backend::threads) return std::make_unique<ThreadQueue>(depth);
    return std::make_unique<UringQueue>(depth);
  }

  Completion transfer(Op op, const File& file, std::uint64_t offset, std::span<std::byte> data) {
    Completions completions;
    queue_->submit({op, &file, offset, data, completions.expect()});
    return completions.result();
  }

  TempDirectory directory_;
  MemoryRegion memory_{4 * kMiB};
  std::unique_ptr<IoQueue> queue_;
};

INSTANTIATE_TEST_SUITE_P(Backends, EveryQueue, testing::Values(Backend::io_uring, Backend::threads),
                         [](const auto& test) {
                           return test.param == Backend::threads ? "threads" : "io_uring";
                         });

class QueueOfStreams : public EveryQueue {};

INSTANTIATE_TEST_SUITE_P(Backends, QueueOfStreams, testing::Values(Backend::threads),
                         [](const auto&) { return "threads"; });

TEST_P(EveryQueue, WritesAndReadsManyBlocksAtOnce) {
  constexpr std::size_t kBlock = 16 * kKiB;
  const File file = File::create_unnamed(directory_.path());
  const std::size_t blocks = memory_.size() / kBlock;
  fill(memory_.span(), 0);

  Completions writes;
  for (std::size_t i = 0; i < blocks; ++i) {
    queue_->submit({Op::write, &file, i * kBlock, memory_.span().subspan(i * kBlock, kBlock),
                    writes.expect(i)});
  }
  writes.wait();

  MemoryRegion copy(memory_.size());
  Completions reads;
  for (std::size_t i = 0; i < blocks; ++i) {
    queue_->submit(
        {Op::read, &file, i * kBlock, copy.span().subspan(i * kBlock, kBlock), reads.expect(i)});
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    EXPECT_EQ(writes.result(i).error, 0);
    EXPECT_EQ(reads.result(i).error, 0);
    EXPECT_EQ(reads.result(i).bytes, kBlock);
  }
  EXPECT_TRUE(is_filled(copy.span(), 0));
}

TEST_P(EveryQueue, ReadOverTheEndOfTheFileIsShort) {
  test::write_file(directory_ / "f", std::string(10000, 'x'));
  const File file = File::open_input(directory_ / "f");
  const auto block = memory_.span().first(16 * kKiB);
  EXPECT_EQ(transfer(Op::read, file, 0, block).bytes, 10000);
  EXPECT_EQ(transfer(Op::read, file, 8192, block).bytes, 10000 - 8192);
  const Completion beyond = transfer(Op::read, file, 12288, block);
  EXPECT_EQ(beyond.bytes, 0);
  EXPECT_EQ(beyond.error, 0);
}

TEST_P(EveryQueue, ReadOverAnAlignedEndIsShort) {
  test::write_file(directory_ / "f", std::string(8192, 'x'));
  const File file = File::open_input(directory_ / "f");
  const Completion completion = transfer(Op::read, file, 0, memory_.span().first(16 * kKiB));
  EXPECT_EQ(completion.error, 0);
  EXPECT_EQ(completion.bytes, 8192);
}

TEST_P(EveryQueue, BufferedFilesTakeUnalignedPlacesAndLengths) {
  const int fd = open((directory_ / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const File file(fd, "f", false);
  auto data = memory_.span().subspan(1, 12345);
  fill(data, 7);
  EXPECT_EQ(transfer(Op::write, file, 7, data).bytes, data.size());
  const auto copy = memory_.span().subspan(kMiB + 3, 12345);
  EXPECT_EQ(transfer(Op::read, file, 7, copy).bytes, copy.size());
  EXPECT_TRUE(is_filled(copy, 7));
}

TEST_P(EveryQueue, EmptyRequestCompletes) {
  const File file = File::create_unnamed(directory_.path());
  for (const Op op : {Op::read, Op::write}) {
    const Completion completion = transfer(op, file, 0, {});
    EXPECT_EQ(completion.error, 0);
    EXPECT_EQ(completion.bytes, 0);
  }
}

TEST_P(EveryQueue, ErrorOfTheFileIsReported) {
  const int fd = open((directory_ / "f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const File file(fd, "f", false);
  EXPECT_EQ(transfer(Op::read, file, 0, memory_.span().first(4096)).error, EBADF);
}

TEST_P(EveryQueue, FullDiskIsReported) {
  const File file(open("/dev/full", O_WRONLY | O_CLOEXEC), "/dev/full", false);
  const auto block = memory_.span().first(4096);
  EXPECT_EQ(transfer(Op::write, file, 0, block).error, ENOSPC);
}

TEST_P(EveryQueue, WriteOverTheFileSizeLimitIsAnErrorAndNoSignal) {
  const File file = File::create_unnamed(directory_.path());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limited = before;
  limited.rlim_cur = kMiB;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const Completion completion = transfer(Op::write, file, 0, memory_.span());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(completion.error, EFBIG);
}

TEST_P(QueueOfStreams, StreamReadCollectsPiecesUntilItIsFull) {
  Pipe pipe;
  const auto block = memory_.span().first(6);
  Completions completions;
  queue_->submit({Op::read, &pipe.read_end, Request::kStream, block, completions.expect()});
  pipe.send("abc");
  EXPECT_FALSE(completions.all_done());
  pipe.send("def");
  EXPECT_EQ(completions.result().bytes, 6);
  EXPECT_EQ(std::memcmp(block.data(), "abcdef", 6), 0);
}

TEST_P(QueueOfStreams, StreamReadEndsWhenThePipeIsClosed) {
  Pipe pipe;
  pipe.send("abc");
  pipe.write_end = File();
  const Completion completion =
      transfer(Op::read, pipe.read_end, Request::kStream, memory_.span().first(4096));
  EXPECT_EQ(completion.error, 0);
  EXPECT_EQ(completion.bytes, 3);
}

TEST_P(QueueOfStreams, StreamWriteLargerThanThePipeIsCompleted) {
  Pipe pipe;
  Completions completions;
  fill(memory_.span(), 0);
  queue_->submit(
      {Op::write, &pipe.write_end, Request::kStream, memory_.span(), completions.expect()});
  MemoryRegion copy(memory_.size());
  std::size_t arrived = 0;
  while (arrived < copy.size()) {
    const ssize_t bytes = read(pipe.read_end.fd(), copy.data() + arrived, copy.size() - arrived);
    ASSERT_GT(bytes, 0);
    arrived += static_cast<std::size_t>(bytes);
  }
  EXPECT_EQ(completions.result().bytes, memory_.size());
  EXPECT_TRUE(is_filled(copy.span(), 0));
}

TEST_P(QueueOfStreams, NonBlockingPipeIsWaitedFor) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.read_end.fd(), F_SETFL, O_NONBLOCK), 0);
  Completions completions;
  queue_->submit(
      {Op::read, &pipe.read_end, Request::kStream, memory_.span().first(6), completions.expect()});
  pipe.send("abc");
  pipe.send("def");
  const Completion completion = completions.result();
  EXPECT_EQ(completion.error, 0);
  EXPECT_EQ(completion.bytes, 6);
}

TEST_P(QueueOfStreams, CancelledStreamReadsEndThoughThePipesAreSilent) {
  Pipe pipes[3];
  ASSERT_EQ(fcntl(pipes[1].read_end.fd(), F_SETFL, O_NONBLOCK), 0);
  pipes[2].send("abc");
  Completions completions;
  for (std::size_t i = 0; i < std::size(pipes); ++i) {
    queue_->submit({Op::read, &pipes[i].read_end, Request::kStream,
                    memory_.span().subspan(i * 4096, 4096), completions.expect(i)});
  }
  while (queue_->stats().busy_ns == 0) std::this_thread::yield();
  queue_->cancel_streams();
  for (std::size_t i = 0; i < std::size(pipes); ++i) {
    EXPECT_EQ(completions.result(i).error, ECANCELED);
  }
}

TEST_P(QueueOfStreams, StreamReadsAfterACancellationAreCancelled) {
  Pipe pipe;
  pipe.send("abc");
  queue_->cancel_streams();
  queue_->cancel_streams();
  const auto block = memory_.span().first(3);
  EXPECT_EQ(transfer(Op::read, pipe.read_end, Request::kStream, block).error, ECANCELED);
}

TEST_P(QueueOfStreams, CancellationReachesStreamReadsThatWaitBehindOthers) {
  queue_ = make_queue(1);
  Pipe pipes[2];
  Completions completions;
  for (std::size_t i = 0; i < std::size(pipes); ++i) {
    queue_->submit({Op::read, &pipes[i].read_end, Request::kStream,
                    memory_.span().subspan(i * 4096, 4096), completions.expect(i)});
  }
  queue_->cancel_streams();
  EXPECT_EQ(completions.result(0).error, ECANCELED);
  EXPECT_EQ(completions.result(1).error, ECANCELED);
}

TEST_P(QueueOfStreams, CancellationSparesFilesAndStreamWrites) {
  const File file = File::create_unnamed(directory_.path());
  Pipe pipe;
  const auto block = memory_.span().first(4096);
  queue_->cancel_streams();
  EXPECT_EQ(transfer(Op::write, file, 0, block).error, 0);
  EXPECT_EQ(transfer(Op::read, file, 0, block).bytes, block.size());
  EXPECT_EQ(transfer(Op::write, pipe.write_end, Request::kStream, block).bytes, block.size());
}

TEST_P(QueueOfStreams, CancellationOfAllReachesWhatWaitsAndWhatFollows) {
  queue_ = make_queue(1);
  const File file = File::create_unnamed(directory_.path());
  Pipe pipe;
  Completions completions;
  const auto block = memory_.span().first(4096);
  queue_->submit({Op::read, &pipe.read_end, Request::kStream, block, completions.expect(0)});
  queue_->submit({Op::write, &file, 0, memory_.span().subspan(4096, 4096), completions.expect(1)});
  queue_->cancel_all();
  EXPECT_EQ(completions.result(0).error, ECANCELED);
  completions.result(1);  // may have come before the read
  EXPECT_EQ(transfer(Op::write, file, 0, block).error, ECANCELED);
  EXPECT_EQ(transfer(Op::read, file, 0, block).error, ECANCELED);
}

TEST_P(QueueOfStreams, DestructorDoesNotWaitForASilentPipe) {
  Pipe pipe;
  Completions completions;
  queue_->submit(
      {Op::read, &pipe.read_end, Request::kStream, memory_.span(), completions.expect()});
  queue_.reset();
  EXPECT_TRUE(completions.all_done());
  EXPECT_EQ(completions.result().error, ECANCELED);
}

TEST_P(EveryQueue, NothingFollowsACancellationOfAll) {
  const File file = File::create_unnamed(directory_.path());
  const auto block = memory_.span().first(4096);
  queue_->cancel_streams();
  EXPECT_EQ(transfer(Op::write, file, 0, block).error, 0);
  queue_->cancel_all();
  EXPECT_EQ(transfer(Op::write, file, 0, block).error, ECANCELED);
  EXPECT_EQ(transfer(Op::read, file, 0, block).error, ECANCELED);
}

TEST_P(EveryQueue, TransfersLieInsideOutsideAndAcrossRegisteredMemory) {
  constexpr std::size_t kBlock = 64 * kKiB;
  const auto all = memory_.span().first(4 * kBlock);
  queue_->register_memory(all.subspan(kBlock, kBlock + kBlock / 2));  // blocks 1 and half of 2
  const File file = File::create_unnamed(directory_.path());
  for (std::uint64_t round = 0; round < 3; ++round) {  // registered in the second
    fill(all, round);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(transfer(Op::write, file, i * kBlock, all.subspan(i * kBlock, kBlock)).error, 0);
    }
    std::fill(all.begin(), all.end(), std::byte{0});
    for (std::size_t i = 0; i < 4; ++i) {
      const auto block = all.subspan(i * kBlock, kBlock);
      EXPECT_EQ(transfer(Op::read, file, i * kBlock, block).bytes, kBlock);
    }
    EXPECT_TRUE(is_filled(all, round));
  }
}

TEST_P(EveryQueue, MoreMemoryThanIsRegisteredIsUsedAsItIs) {
  MemoryRegion large(UringQueue::kMaxRegisteredBytes + kMiB);
  queue_->register_memory(large.span());
  const File null(open("/dev/null", O_WRONLY | O_CLOEXEC), "/dev/null", false);
  for (std::size_t moved = 0; moved <= large.size(); moved += kMiB) {
    EXPECT_EQ(transfer(Op::write, null, 0, large.span().first(kMiB)).bytes, kMiB);
  }
}

TEST_P(EveryQueue, DestructorWaitsForAllRequests) {
  const File file = File::create_unnamed(directory_.path());
  Completions completions;
  for (std::size_t i = 0; i < 100; ++i) {
    queue_->submit({Op::write, &file, i * 4096, memory_.span().subspan(i * 4096, 4096),
                    completions.expect(i)});
  }
  queue_.reset();
  EXPECT_TRUE(completions.all_done());
}

TEST_P(EveryQueue, CompletionsMaySubmit) {
  const File file = File::create_unnamed(directory_.path());
  Completions completions;
  const auto all_done = completions.expect();
  std::function<void(std::size_t)> write_from = [&](std::size_t i) {
    queue_->submit({Op::write, &file, i * 4096, memory_.span().first(4096),
                    [&, i](const Completion& completion) {
                      i == 50 ? all_done(completion) : write_from(i + 1);
                    }});
  };
  write_from(0);
  EXPECT_EQ(completions.result().error, 0);
  EXPECT_EQ(queue_->stats().requests, 51);
}

TEST_P(EveryQueue, ManyThreadsMaySubmit) {
  const File file = File::create_unnamed(directory_.path());
  Completions completions;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t * 200; i < (t + 1) * 200; ++i) {
        queue_->submit({Op::write, &file, i * 4096, memory_.span().subspan(i * 4096, 4096),
                        completions.expect()});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  completions.wait();
  EXPECT_EQ(queue_->stats().requests, 800);
  EXPECT_EQ(queue_->stats().bytes_written, 800 * 4096);
}

TEST_P(EveryQueue, StatsCountBytesAndTime) {
  const File file = File::create_unnamed(directory_.path());
  EXPECT_EQ(queue_->stats().busy_ns, 0);
  transfer(Op::write, file, 0, memory_.span().first(8192));
  transfer(Op::read, file, 0, memory_.span().first(4096));
  const QueueStats stats = queue_->stats();
  EXPECT_EQ(stats.bytes_written, 8192);
  EXPECT_EQ(stats.bytes_read, 4096);
  EXPECT_EQ(stats.requests, 2);
  EXPECT_GT(stats.busy_ns, 0);
}

TEST_P(QueueOfStreams, StartsWaitingWritesBeforeWaitingReads) {
  // One transfer at a time; the first one holds the queue until the others wait behind it.
  queue_ = make_queue(1);
  const File file = File::create_unnamed(directory_.path());
  Pipe gate;
  Completions completions;
  std::string order;
  std::mutex mutex;
  const auto note = [&](char what) {
    return [&, what, done = completions.expect()](const Completion& completion) {
      {
        std::lock_guard lock(mutex);
        order += what;
      }
      done(completion);
    };
  };
  const auto block = memory_.span().first(4096);
  queue_->submit({Op::read, &gate.read_end, Request::kStream, memory_.span().first(1), note('G')});
  while (queue_->stats().busy_ns == 0) std::this_thread::yield();
  queue_->submit({Op::read, &file, 0, block, note('r')});
  queue_->submit({Op::write, &file, 0, block, note('w')});
  queue_->submit({Op::read, &file, 0, block, note('R')});
  queue_->submit({Op::write, &file, 0, block, note('W')});
  gate.send("x");
  completions.wait();
  EXPECT_EQ(order, "GwWrR");
}

TEST(ThreadQueue, StartsAThreadForEachTransferThatWouldWait) {
  constexpr std::size_t kMost = 4;
  ThreadQueue queue(kMost);
  EXPECT_EQ(queue.width(), 1U);
  TempDirectory directory;
  const File file = File::create_unnamed(directory.path());
  MemoryRegion memory(4096);
  for (unsigned i = 0; i < 10; ++i) {  // one after the other
    Completions completions;
    queue.submit({Op::write, &file, 0, memory.span(), completions.expect()});
    completions.wait();
  }
  EXPECT_LE(queue.width(), 2U);  // (the first may still be on its way back)
  std::vector<Pipe> silent(2 * kMost);
  Completions reads;
  for (Pipe& pipe : silent) {
    queue.submit({Op::read, &pipe.read_end, Request::kStream, memory.span(), reads.expect()});
  }
  EXPECT_EQ(queue.width(), kMost);
  queue.cancel_streams();
  reads.wait();
}

TEST(RequestFifo, GivesWritesFirstAndKeepsTheOrderOtherwise) {
  RequestFifo fifo;
  EXPECT_TRUE(fifo.empty());
  for (const std::uint64_t number : {1, 2, 3, 4}) {
    Request request{number % 2 == 1 ? Op::read : Op::write, nullptr, number, {}, {}};
    EXPECT_TRUE(fifo.push(request));
  }
  for (const std::uint64_t expected : {2, 4, 1, 3}) EXPECT_EQ(fifo.pop().offset, expected);
  EXPECT_TRUE(fifo.empty());
}

class TransferOfADirectFile : public testing::Test {
 protected:
  TempDirectory directory_;
  MemoryRegion memory_{64 * kKiB};
  File file_{open((directory_ / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), "f", true};
};

TEST_F(TransferOfADirectFile, ContinuesAfterShortAndInterruptedCalls) {
  Transfer transfer({Op::read, &file_, 4096, memory_.span(), {}});
  EXPECT_FALSE(transfer.advance(-EINTR));
  EXPECT_FALSE(transfer.advance(8192));
  EXPECT_EQ(transfer.offset(), 4096 + 8192);
  EXPECT_EQ(transfer.next().data(), memory_.data() + 8192);
  EXPECT_TRUE(transfer.advance(static_cast<std::int64_t>(memory_.size()) - 8192));
  EXPECT_EQ(transfer.completion().bytes, memory_.size());
}

TEST_F(TransferOfADirectFile, UnalignedShortReadIsTheEndOfTheFile) {
  ASSERT_EQ(ftruncate(file_.fd(), 5000), 0);
  Transfer transfer({Op::read, &file_, 0, memory_.span(), {}});
  EXPECT_TRUE(transfer.advance(5000));
  EXPECT_EQ(transfer.completion().error, 0);
}

TEST_F(TransferOfADirectFile, UnalignedShortReadBeforeTheEndIsAnError) {
  ASSERT_EQ(ftruncate(file_.fd(), 1 << 20), 0);
  Transfer transfer({Op::read, &file_, 0, memory_.span(), {}});
  EXPECT_TRUE(transfer.advance(5000));
  EXPECT_EQ(transfer.completion().error, EIO);
}

TEST_F(TransferOfADirectFile, WriteOfNothingIsAnError) {
  Transfer transfer({Op::write, &file_, 0, memory_.span(), {}});
  EXPECT_TRUE(transfer.advance(0));
  EXPECT_EQ(transfer.completion().error, EIO);
}

// For a process of its own; 0 when transfers work though their memory cannot be locked, and most of
// it was not touched in trying.
int transfer_with_little_locked_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 1;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, 8 * kMiB);
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 1;
  if (geteuid() == 0 && setuid(65534) != 0) return 2;  // root may lock what it likes
  MemoryRegion memory(64 * kMiB);
  UringQueue queue(2);
  queue.register_memory(memory.span());
  const File null(open("/dev/null", O_WRONLY | O_CLOEXEC), "/dev/null", false);
  for (std::size_t moved = 0; moved <= memory.size(); moved += kMiB) {
    Completions completions;
    queue.submit({Op::write, &null, 0, memory.span().first(kMiB), completions.expect()});
    if (completions.result().error != 0) return 3;
  }
  std::vector<unsigned char> resident(memory.size() / 4096);
  if (mincore(memory.data(), memory.size(), resident.data()) != 0) return 4;
  const auto touched = std::ranges::count_if(resident, [](unsigned char page) { return page & 1; });
  return touched <= 512 ? 0 : 5;  // at most one huge page
}

TEST(UringQueueDeathTest, DoesNotTouchMemoryThatItMayNotLock) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (!uring_works()) GTEST_SKIP() << "no io_uring on this system";
  EXPECT_EXIT(_exit(transfer_with_little_locked_memory()), test::ended_well, "");
}

}  // namespace
}  // namespace xxl::io
