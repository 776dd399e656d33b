// What the tests of the I/O layer share: a directory of their own, aligned buffers, waiting for
// requests, and system calls that fail on demand.
#pragma once

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "io/io_queue.h"

namespace xxl::io::test {

// A directory that lasts as long as the test.
class TempDirectory {
 public:
  TempDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "xxl-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Fills `data` with bytes that tell from which place of a file they are.
inline void fill(std::span<std::byte> data, std::uint64_t offset) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::uint64_t place = offset + i;
    data[i] = static_cast<std::byte>(place ^ (place >> 8) ^ (place >> 16));
  }
}

inline bool is_filled(std::span<const std::byte> data, std::uint64_t offset) {
  std::vector<std::byte> expected(data.size());
  fill(expected, offset);
  return std::equal(data.begin(), data.end(), expected.begin());
}

struct Pipe {
  Pipe() {
    int ends[2];
    XXL_CHECK(pipe2(ends, O_CLOEXEC) == 0);
    read_end = File(ends[0], "pipe", false);
    write_end = File(ends[1], "pipe", false);
  }
  void send(const std::string& text) {
    XXL_CHECK(write(write_end.fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  File read_end;
  File write_end;
};

inline bool uring_works() {
  return IoService(Backend::automatic, {}).backend_name() == "io_uring";
}

// Counts completions and lets a test wait for them.
class Completions {
 public:
  // For Request::done; the result is kept as number `index`.
  std::function<void(const Completion&)> expect(std::size_t index = 0) {
    {
      std::lock_guard lock(mutex_);
      ++missing_;
      if (results_.size() <= index) results_.resize(index + 1);
    }
    return [this, index](const Completion& completion) {
      std::lock_guard lock(mutex_);
      results_[index] = completion;
      --missing_;
      changed_.notify_all();
    };
  }

  // Waits for all that are expected.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return missing_ == 0; });
  }

  bool all_done() {
    std::lock_guard lock(mutex_);
    return missing_ == 0;
  }

  // Waits for all, and returns result number `index`.
  Completion result(std::size_t index = 0) {
    wait();
    return results_[index];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t missing_ = 0;
  std::vector<Completion> results_;
};

template <std::size_t size>
bool install_filter(sock_filter (&code)[size]) {
  const sock_fprog program{static_cast<unsigned short>(size), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// From now on system call `number` fails with `error` in this process and thread, when its first
// argument is `descriptor`. Cannot be undone: for child processes (death tests).
inline bool make_system_call_fail_for(int number, int error, int descriptor) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(descriptor), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install_filter(code);
}

// The same when its third argument has all of `flags` set.
inline bool make_system_call_fail(int number, int error, unsigned flags = 0) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, flags),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, flags, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install_filter(code);
}

// Exit status of a child process in which system calls could not be made to fail (no seccomp).
inline constexpr int kCannotFilter = 77;

// For EXPECT_EXIT: the child found everything right, or could not try.
inline bool ended_well(int status) {
  return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kCannotFilter);
}

}  // namespace xxl::io::test
