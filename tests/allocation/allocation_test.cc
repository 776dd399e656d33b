// Sorters and jobs whose memory ends: every allocation of a life fails once, in a run of its own.
// Whatever fails, the caller gets an exception and can go on; no memory, file or thread is left.
//
// $XXL_ALLOCATION_STRIDE: so many allocations apart are those that are tried (1: every one).
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "xxl/sort.h"
#include "xxl/sorter.h"

namespace {

std::atomic<long> allocations{0};
std::atomic<long> failing{-1};  // the allocation that fails

// As std::bad_alloc is thrown for one of them only, there is memory for the exception.
void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations++ == failing) throw std::bad_alloc();
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(bytes == 0 ? 1 : bytes)
                           : std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// (Sanitizers keep to malloc and free, which these call. What is not replaced here is replaced by
// theirs, in pairs: the operators of arrays.)
void* operator new(std::size_t bytes) {
  return allocate(bytes, 1);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(bytes, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

constexpr std::uint64_t kMemory = 2 << 20;

long stride(long usual) {
  const char* const text = std::getenv("XXL_ALLOCATION_STRIDE");
  return text == nullptr ? usual : std::max(1l, std::atol(text));
}

std::size_t entries(const char* directory) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

// Threads of the kernel that a ring leaves behind end a little later.
bool become(std::size_t most, const char* directory) {
  for (int i = 0; i < 2000; ++i) {
    if (entries(directory) <= most) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

class AllocationTest : public ::testing::Test {
 protected:
  AllocationTest() {
    std::uint64_t x = 88172645463325252u;
    for (std::uint64_t& number : numbers_) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      number = x;
    }
  }
  ~AllocationTest() override { std::filesystem::remove_all(directory_); }

  // Runs `live` again and again, with another allocation failing each time, until none does.
  void fail_each(long usual_stride, const std::function<void()>& live) {
    live();
    const std::size_t descriptors = entries("/proc/self/fd");
    const std::size_t threads = entries("/proc/self/task");
    const long step = stride(usual_stride);
    long failed = 0;
    for (long at = 0;; at += step) {
      bool threw = false;
      try {
        allocations = 0;
        failing = at;
        live();
      } catch (const std::exception&) {
        threw = true;
      }
      const bool over = allocations <= at;
      failing = -1;
      failed += threw ? 1 : 0;
      SCOPED_TRACE("allocation " + std::to_string(at));
      ASSERT_EQ(resources_.free_memory_bytes(), kMemory);
      ASSERT_TRUE(become(descriptors, "/proc/self/fd"));
      ASSERT_TRUE(become(threads, "/proc/self/task"));
      if (over) break;
    }
    EXPECT_GT(failed, 10);
  }

  static std::string make_directory() {
    const auto path =
        std::filesystem::temp_directory_path() / ("xxl_allocation_" + std::to_string(::getpid()));
    std::filesystem::create_directory(path);
    return path.string();
  }

  const std::string directory_ = make_directory();
  const xxl::resources resources_{
      {.memory_bytes = kMemory, .scratch_dirs = {directory_}, .threads = 2}};
  std::vector<std::uint64_t> numbers_ = std::vector<std::uint64_t>(400'000);
};

TEST_F(AllocationTest, Sorter) {
  fail_each(211, [this] {
    xxl::sorter<std::uint64_t> sorter({}, resources_);
    sorter.push(numbers_);
    std::uint64_t last = 0;
    std::size_t count = 0;
    for (auto part = sorter.pull(); !part.empty(); part = sorter.pull()) {
      for (const std::uint64_t number : part) {
        if (number < last) std::abort();
        last = number;
        ++count;
      }
    }
    if (count != numbers_.size()) std::abort();
  });
}

TEST_F(AllocationTest, SorterOfAnyLength) {
  fail_each(61, [this] {
    xxl::sorter<std::string> sorter({}, resources_);
    for (std::size_t i = 0; i + 4 < numbers_.size(); i += 4) {
      sorter.push(std::string_view(reinterpret_cast<const char*>(&numbers_[i]), 20 + i % 12));
    }
    std::size_t count = 0;
    for (; !sorter.empty(); ++sorter) ++count;
    if (count != (numbers_.size() - 1) / 4) std::abort();
  });
}

TEST_F(AllocationTest, JobOfFiles) {
  const std::string input = directory_ + "/in";
  const std::string output = directory_ + "/out";
  std::ofstream(input, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers_.data()),
             static_cast<std::streamsize>(numbers_.size() * sizeof(numbers_[0])));
  xxl::SortJob job;
  job.inputs = {input};
  job.output = output;
  job.format = "u64";
  fail_each(211, [&] {
    std::filesystem::remove(output);
    xxl::sort_files(job, resources_);
    if (std::filesystem::file_size(output) != std::filesystem::file_size(input)) std::abort();
  });
}

}  // namespace
