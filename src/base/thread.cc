#include "base/thread.h"

#include <cerrno>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace xxl {
namespace {

using Body = std::function<void()>;

void* run_body(void* body) noexcept {
  const std::unique_ptr<Body> owned(static_cast<Body*>(body));
  (*owned)();
  return nullptr;
}

// All signals are blocked, here and for threads that are made meanwhile.
class QuietSignals {
 public:
  QuietSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~QuietSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t before_;
};

// 0, or what the system says.
int create(pthread_t& handle, Body&& body, std::size_t stack_bytes) {
  std::unique_ptr<Body> owned(new (std::nothrow) Body(std::move(body)));
  if (owned == nullptr) return ENOMEM;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  int error;
  {
    const QuietSignals quiet;
    error = pthread_create(&handle, &attributes, run_body, owned.get());
  }
  pthread_attr_destroy(&attributes);
  if (error == 0) owned.release();
  return error;
}

}  // namespace

Thread Thread::try_start(Body body, std::size_t stack_bytes) {
  Thread thread;
  thread.started_ = create(thread.handle_, std::move(body), stack_bytes) == 0;
  return thread;
}

Thread Thread::start(const char* purpose, Body body, std::size_t stack_bytes) {
  Thread thread;
  const int error = create(thread.handle_, std::move(body), stack_bytes);
  if (error != 0) {
    throw Error(ErrorCode::io,
                "cannot start a thread " + std::string(purpose) +
                    ": allow more processes (ulimit -u, pids.max) or address space (ulimit -v)",
                {}, Error::kNoOffset, error);
  }
  thread.started_ = true;
  return thread;
}

Thread::Thread(Thread&& other) noexcept
    : handle_(other.handle_), started_(std::exchange(other.started_, false)) {}

Thread& Thread::operator=(Thread&& other) noexcept {
  join();
  handle_ = other.handle_;
  started_ = std::exchange(other.started_, false);
  return *this;
}

void Thread::join() {
  if (std::exchange(started_, false)) pthread_join(handle_, nullptr);
}

void run_threads(unsigned workers,
                 const std::function<void(unsigned worker, const std::atomic<bool>& stop)>& body) {
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](unsigned worker) {
    try {
      body(worker, stop);
    } catch (...) {
      stop = true;
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<Thread> threads;
    threads.reserve(workers);
    for (unsigned worker = 1; worker < workers; ++worker) {
      Thread thread = Thread::try_start([&run, worker] { run(worker); });
      if (!thread) break;
      threads.push_back(std::move(thread));
    }
    run(0);
  }
  if (failure) std::rethrow_exception(failure);
}

void run_numbered(unsigned workers, std::size_t count,
                  const std::function<void(unsigned worker, std::size_t number)>& work) {
  std::atomic<std::size_t> next{0};
  run_threads(static_cast<unsigned>(std::min<std::size_t>(workers, count)),
              [&](unsigned worker, const std::atomic<bool>& stop) {
                for (std::size_t number; !stop && (number = next++) < count;) work(worker, number);
              });
}

}  // namespace xxl
