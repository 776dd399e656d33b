// Priority queues beside std::priority_queue.
#include "xxl/priority_queue.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <stop_token>
#include <string>
#include <vector>

#include "base/random.h"
#include "callers/shared_resources.h"
#include "sorter_test_support.h"

// Members of options that are not named keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace xxl {
namespace {

using namespace test;

constexpr std::uint64_t kLeastMemory = 256 << 10;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

struct Event {
  std::uint64_t time;
  std::uint64_t payload;
};
struct Later {
  bool operator()(const Event& a, const Event& b) const { return a.time > b.time; }
};
bool operator==(const Event& a, const Event& b) {
  return a.time == b.time && a.payload == b.payload;
}

// Does the same to both. Payloads follow from times: equal records are alike.
class BothQueues {
 public:
  explicit BothQueues(const resources& shared) : queue_({}, shared) {}

  void push(std::uint64_t time) {
    queue_.push({time, time * 3});
    expected_.push({time, time * 3});
  }
  std::uint64_t pop() {
    EXPECT_EQ(queue_.top(), expected_.top());
    const std::uint64_t time = expected_.top().time;
    queue_.pop();
    expected_.pop();
    EXPECT_EQ(queue_.size(), expected_.size());
    return time;
  }
  void pop_all() {
    while (!empty()) pop();
    EXPECT_TRUE(queue_.empty());
  }
  bool empty() const { return expected_.empty(); }

 private:
  priority_queue<Event, Later> queue_;
  std::priority_queue<Event, std::vector<Event>, Later> expected_;
};

resources with_codec() {
  return resources(
      {.memory_bytes = 1 << 20, .scratch_dirs = {testing::TempDir()}, .scratch_codec = Codec::lz4});
}

// Random pushes, and pops for `pops` of 100 operations.
void mix(BothQueues& queues, std::uint64_t seed, int operations, std::uint64_t times,
         unsigned pops) {
  Random random(seed);
  for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
    if (!queues.empty() && random.below(100) < pops) {
      queues.pop();
    } else {
      queues.push(random.below(times));
    }
  }
}

TEST(PriorityQueue, gives_the_largest_first) {
  priority_queue<int> queue({}, with_memory(kLeastMemory));
  EXPECT_TRUE(queue.empty());
  for (const int number : {3, 1, 4, 1, 5}) queue.push(number);
  queue.emplace(9);
  std::vector<int> numbers;
  for (; !queue.empty(); queue.pop()) numbers.push_back(queue.top());
  EXPECT_EQ(numbers, (std::vector<int>{9, 5, 4, 3, 1, 1}));
}

