#include "scheduler.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "machine.h"
#include "real.h"

namespace xxl::machine {

struct Scheduler::Thread {
  Scheduler* scheduler = nullptr;
  int id = 0;
  bool waits = false;
  bool ended = false;
  bool woken = false;
  bool of_library = false;
  const void* on = nullptr;
  const void* also_on = nullptr;
  Time deadline = kForever;
  std::atomic<std::uint32_t> may_run{0};
  pthread_t handle{};
  int kernel_id = 0;
  int to_reap = 0;  // kernel_id of the thread that ended before this one was to go on
  bool tells_stack = false;
  std::string stack;
  void* (*body)(void*) = nullptr;
  void* argument = nullptr;
};

namespace {

thread_local void* this_thread __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local int rounds_of_end __attribute__((tls_model("initial-exec"))) = 0;

constexpr int kMostFrames = 40;

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  real_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, value, 0);
}
void futex_wake(std::atomic<std::uint32_t>& word) {
  real_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, 1);
}

std::string own_stack() {
  void* frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  char** const names = backtrace_symbols(frames, count);
  std::string text;
  for (int i = 2; names != nullptr && i < count; ++i) text.append(" ").append(names[i]).append(";");
  std::free(names);
  return text;
}

bool is_of_library(void* (*body)(void*)) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(body), &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libtbb") != nullptr;
}

}  // namespace

