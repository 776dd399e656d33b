#include "base/monitor.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "watchdog.h"

namespace xxl {
namespace {

TEST(Monitor, a_failure_wakes_all_who_wait_and_the_first_one_is_kept) {
  test::Watchdog watchdog(60);
  Monitor monitor;
  std::vector<std::thread> threads;
  std::atomic<int> abandoned{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto lock = monitor.lock();
      try {
        monitor.wait(lock, [] { return false; });
      } catch (const Monitor::Abandoned&) {
        ++abandoned;
      }
    });
  }
  monitor.guard([] { throw std::runtime_error("first"); });
  monitor.guard([] { throw std::runtime_error("second"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(abandoned, 4);
  try {
    monitor.check();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  auto lock = monitor.lock();
  EXPECT_THROW(monitor.wait(lock, [] { return true; }), Monitor::Abandoned);
}

TEST(Monitor, a_change_is_seen_and_a_task_that_was_abandoned_is_no_failure) {
  test::Watchdog watchdog(60);
  Monitor monitor;
  bool ready = false;
  std::thread thread([&] {
    {
      auto lock = monitor.lock();
      ready = true;
    }
    monitor.notify();
  });
  {
    auto lock = monitor.lock();
    monitor.wait(lock, [&] { return ready; });
  }
  thread.join();
  monitor.guard([] { throw Monitor::Abandoned{}; });
  EXPECT_NO_THROW(monitor.check());
}

TEST(Monitor, being_asked_to_stop_is_the_failure_whatever_fails_because_of_it) {
  const test::Watchdog watchdog(60);
  std::stop_source source;
  Monitor monitor(source.get_token());
  std::thread waiting([&] {
    auto lock = monitor.lock();
    EXPECT_THROW(monitor.wait(lock, [] { return false; }), Monitor::Abandoned);
  });
  source.request_stop();
  waiting.join();
  monitor.guard([] { throw std::runtime_error("a read was cancelled"); });
  EXPECT_THROW(monitor.pass(), Monitor::Abandoned);
  try {
    monitor.check();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), ECANCELED);
  }
}

}  // namespace
}  // namespace xxl
