// Tasks in order, with threads and without; and what a thread does while it waits.
#include "base/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/monitor.h"

namespace xxl {
namespace {

class EveryWidth : public testing::TestWithParam<unsigned> {};  // 0: no threads
INSTANTIATE_TEST_SUITE_P(Workers, EveryWidth, testing::Values(0u, 1u, 2u, 5u));

Workers make_workers(unsigned threads) {
  return Workers(std::max(threads, 1u),
                 threads == 0 ? Workers::Threads::none : Workers::Threads::wanted);
}

TEST_P(EveryWidth, ATaskMayWaitForOneGivenBefore) {
  constexpr int kTasks = 200;
  std::atomic<int> turn{0};
  Mailbox mailbox;
  int done = 0;
  {
    Workers workers = make_workers(GetParam());
    for (int i = 0; i < kTasks; ++i) {
      workers.run([&, i](unsigned thread) {
        EXPECT_LT(thread, workers.width());
        for (int now; (now = turn) != i;) turn.wait(now);
        turn = i + 1;
        turn.notify_all();
        mailbox.post([&done] { ++done; });
      });
    }
    while (done < kTasks) mailbox.wait_and_run();
  }
  EXPECT_EQ(turn, kTasks);
}

TEST_P(EveryWidth, TheEndOfTheWorkersWaitsForAllTasks) {
  std::atomic<int> done{0};
  {
    Workers workers = make_workers(GetParam());
    for (int i = 0; i < 50; ++i) workers.run([&](unsigned) { ++done; });
  }
  EXPECT_EQ(done, 50);
}

TEST_P(EveryWidth, AnOperationUnderWayEndsBeforeItsObject) {
  std::atomic<bool> ended{false};
  Workers workers = make_workers(GetParam());
  {
    InFlight in_flight;
    workers.run([&, token = in_flight.begin()](unsigned) mutable {
      ended = true;
      token.reset();
    });
  }
  EXPECT_TRUE(ended);
}

// Without threads, nothing runs inside run(): who hands a task over may hold the lock.
TEST_P(EveryWidth, TasksMayBeHandedOverWithTheLockOfTheMonitor) {
  Monitor monitor;
  int done = 0;
  Workers workers = make_workers(GetParam());
  auto lock = monitor.lock();
  for (int i = 0; i < 20; ++i) {
    workers.run([&](unsigned) {
      {
        auto own = monitor.lock();
        ++done;
      }
      monitor.notify();
    });
  }
  monitor.wait(lock, [&] { return done == 20; });
  EXPECT_EQ(done, 20);
}

TEST(WorkersWithoutThreads, TheThreadThatWaitsDoesWhatOthersHandOver) {
  Mailbox mailbox;
  Workers workers = make_workers(0);
  const auto own = std::this_thread::get_id();
  std::thread::id ran_on;
  bool done = false;
  Thread other = Thread::try_start([&] {
    workers.run([&](unsigned) {
      ran_on = std::this_thread::get_id();
      mailbox.post([&] { done = true; });
    });
  });
  ASSERT_TRUE(other);
  while (!done) mailbox.wait_and_run();
  EXPECT_EQ(ran_on, own);
}

TEST(RunThreads, WhatOneThrowsStopsAllAndIsThrown) {
  EXPECT_THROW(run_threads(4,
                           [](unsigned worker, const std::atomic<bool>& stop) {
                             if (worker == 0) throw std::runtime_error("no");
                             while (!stop) std::this_thread::yield();
                           }),
               std::runtime_error);
}

}  // namespace
}  // namespace xxl