TEST(PriorityQueue, is_as_large_as_wanted) {
  for (const std::uint64_t times : {kAll, std::uint64_t{1000}, std::uint64_t{1}}) {
    for (const unsigned pops : {20u, 45u, 55u}) {
      BothQueues queues(with_memory(kLeastMemory));
      mix(queues, times + pops, 300'000, times, pops);
      queues.pop_all();
    }
  }
}

struct LargeRecord {
  std::uint64_t key;
  std::byte rest[4992];
  bool operator<(const LargeRecord& other) const { return key < other.key; }
};

TEST(PriorityQueue, takes_large_records) {
  constexpr std::uint64_t kRecords = 4000;
  priority_queue<LargeRecord> queue({}, with_memory(3 << 20));
  for (std::uint64_t i = 0; i < kRecords; ++i) queue.push({i * 7919 % kRecords, {}});
  for (std::uint64_t i = kRecords; i-- > 0; queue.pop()) ASSERT_EQ(queue.top().key, i);
}

TEST(PriorityQueue, uses_no_gpu) {
  const resources shared({.memory_bytes = kLeastMemory, .device = Device::gpu});
  EXPECT_THROW((priority_queue<int>({}, shared)), Error);
}

TEST(PriorityQueue, packs_what_it_writes) {
  BothQueues queues(with_codec());
  mix(queues, 1, 300'000, 1'000'000, 20);
  queues.pop_all();
}

// Runs become so many that some are merged: in order, in the opposite one, in waves.
TEST(PriorityQueue, merges_many_runs) {
  constexpr std::uint64_t kRecords = 400'000;
  const std::function<std::uint64_t(std::uint64_t)> orders[] = {
      [](std::uint64_t i) { return i; }, [](std::uint64_t i) { return kRecords - i; },
      [](std::uint64_t i) { return i % 5000 * kRecords + i; }};
  for (const auto& time : orders) {
    BothQueues queues(with_memory(kLeastMemory));
    for (std::uint64_t i = 0; i < kRecords; ++i) queues.push(time(i));
    queues.pop_all();
  }
}

// As in simulations: what is pushed comes soon after what was popped, or much later.
TEST(PriorityQueue, takes_what_comes_soon) {
  for (const std::uint64_t step : {2u, 1000u, 1'000'000u}) {
    BothQueues queues(with_memory(kLeastMemory));
    Random random(step);
    for (int i = 0; i < 100'000; ++i) queues.push(random.below(1'000'000));
    for (int i = 0; i < 300'000 && !HasFailure(); ++i)
      queues.push(queues.pop() + random.below(step));
    queues.pop_all();
  }
}

// Time-forward processing: each vertex sends to later ones. Blocks of new runs are needed sooner
// than some in memory.
TEST(PriorityQueue, gives_messages_in_time) {
  BothQueues queues(with_memory(kLeastMemory));
  Random random(5);
  constexpr std::uint64_t kVertices = 100'000;
  for (std::uint64_t vertex = 0; vertex + 1 < kVertices && !HasFailure(); ++vertex) {
    for (int i = 0; i < 4; ++i) queues.push(vertex + 1 + random.below(kVertices - vertex - 1));
    for (int i = 0; i < 3; ++i) queues.pop();
  }
  queues.pop_all();
}

// Runs end far behind the rest: their last blocks would fill the memory.
TEST(PriorityQueue, keeps_room_beside_the_ends_of_runs) {
  BothQueues queues(with_memory(kLeastMemory));
  for (std::uint64_t round = 0; round < 200 && !HasFailure(); ++round) {
    for (std::uint64_t i = 0; i < 4000; ++i) queues.push(round * 10'000 + i);
    for (std::uint64_t i = 0; i < 200; ++i) queues.push(1'000'000'000 + i * 1000 + round);
    for (int i = 0; i < 4000; ++i) queues.pop();
  }
  queues.pop_all();
}

TEST(PriorityQueue, says_that_it_is_empty) {
  priority_queue<int> queue({}, with_memory(kLeastMemory));
  EXPECT_THROW((void)queue.top(), Error);
  queue.push(1);
  queue.pop();
  EXPECT_THROW(queue.pop(), Error);
}

TEST(PriorityQueue, says_how_much_memory_it_needs) {
  try {
    const priority_queue<int> queue({}, with_memory(100 << 10));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    EXPECT_NE(std::string(error.what()).find("at least 256"), std::string::npos) << error.what();
  }
}

TEST(PriorityQueue, shares_resources) {
  const resources shared = with_memory(2 * kLeastMemory, 2);
  priority_queue<int> queue({}, shared);
  EXPECT_EQ(shared.free_memory_bytes(), kLeastMemory);
  EXPECT_THROW((priority_queue<int>({}, shared, 2 * kLeastMemory)), Error);
}

// Pushes until something fails.
Error error_of(const resources& shared) {
  try {
    priority_queue<std::uint64_t, std::greater<>> queue({}, shared);
    for (std::uint64_t i = 0; i < 300'000; ++i) queue.push(i * 7919 % 1'000'003);
    for (; !queue.empty(); queue.pop()) (void)queue.top();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::usage, "nothing failed");
}

TEST(PriorityQueue, passes_on_what_fails_in_the_background) {
  for (const io::Op op : {io::Op::write, io::Op::read}) {
    const resources shared = with_memory(kLeastMemory);
    shared.shared()->queue_factory = simulated_queues(1, [op](const io::Request& request) {
      return request.op == op ? io::Completion{EIO, 0} : honest_transfer(request);
    });
    const Error error = error_of(shared);
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_EQ(error.sys_errno(), EIO);
  }
}

TEST(PriorityQueue, notices_changed_blocks) {
  const resources shared = with_memory(kLeastMemory);
  shared.shared()->queue_factory = simulated_queues(1, [](const io::Request& request) {
    const io::Completion completion = honest_transfer(request);
    if (request.op == io::Op::read) request.data[100] ^= std::byte{1};
    return completion;
  });
  EXPECT_EQ(error_of(shared).code(), ErrorCode::corrupt);
}

TEST(PriorityQueue, stops) {
  std::stop_source stop;
  stop.request_stop();
  const Error error = error_of(resources({.memory_bytes = kLeastMemory,
                                          .scratch_dirs = {testing::TempDir()},
                                          .stop = stop.get_token()}));
  EXPECT_EQ(error.sys_errno(), ECANCELED);
}

TEST(PriorityQueue, belongs_to_the_process_that_filled_it) {
  auto queue = std::make_unique<priority_queue<int>>(std::less<int>(), with_memory(kLeastMemory));
  for (int i = 0; i < 100'000; ++i) queue->push(i);
  const int status = status_of_child([&] {
    try {
      for (; !queue->empty(); queue->pop()) (void)queue->top();
      ::_exit(1);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::usage) ::_exit(2);
    }
    queue.reset();
  });
  EXPECT_EQ(status, 0);
  for (int i = 100'000; i-- > 0; queue->pop()) ASSERT_EQ(queue->top(), i);
}

}  // namespace
}  // namespace xxl
