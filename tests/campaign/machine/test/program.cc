// What machine_test.cc runs on the simulated machine: each word is a program of its own.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

// Threads append their letters to one text, which shows their order.
int order() {
  std::mutex mutex;
  std::string text;
  std::vector<std::thread> threads;
  for (char letter = 'a'; letter < 'd'; ++letter) {
    threads.emplace_back([&, letter] {
      for (int i = 0; i < 20; ++i) {
        const std::lock_guard lock(mutex);
        text += letter;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::puts(text.c_str());
  return 0;
}

// The flag is looked at without the lock, so that the notice may come before the wait.
int lost_wake_up() {
  std::mutex mutex;
  std::condition_variable condition;
  std::atomic<bool> done = false;
  std::thread waiter([&] {
    if (done) return;
    std::unique_lock lock(mutex);
    condition.wait(lock);
  });
  done = true;
  condition.notify_one();
  waiter.join();
  return 0;
}

int two_locks() {
  std::mutex first;
  std::mutex second;
  std::thread other([&] {
    const std::lock_guard one(second);
    const std::lock_guard two(first);
  });
  {
    const std::lock_guard one(first);
    const std::lock_guard two(second);
  }
  other.join();
  return 0;
}

// Waits for an atomic in all the ways there are.
int atomics() {
  std::atomic<int> value = 0;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::hours(1));
    value = 1;
    value.notify_all();
    while (value != 2) std::this_thread::yield();
  });
  value.wait(0);
  value = 2;
  other.join();
  return 0;
}

int hours() {
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::hours(3));
  return std::chrono::steady_clock::now() - start >= std::chrono::hours(3) ? 0 : 1;
}

int leaves_thread_and_file() {
  open("files/left", O_WRONLY | O_CREAT, 0600);
  std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1000)); }).detach();
  return 0;
}

void put(const char* path, char byte, bool syncs) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const std::string data(8192, byte);
  if (pwrite(fd, data.data(), data.size(), 0) != static_cast<ssize_t>(data.size())) std::abort();
  if (syncs && fsync(fd) != 0) std::abort();
  close(fd);
}

void sync_directory() {
  const int fd = open("files", O_RDONLY | O_DIRECTORY);
  fsync(fd);
  close(fd);
}

int replace(bool syncs_file, bool syncs_directory) {
  put("files/new", 'n', syncs_file);
  rename("files/new", "files/name");
  if (syncs_directory) sync_directory();
  std::this_thread::sleep_for(std::chrono::hours(1));  // where the power is cut
  return 0;
}

// Prints what became of a write of 8 KiB, and of reading it.
int transfer() {
  const int fd = open("files/f", O_RDWR | O_CREAT, 0600);
  const std::string data(8192, 'x');
  const ssize_t wrote = pwrite(fd, data.data(), data.size(), 4096);
  std::printf("%zd %s\n", wrote, wrote < 0 ? strerrorname_np(errno) : "");
  std::string back(8192, ' ');
  const ssize_t read = pread(fd, back.data(), back.size(), 4096);
  std::printf("%zd %s %d\n", read, read < 0 ? strerrorname_np(errno) : "",
              static_cast<int>(back == data));
  std::printf("%s\n", fsync(fd) < 0 ? strerrorname_np(errno) : "");
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  const std::map<std::string, std::function<int()>> programs = {
      {"order", order},
      {"lost_wake_up", lost_wake_up},
      {"two_locks", two_locks},
      {"atomics", atomics},
      {"hours", hours},
      {"leaves", leaves_thread_and_file},
      {"replace", [] { return replace(true, true); }},
      {"replace_unsynced_data", [] { return replace(false, true); }},
      {"replace_unsynced_name", [] { return replace(true, false); }},
      {"transfer", transfer},
  };
  return programs.at(arguments[1])();
}
