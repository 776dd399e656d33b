// Jobs of files that are asked to stop: complete, or as if they had never been. Sorters that are
// asked to stop, alone or together.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "callers/shared_resources.h"
#include "io/thread_queue.h"
#include "io/uring_queue.h"
#include "io_test_support.h"
#include "watchdog.h"
#include "xxl/join.h"
#include "xxl/resources.h"
#include "xxl/sort.h"
#include "xxl/sorter.h"

// Members of a job that are not named keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace xxl {
namespace {

constexpr std::uint64_t kStopMemory = 6 << 20;
constexpr std::size_t kInputBytes = 8 << 20;
constexpr int kMoments = 8;  // at which each job is stopped, by the number of its transfers

// Says when each transfer has ended.
class WatchedQueue final : public io::IoQueue {
 public:
  WatchedQueue(std::unique_ptr<io::IoQueue> queue, std::function<void()> ended)
      : ended_(std::move(ended)), queue_(std::move(queue)) {}

  void submit(io::Request request) noexcept override {
    request.done = [this, done = std::move(request.done)](const io::Completion& completion) {
      ended_();
      done(completion);
    };
    queue_->submit(std::move(request));
  }
  void register_memory(std::span<std::byte>) override {}
  void cancel_streams() override { queue_->cancel_streams(); }
  void cancel_all() override { queue_->cancel_all(); }
  io::QueueStats stats() const override { return queue_->stats(); }
  std::string name() const override { return queue_->name(); }

