// Messages to a coordinator.
#include "base/mailbox.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <new>
#include <stop_token>
#include <thread>

#include "watchdog.h"

namespace xxl {
namespace {

int refusals_left = 0;
int refused = 0;

// A function for which there is no memory at first.
struct Starved {
  bool* arrived;
  char size[64] = {};  // too large to lie in a std::function

  void operator()() const { *arrived = true; }

  static void* operator new(std::size_t bytes) {
    if (refusals_left > 0) {
      --refusals_left;
      ++refused;
      throw std::bad_alloc();
    }
    return ::operator new(bytes);
  }
  static void* operator new(std::size_t, void* place) { return place; }
  static void operator delete(void* memory) { ::operator delete(memory); }
};

TEST(Mailbox, waits_for_memory_for_a_message) {
  Mailbox mailbox;
  bool arrived = false, before = false;
  mailbox.post([&] { before = true; });
  refusals_left = 3;
  mailbox.post(Starved{&arrived});
  mailbox.wait_and_run();
  EXPECT_EQ(refused, 3);
  EXPECT_TRUE(before);
  EXPECT_TRUE(arrived);
}

TEST(Mailbox, wakes_and_throws_when_it_is_asked_to_stop) {
  const test::Watchdog watchdog(60);
  std::stop_source source;
  Mailbox mailbox(source.get_token());
  bool ran = false;
  std::thread stopping([&] {
    source.request_stop();
    mailbox.post([&] { ran = true; });
  });
  try {
    for (;;) mailbox.wait_and_run();
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), ECANCELED);
  }
  stopping.join();
  EXPECT_THROW(mailbox.wait_and_run(), Error);
  EXPECT_FALSE(ran);
}

// A message for which there is never memory.
struct Homeless {
  Homeless() = default;
  Homeless(const Homeless&) { throw std::bad_alloc(); }
  void operator()() const {}
};

TEST(Mailbox, CoordinatorGivesUpWhenAMessageFindsNoMemory) {
  Mailbox mailbox;
  std::thread other([&] { mailbox.post(Homeless()); });
  EXPECT_THROW(mailbox.wait_and_run(), std::bad_alloc);
  other.join();
  EXPECT_THROW(mailbox.wait_and_run(), std::bad_alloc);
}

}  // namespace
}  // namespace xxl