Scheduler::Scheduler(const Plan& plan)
    : switch_every_(plan.switch_every),
      most_steps_(plan.most_steps),
      end_step_(plan.end == End::none ? 0 : plan.end_step),
      random_(plan.seed * 2 + 1) {
  pthread_key_create(&end_key_, end_thread);
  if (!plan.log.empty()) {
    log_ = static_cast<int>(real_syscall(SYS_openat, AT_FDCWD,
                                         reinterpret_cast<long>(plan.log.c_str()),
                                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  }
  auto first = std::make_unique<Thread>();
  first->id = 1;
  first->handle = pthread_self();
  this_thread = first.get();
  threads_.push_back(std::move(first));
}

Scheduler::~Scheduler() = default;

const void* Scheduler::outside() {
  static const char place = 0;
  return &place;
}

int Scheduler::id() const {
  return static_cast<const Thread*>(this_thread)->id;
}

bool Scheduler::is_runnable(const Thread& thread) const {
  return !thread.ended && (!thread.waits || thread.woken || thread.deadline <= now_);
}

void Scheduler::step(Call call, std::uint64_t detail) {
  ++steps_;
  ++now_;
  note(static_cast<std::uint64_t>(id()) << 8 | static_cast<std::uint64_t>(call));
  note(detail);
  if (log_ >= 0) write_log(call, detail);
  if (steps_ == end_step_) on_end_step();
  if (steps_ >= most_steps_) on_hang("steps");
  happen_until(now_);
  if (switch_every_ != 0 && random_.below(switch_every_) == 0) switch_to(choose(false));
}

void Scheduler::write_log(Call call, std::uint64_t detail) {
  char line[80];
  const int bytes = std::snprintf(line, sizeof line, "%lu %ld %d %lu %lx\n", steps_, now_, id(),
                                  static_cast<unsigned long>(call), detail);
  real_syscall(SYS_write, log_, reinterpret_cast<long>(line), bytes);
}

void Scheduler::yield() {
  ++steps_;
  if (steps_ == end_step_) on_end_step();
  if (steps_ >= most_steps_) on_hang("steps");
  note(static_cast<std::uint64_t>(id()) << 8 | static_cast<std::uint64_t>(Call::yield));
  happen_until(++now_);
  Thread* const next = choose(true);
  if (next != nullptr) return switch_to(next);
  pass_time();
}

void Scheduler::at(Time time, std::function<void()> happen) {
  events_.push({time, events_made_++, std::move(happen)});
}

void Scheduler::happen_until(Time time) {
  while (!events_.empty() && events_.top().time <= time) {
    const auto happen = events_.top().happen;
    events_.pop();
    note(static_cast<std::uint64_t>(Call::event));
    happen();
  }
}

// To the next moment at which something happens; false if there is none.
void Scheduler::pass_time() {
  Time next = events_.empty() ? kForever : events_.top().time;
  for (const auto& thread : threads_) {
    if (!thread->ended && thread->waits) next = std::min(next, thread->deadline);
  }
  if (next == kForever) return;
  now_ = std::max(now_, next);
  happen_until(now_);
}

Scheduler::Thread* Scheduler::choose(bool but_this) {
  std::uint64_t count = 0;
  Thread* chosen = nullptr;
  for (const auto& thread : threads_) {
    if (but_this && thread.get() == this_thread) continue;
    if (is_runnable(*thread) && random_.below(++count) == 0) chosen = thread.get();
  }
  return chosen;
}

void Scheduler::switch_to(Thread* next) {
  auto& self = *static_cast<Thread*>(this_thread);
  if (next == &self || next == nullptr) return;
  next->may_run = 1;
  futex_wake(next->may_run);
  await_turn(self);
}

// Until another thread lets this one run.
void Scheduler::await_turn(Thread& thread) {
  for (;;) {
    while (thread.may_run == 0) futex_wait(thread.may_run, 0);
    thread.may_run = 0;
    if (!thread.tells_stack) break;
    thread.stack = own_stack();
    thread.tells_stack = false;
  }
  if (thread.to_reap != 0) {
    // Its last instructions, in the C library, are not to run beside this thread.
    while (real_syscall(SYS_tgkill, real_getpid(), thread.to_reap, 0) == 0) real_yield();
    thread.to_reap = 0;
  }
  if (thread.id == 1 && interruption_) std::exchange(interruption_, nullptr)();
}

bool Scheduler::wait(const void* on, Time deadline) {
  auto& self = *static_cast<Thread*>(this_thread);
  self.waits = true;
  self.woken = false;
  self.on = on;
  self.deadline = deadline;
  let_another_run();
  self.waits = false;
  self.also_on = nullptr;
  self.deadline = kForever;
  return self.woken;
}

void Scheduler::wait_for_either(const void* on, const void* other) {
  static_cast<Thread*>(this_thread)->also_on = other;
  wait(on);
}

// Until this thread may go on.
void Scheduler::let_another_run() {
  auto& self = *static_cast<Thread*>(this_thread);
  for (;;) {
    Thread* const next = choose(false);
    if (next == &self) return;
    if (next != nullptr) {
      switch_to(next);
      if (is_runnable(self)) return;
      continue;
    }
    const Time before = now_;
    pass_time();
    if (now_ != before || choose(false) != nullptr) continue;
    // Only something outside of the machine can help.
    bool found = false;
    for (const auto& thread : threads_) {
      if (thread->ended || !thread->waits || thread->on != outside()) continue;
      thread->woken = true;
      found = true;
    }
    if (!found) on_hang("hang");
  }
}

void Scheduler::wake(const void* on, std::uint64_t most) {
  std::vector<Thread*> waiting;
  for (const auto& thread : threads_) {
    if (!thread->ended && thread->waits && !thread->woken &&
        (thread->on == on || thread->also_on == on)) {
      waiting.push_back(thread.get());
    }
  }
  while (most > 0 && !waiting.empty()) {
    const std::size_t i = random_.below(waiting.size());
    waiting[i]->woken = true;
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    --most;
  }
}

int Scheduler::create(pthread_t* handle, const pthread_attr_t* attributes, void* (*body)(void*),
                      void* argument) {
  auto thread = std::make_unique<Thread>();
  thread->id = static_cast<int>(threads_.size()) + 1;
  thread->scheduler = this;
  thread->body = body;
  thread->argument = argument;
  thread->of_library = is_of_library(body);
  const int error = real_pthread_create(&thread->handle, attributes, run_thread, thread.get());
  if (error != 0) return error;
  *handle = thread->handle;
  threads_.push_back(std::move(thread));
  return 0;
}

void* Scheduler::run_thread(void* argument) {
  auto& self = *static_cast<Thread*>(argument);
  this_thread = &self;
  self.kernel_id = static_cast<int>(real_syscall(SYS_gettid));
  self.scheduler->await_turn(self);
  pthread_setspecific(self.scheduler->end_key_, &self);
  return self.body(self.argument);
}

// In the last of the rounds in which the C library calls destructors of a thread's data, so that
// those of the program have run.
void Scheduler::end_thread(void* argument) {
  const Inside inside;
  auto& self = *static_cast<Thread*>(argument);
  Scheduler& scheduler = *self.scheduler;
  if (++rounds_of_end < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(scheduler.end_key_, argument);
    return;
  }
  scheduler.note(static_cast<std::uint64_t>(self.id) << 8 |
                 static_cast<std::uint64_t>(Call::finish));
  self.ended = true;
  scheduler.wake(&self);
  for (;;) {
    Thread* const next = scheduler.choose(false);
    if (next != nullptr) {
      next->to_reap = self.kernel_id;
      next->may_run = 1;
      futex_wake(next->may_run);
      return;
    }
    const Time before = scheduler.now_;
    scheduler.pass_time();
    if (scheduler.now_ == before && scheduler.choose(false) == nullptr) scheduler.on_hang("hang");
  }
}

int Scheduler::join(pthread_t handle, void** result) {
  // While it waits, others are made.
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Thread* const thread = threads_[i].get();
    if (thread->ended || pthread_equal(thread->handle, handle) == 0) continue;
    while (!thread->ended) wait(thread);
  }
  return real_pthread_join(handle, result);
}

unsigned Scheduler::others_running() const {
  return static_cast<unsigned>(std::ranges::count_if(threads_, [](const auto& thread) {
    return !thread->ended && thread.get() != this_thread && !thread->of_library;
  }));
}

std::string Scheduler::stacks() {
  std::string text;
  for (const auto& thread : threads_) {
    if (thread->ended) continue;
    if (thread.get() == this_thread) {
      thread->stack = own_stack();
    } else {
      thread->stack.clear();
      thread->tells_stack = true;
      thread->may_run = 1;
      futex_wake(thread->may_run);
      while (std::atomic_ref<bool>(thread->tells_stack)) {
        real_yield();
      }
    }
    text += "stack " + std::to_string(thread->id) + (thread->waits ? " waits" : " runs") +
            thread->stack + "\n";
  }
  return text;
}

void Scheduler::interrupt_first_thread(std::function<void()> action) {
  if (id() == 1) return action();
  interruption_ = std::move(action);
  switch_to(threads_[0].get());
}

}  // namespace xxl::machine
