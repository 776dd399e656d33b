// What the tests of sorters share.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

#include "callers/shared_resources.h"
#include "simulated_queue.h"
#include "watchdog.h"
#include "xxl/sort.h"
#include "xxl/sorter.h"

namespace xxl::test {

inline constexpr std::uint64_t kLittleMemory = 4 << 20;

inline resources with_memory(std::uint64_t bytes, unsigned users = 1, unsigned threads = 2) {
  return resources({.memory_bytes = bytes,
                    .users = users,
                    .scratch_dirs = {testing::TempDir()},
                    .threads = threads});
}

// What is left, span by span.
template <class Sorter>
auto pull_all(Sorter& sorter) {
  std::vector<typename Sorter::value_type> all;
  for (auto span = sorter.pull(); !span.empty(); span = sorter.pull()) {
    all.insert(all.end(), span.begin(), span.end());
  }
  return all;
}

// What is left, one by one: of streams of STXXL as well.
template <class Stream>
auto read_all(Stream& stream) {
  std::vector<typename Stream::value_type> all;
  for (; !stream.empty(); ++stream) all.emplace_back(*stream);
  return all;
}

// The status of a child that runs work() and ends.
template <class Work>
int status_of_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

// Calls use(resources, whether what it does may be repeated) again and again, in each call of which
// another transfer fails, until none is left to fail.
template <class Use>
void fail_each_transfer(Use&& use) {
  const Watchdog watchdog;
  bool fails = true;
  for (int failing = 0; fails; failing += failing < 10 ? 1 : 37) {
    const resources shared = with_memory(kLittleMemory);
    std::atomic<int> transfers = 0;
    shared.shared()->queue_factory = [&] {
      return std::make_unique<SimulatedQueue>(failing, [&](const io::Request& request) {
        if (transfers++ == failing) return io::Completion{EIO, 0};
        return honest_transfer(request);
      });
    };
    fails = false;
    try {
      use(shared, failing % 2 == 0);
    } catch (const Error& error) {
      fails = true;
      EXPECT_EQ(error.sys_errno(), EIO) << error.what();
    }
    EXPECT_EQ(shared.free_memory_bytes(), kLittleMemory);
    EXPECT_EQ(fails, transfers > failing);
  }
}

}  // namespace xxl::test
