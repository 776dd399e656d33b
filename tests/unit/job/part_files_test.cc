#include "job/part_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "io/transfer.h"
#include "job/part_directory.h"

namespace xxl {
namespace {

namespace fs = std::filesystem;

class PartFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    std::string name = testing::TempDir() + "/xxl-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(root_); }

  static void leave_descriptors(std::size_t count) {
    rlim_t limit = 0;
    for (; count > 0; ++limit) count -= fcntl(static_cast<int>(limit), F_GETFD) < 0 ? 1 : 0;
    const rlimit both{limit, limit};
    setrlimit(RLIMIT_NOFILE, &both);
  }

  fs::path root_;
};

constexpr std::size_t kParts = 60, kRounds = 5;
constexpr unsigned kThreads = 8;

// Each thread writes its byte of each round to all parts. Returns if they have what was written.
bool writes_all(const std::string& directory) {
  PartFiles files(directory, false);
  const auto write = [&](unsigned thread) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t part = 0; part < kParts; ++part) {
        const std::uint64_t place = round * kThreads + thread;
        const std::array data{static_cast<std::byte>('a' + thread)};
        io::write_at(*files.file(part, place + 1, false, ~std::uint64_t{0}), place, data);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(write, i);
  for (std::thread& thread : threads) thread.join();
  PartManifest manifest;
  manifest.record = "fixed:1";
  for (std::size_t part = 0; part < kParts; ++part) {
    manifest.parts.push_back({"", kThreads * kRounds, kThreads * kRounds, "", "", 0});
  }
  files.publish(std::move(manifest), false, nullptr);
  const auto published = read_manifest(directory);
  for (const PartManifest::Part& part : published->parts) {
    std::ostringstream text;
    text << std::ifstream(path_in(directory, part.file)).rdbuf();
    for (std::size_t i = 0; i < text.str().size(); ++i) {
      if (text.str()[i] != static_cast<char>('a' + i % kThreads)) return false;
    }
  }
  return true;
}

// In a process of its own: the limit of open files can only be lowered.
TEST_F(PartFilesTest, threads_write_more_parts_than_can_be_open) {
  EXPECT_EXIT(
      {
        leave_descriptors(12);
        _exit(writes_all(root_ / "out") ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// None waits for ever for a file that another one failed to open.
TEST_F(PartFilesTest, all_threads_see_that_a_file_cannot_be_opened) {
  fs::create_directory(root_ / "gone");
  PartFiles files(root_ / "gone/out", false);
  fs::remove_all(root_ / "gone");
  std::vector<std::thread> threads;
  std::atomic<unsigned> failures = 0;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      try {
        files.file(0, 1, false, 1);
      } catch (const Error&) {
        ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, kThreads);
}

}  // namespace
}  // namespace xxl
