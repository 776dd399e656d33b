// Containers of STXXL's interface beside those of the standard library.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <stack>
#include <utility>

#include "base/random.h"
#include "xxl/stxxl.h"

namespace {

TEST(StxxlDeque, grows_and_shrinks_at_both_ends) {
  stxxl::deque<std::uint64_t> deque;
  std::deque<std::uint64_t> expected;
  xxl::Random random(1);
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const std::uint64_t action = random.below(5);
    if (action == 0) deque.push_front(i), expected.push_front(i);
    if (action == 1 || action == 2) deque.push_back(i), expected.push_back(i);
    if (action == 3 && !expected.empty()) deque.pop_front(), expected.pop_front();
    if (action == 4 && !expected.empty()) deque.pop_back(), expected.pop_back();
    ASSERT_EQ(deque.size(), expected.size());
    if (expected.empty()) continue;
    ASSERT_EQ(deque.front(), expected.front());
    ASSERT_EQ(deque.back(), expected.back());
    const std::size_t place = random.below(expected.size());
    ASSERT_EQ(deque[place], expected[place]);
  }
  EXPECT_TRUE(std::equal(deque.begin(), deque.end(), expected.begin(), expected.end()));
  stxxl::deque<std::uint64_t> copy = deque;
  const auto moved = std::move(deque);
  EXPECT_TRUE(std::equal(moved.begin(), moved.end(), copy.cbegin(), copy.cend()));
  copy.clear();
  EXPECT_TRUE(copy.empty());
}

// An element may be pushed again: growing does not move it away first.
TEST(StxxlDeque, takes_its_own_elements) {
  stxxl::deque<int> deque;
  deque.push_back(7);
  for (int i = 0; i < 5000; ++i)
    i % 2 == 0 ? deque.push_back(deque.front()) : deque.push_front(deque.back());
  for (std::uint64_t i = 0; i < deque.size(); ++i) ASSERT_EQ(deque[i], 7);
}

TEST(StxxlQueue, gives_the_oldest_first) {
  stxxl::queue<int> queue;
  for (int i = 0; i < 10'000; ++i) {
    queue.push(i);
    ASSERT_EQ(queue.back(), i);
    if (i % 2 == 1) queue.pop();
  }
  EXPECT_EQ(queue.size(), 5000u);
  for (int i = 5000; !queue.empty(); queue.pop(), ++i) ASSERT_EQ(queue.front(), i);
}

TEST(StxxlStack, gives_the_newest_first) {
  std::stack<int> inner;
  for (int i = 0; i < 10'000; ++i) inner.push(i);
  using Stack = stxxl::STACK_GENERATOR<int, stxxl::external, stxxl::grow_shrink>::result;
  Stack stack(inner), other;
  std::swap(stack, other);
  other.top() = 42;
  EXPECT_EQ(other.top(), 42);
  other.pop();
  for (int i = 9999; i-- > 0; other.pop()) ASSERT_EQ(other.top(), i);
  EXPECT_TRUE(stack.empty());
}

TEST(StxxlPriorityQueue, gives_the_largest_first) {
  struct Less {
    bool operator()(int a, int b) const { return a < b; }
    int min_value() const { return std::numeric_limits<int>::min(); }
  };
  using Queue = stxxl::PRIORITY_QUEUE_GENERATOR<int, Less, 1 << 20, 1024>::result;
  stxxl::read_write_pool<Queue::block_type> pool(1, 1);
  Queue queue(pool);
  EXPECT_EQ(queue.mem_cons(), (1u << 20) + 2 * Queue::block_type::raw_size);
  std::priority_queue<int> expected;
  xxl::Random random(2);
  for (int i = 0; i < 600'000; ++i) {
    const int number = static_cast<int>(random.below(1'000'000));
    queue.push(number), expected.push(number);
  }
  const Queue& view = queue;
  for (; !expected.empty(); expected.pop(), queue.pop()) ASSERT_EQ(view.top(), expected.top());
  EXPECT_TRUE(queue.empty());
}

}  // namespace