 private:
  const std::function<void()> ended_;
  std::unique_ptr<io::IoQueue> queue_;
};

class StoppedJobs : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::io_uring && !io::test::uring_works()) {
      GTEST_SKIP() << "no io_uring on this system";
    }
  }

  std::string path(const std::string& name) const { return directory_ / name; }
  std::string read(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // `line(random number)`, again and again.
  std::string write(const std::string& name, std::uint64_t seed,
                    const std::function<std::string(std::uint64_t)>& line) {
    Random random(seed);
    std::string content;
    while (content.size() < kInputBytes) content += line(random());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string write_numbers(const std::string& name, std::uint64_t seed) {
    return write(name, seed, [](std::uint64_t number) {
      number %= kInputBytes;
      return std::string(reinterpret_cast<const char*>(&number), sizeof number);
    });
  }
  std::string write_lines(const std::string& name, std::uint64_t seed) {
    return write(name, seed, [](std::uint64_t number) {
      return std::to_string(number % kInputBytes) + ",abc\n";
    });
  }

  // Calls ended(number of the transfer) after each one.
  resources watched(const std::stop_token& stop, std::function<void(int)> ended) {
    const resources shared({.memory_bytes = kStopMemory,
                            .scratch_dirs = {scratch_.path()},
                            .threads = 2,
                            .stop = stop});
    const auto transfers = std::make_shared<std::atomic<int>>(0);
    shared.shared()->queue_factory = [ended = std::move(ended), transfers] {
      std::unique_ptr<io::IoQueue> queue;
      if (GetParam() == Backend::io_uring) {
        queue = std::make_unique<io::UringQueue>(8);
      } else {
        queue = std::make_unique<io::ThreadQueue>(8);
      }
      return std::make_unique<WatchedQueue>(std::move(queue),
                                            [ended, transfers] { ended((*transfers)++); });
    };
    return shared;
  }

  // run(resources) writes "output".
  void stop_at_many_moments(const std::function<void(const resources&)>& run) {
    const test::Watchdog watchdog;
    std::atomic<int> transfers = 0;
    run(watched({}, [&](int) { ++transfers; }));
    const std::string complete = read("output");
    const std::vector<std::string> names = directory_.names();
    ASSERT_GT(transfers, kMoments);
    int stopped = 0;
    Random random(transfers);
    for (int moment = 0; moment < kMoments; ++moment) {
      const int last = static_cast<int>(random.below(transfers));
      std::ofstream(path("output"), std::ios::trunc) << "old";
      std::stop_source source;
      const resources shared = watched(source.get_token(), [&](int number) {
        if (number == last) source.request_stop();
      });
      try {
        run(shared);
        EXPECT_EQ(read("output"), complete);
      } catch (const Error& error) {
        ++stopped;
        EXPECT_EQ(error.code(), ErrorCode::io);
        EXPECT_EQ(error.sys_errno(), ECANCELED) << error.what();
        EXPECT_EQ(read("output"), "old") << "after transfer " << last;
      }
      EXPECT_EQ(directory_.names().size(), names.size());
      EXPECT_TRUE(scratch_.names().empty());
      EXPECT_EQ(shared.free_memory_bytes(), kStopMemory);
    }
    EXPECT_GT(stopped, kMoments / 2);
  }

  io::test::TempDirectory directory_, scratch_;
};

TEST_P(StoppedJobs, sort_records) {
  SortJob job{.inputs = {write_numbers("input", 1)}, .format = "u64"};
  job.output = path("output");
  stop_at_many_moments([&](const resources& shared) { sort_files(job, shared); });
  job.batch_size = 2;  // several passes
  stop_at_many_moments([&](const resources& shared) { sort_files(job, shared); });
}

TEST_P(StoppedJobs, sort_lines) {
  SortJob job{.inputs = {write_lines("input", 2)}};
  job.output = path("output");
  stop_at_many_moments([&](const resources& shared) { sort_files(job, shared); });
  job.output = path("output");
  job.batch_size = 2;
  stop_at_many_moments([&](const resources& shared) { sort_files(job, shared); });
}

TEST_P(StoppedJobs, sort_rows) {
  SortJob job{.inputs = {write_lines("input", 3)}, .format = "csv", .keys = {"1:integer"}};
  job.output = path("output");
  stop_at_many_moments([&](const resources& shared) { sort_files(job, shared); });
}

TEST_P(StoppedJobs, merge_sorted_files) {
  for (const std::string record : {"u64", "lines"}) {
    SortJob job{.format = record};
    for (const std::uint64_t seed : {4, 5}) {
      const std::string name = std::to_string(seed);
      SortJob first{
          .inputs = {record == "u64" ? write_numbers(name, seed) : write_lines(name, seed)},
          .format = record};
      first.output = path(name + ".sorted");
      sort_files(first);
      job.inputs.push_back(first.output);
    }
    job.merge_only = true;
    job.output = path("output");
    stop_at_many_moments([&](const resources& shared) { sort_files(job, shared); });
  }
}

TEST_P(StoppedJobs, join_records) {
  for (const JoinMethod method : {JoinMethod::sort_merge, JoinMethod::hash}) {
    JoinJob job{.inputs = {write_numbers("r", 6), write_numbers("s", 7)},
                .formats = {"kv64", "u64"}};
    if (method == JoinMethod::hash) {
      std::ofstream(path("r"), std::ios::binary) << read("s").substr(0, 1 << 20);
    }
    job.method = method;
    job.output = path("output");
    stop_at_many_moments([&](const resources& shared) {
      // Rows of a table come in no particular order.
      EXPECT_EQ(join_files(job, shared).plan.method, method);
      SortJob in_order{.inputs = {job.output}, .format = "fixed:16", .keys = {"0:bytes16"}};
      in_order.output = job.output;
      sort_files(in_order);
    });
  }
}

TEST_P(StoppedJobs, join_lines) {
  JoinJob job{.inputs = {write_lines("r", 8), write_lines("s", 9)}, .separator = ","};
  job.output = path("output");
  stop_at_many_moments([&](const resources& shared) { join_files(job, shared); });
}

// Nobody ever writes to the pipe.
TEST_P(StoppedJobs, do_not_wait_for_a_silent_pipe) {
  const test::Watchdog watchdog;
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const io::File other_end(open(path("fifo").c_str(), O_RDWR | O_CLOEXEC), "fifo", false);
  for (const std::string record : {"u64", "lines"}) {
    for (const bool merge_only : {false, true}) {
      SortJob job{.inputs = {path("fifo")}, .format = record, .merge_only = merge_only};
      job.output = path("output");
      std::stop_source source;
      const resources shared({.memory_bytes = kStopMemory,
                              .scratch_dirs = {scratch_.path()},
                              .backend = GetParam(),
                              .stop = source.get_token()});
      std::thread stopping([&] {
        for (int i = 0; i < 20'000; ++i) std::this_thread::yield();  // most often it waits by then
        source.request_stop();
      });
      try {
        sort_files(job, shared);
        ADD_FAILURE() << record;
      } catch (const Error& error) {
        EXPECT_EQ(error.sys_errno(), ECANCELED) << error.what();
      }
      stopping.join();
    }
  }
  EXPECT_EQ(directory_.names(), std::vector<std::string>{"fifo"});
}

// One of two sorters, before records, while they are pushed, and while they are pulled.
TEST(StoppedSorters, leave_the_others) {
  const test::Watchdog watchdog;
  for (const std::size_t count : {1000, 1'000'000}) {
    for (const int when : {0, 1, 2}) {
      std::stop_source own, all;
      const resources shared(
          {.memory_bytes = 2 * kStopMemory, .users = 2, .threads = 2, .stop = all.get_token()});
      sorter<std::uint64_t> other({}, shared, {.stop = std::stop_source().get_token()});
      const auto stop_at = [&](int now) {
        if (when == now) own.request_stop();
      };
      try {
        sorter<std::uint64_t> stopped({}, shared, {.stop = own.get_token()});
        stop_at(0);
        for (std::uint64_t i = 0; i < count / 2; ++i) stopped.push(i * 0x9e3779b97f4a7c15u);
        stop_at(1);
        for (std::uint64_t i = 0; i < count / 2; ++i) stopped.push(i * 0x9e3779b97f4a7c15u);
        stop_at(2);
        while (!stopped.pull().empty()) {
        }
        ADD_FAILURE() << when;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::io);
        EXPECT_EQ(error.sys_errno(), ECANCELED) << error.what();
      }
      for (std::uint64_t i = 0; i < count; ++i) other.push(count - i);
      EXPECT_EQ(*other, 1U);
      all.request_stop();  // both kinds of request count
      other.clear();
      EXPECT_THROW(other.push(1), Error);
    }
  }
}

TEST(StoppedSorters, need_a_token_of_the_standard_library) {
  struct Token {
    bool stop_requested() const { return false; }
    bool stop_possible() const { return true; }
  };
  const auto code_of = [](const std::function<void()>& use) {
    try {
      use();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::corrupt;
  };
  EXPECT_EQ(code_of([] { resources({.stop = Token()}); }), ErrorCode::usage);
  EXPECT_EQ(code_of([] { sorter<int>({}, resources(), {.stop = Token()}); }), ErrorCode::usage);
}

INSTANTIATE_TEST_SUITE_P(Backends, StoppedJobs,
                         testing::Values(Backend::io_uring, Backend::threads),
                         [](const auto& param) {
                           return param.param == Backend::io_uring ? "io_uring" : "threads";
                         });

}  // namespace
}  // namespace xxl
