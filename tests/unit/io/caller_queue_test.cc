#include "io/caller_queue.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/mailbox.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/sequential_reader.h"

namespace xxl::io {
namespace {

using Answer = CallerQueue::Answer;

class CallerQueueTest : public testing::Test {
 protected:
  void submit(std::size_t bytes, Op op = Op::read) {
    Request request;
    request.op = op;
    request.offset = Request::kStream;
    request.data = std::span(memory_).subspan(1000 * completions_.size(), bytes);
    request.done = [this, number = completions_.size()](const Completion& completion) {
      completions_[number] = completion;
    };
    completions_.emplace_back();
    queue_.submit(std::move(request));
  }
  int error(std::size_t number) const { return completions_[number]->error; }
  std::size_t bytes(std::size_t number) const { return completions_[number]->bytes; }

  std::vector<std::byte> memory_ = std::vector<std::byte>(10'000);
  std::vector<std::optional<Completion>> completions_;
  CallerQueue queue_;
};

TEST_F(CallerQueueTest, lends_requests_in_order) {
  submit(10);
  submit(20);
  EXPECT_EQ(queue_.next().data(), memory_.data());
  EXPECT_EQ(queue_.next().size(), 10) << "the same until it is completed";
  EXPECT_FALSE(completions_[0]);
  queue_.complete(10);
  EXPECT_EQ(bytes(0), 10);
  EXPECT_EQ(queue_.next().size(), 20);
  queue_.complete(3);
  EXPECT_EQ(bytes(1), 3);
  queue_.complete(7);  // nothing is lent
}

TEST_F(CallerQueueTest, waits_for_a_request) {
  std::jthread job([this] { submit(10); });
  EXPECT_EQ(queue_.next().size(), 10);
}

TEST_F(CallerQueueTest, answers_in_place_of_the_caller) {
  submit(10);
  submit(20);
  (void)queue_.next();
  queue_.answer(Answer::nothing);
  EXPECT_FALSE(completions_[0]) << "the caller has it";
  EXPECT_FALSE(completions_[1]) << "requests are completed in order";
  queue_.complete(5);
  EXPECT_EQ(bytes(0), 5);
  EXPECT_EQ(bytes(1), 0);
  submit(30);
  EXPECT_EQ(bytes(2), 0);
  queue_.answer(Answer::all);
  submit(40, Op::write);
  EXPECT_EQ(bytes(3), 40);
  EXPECT_EQ(error(3), 0);
}

TEST_F(CallerQueueTest, cancels_for_good) {
  submit(10);
  submit(20);
  (void)queue_.next();
  queue_.cancel_streams();
  queue_.complete(10);
  EXPECT_EQ(error(0), ECANCELED);
  EXPECT_EQ(error(1), ECANCELED);
  queue_.answer(Answer::all);
  queue_.reopen();
  submit(30);
  EXPECT_EQ(error(2), ECANCELED);
}

TEST_F(CallerQueueTest, ends_waits_when_it_is_closed) {
  std::jthread job([this] { queue_.close(); });
  EXPECT_TRUE(queue_.next().empty());
  queue_.reopen();
  submit(10);
  EXPECT_EQ(queue_.next().size(), 10);
}

// What completes a request may submit the next one, as the writer of a stream does.
TEST_F(CallerQueueTest, is_submitted_to_while_it_answers) {
  int left = 1000;
  std::function<void(const Completion&)> again = [&](const Completion&) {
    if (--left == 0) return;
    Request next;
    next.op = Op::write;
    next.done = again;
    queue_.submit(std::move(next));
  };
  Request first;
  first.op = Op::write;
  first.done = again;
  queue_.answer(Answer::all);
  queue_.submit(std::move(first));
  EXPECT_EQ(left, 0);
}

// A reader asks a caller for several blocks of whole records at once.
TEST(CallersFile, is_read_several_blocks_ahead) {
  constexpr std::size_t kRecord = 24, kBlocks = 4, kNumbers = 10'000;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{170}, kNumbers}) {
    CallerQueue caller;
    std::vector<File> files;
    files.push_back(File::of_caller(caller, "the test"));
    EXPECT_TRUE(files[0].is_open());
    EXPECT_FALSE(files[0].seekable());
    MemoryRegion memory(kBlocks * SequentialReader::buffer_bytes(kSectorBytes, kRecord));
    IoService io(Backend::threads, {});
    Mailbox mailbox;
    SequentialReader reader(files, kRecord, kSectorBytes, memory.span(), io, mailbox);
    std::jthread pusher([&] {
      std::uint64_t pushed = 0;
      while (pushed < count) {
        const std::span<std::byte> room = caller.next();
        EXPECT_EQ(room.size() % kRecord, 0);
        std::size_t at = 0;
        for (; at < room.size() && pushed < count; at += kRecord, ++pushed) {
          std::memcpy(room.data() + at, &pushed, sizeof pushed);
        }
        caller.complete(at);
      }
      caller.answer(Answer::nothing);
    });
    std::uint64_t expected = 0;
    for (reader.pump(); !reader.finished(); reader.pump()) {
      while (const auto block = reader.next()) {
        for (std::size_t at = 0; at < block->records.size(); at += kRecord, ++expected) {
          std::uint64_t number;
          std::memcpy(&number, block->records.data() + at, sizeof number);
          ASSERT_EQ(number, expected);
        }
        reader.release(*block);
        reader.pump();
      }
      if (!reader.finished()) mailbox.wait_and_run();
    }
    EXPECT_EQ(expected, count);
  }
}

}  // namespace
}  // namespace xxl::io
