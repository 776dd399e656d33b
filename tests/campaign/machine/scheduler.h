// Threads of the program, of which one runs at a time, and time, which passes when none can.
//
// All functions are called by the thread that runs; nothing here needs a lock.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/random.h"
#include "plan.h"

namespace xxl::machine {

using Time = std::int64_t;  // microseconds since the start
constexpr Time kForever = INT64_MAX;

// What threads call, for the trace.
enum class Call : std::uint64_t {
  lock,
  unlock,
  wait,
  signal,
  futex_wait,
  futex_wake,
  create,
  join,
  finish,
  yield,
  sleep,
  clock,
  event,
  poll,
  open,
  close,
  transfer,
  sync,
  allocate,
  name,
  ring,
  once,
  device,
};

class Scheduler {
 public:
  explicit Scheduler(const Plan& plan);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Called at each call of the program: another thread may run before it goes on.
  void step(Call call, std::uint64_t detail = 0);
  // Lets others run, and until something else happens if none can.
  void yield();
  // Until wake(on), or `deadline`; then false.
  bool wait(const void* on, Time deadline = kForever);
  void wait_for_either(const void* on, const void* other);
  void wake(const void* on, std::uint64_t most = ~std::uint64_t{0});
  void sleep_until(Time time) { wait(nullptr, time); }
  // `happen` is called at that time, on any thread.
  void at(Time time, std::function<void()> happen);
  // Once the thread that waits on this is to go on whenever nothing else can, since something
  // outside of the machine may have happened.
  static const void* outside();

  Time now() const { return now_; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t trace() const { return trace_; }
  void note(std::uint64_t value) { trace_ = (trace_ ^ value) * 0x100000001b3 + (trace_ >> 29); }

  // 0, or an errno value.
  int create(pthread_t* handle, const pthread_attr_t* attributes, void* (*body)(void*),
             void* argument);
  int join(pthread_t handle, void** result);
  // Of this thread, from 1.
  int id() const;
  // Threads that still run, without this one and those of libraries.
  unsigned others_running() const;

  // Says for each thread where it waits.
  std::string stacks();

  // --- of an end in the middle; called within a step ---
  std::function<void()> on_end_step;
  std::function<void(const char* how)> on_hang;  // does not return
  // Has the first thread run `action` before anything else, wherever it waits.
  void interrupt_first_thread(std::function<void()> action);

 private:
  struct Thread;
  struct Event {
    Time time;
    std::uint64_t number;  // those of one time in their order
    std::function<void()> happen;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };

  static void* run_thread(void* thread);
  static void end_thread(void* thread);

  bool is_runnable(const Thread& thread) const;
  void happen_until(Time time);
  void pass_time();
  Thread* choose(bool but_this);
  void switch_to(Thread* next);
  void await_turn(Thread& thread);
  void let_another_run();
  void write_log(Call call, std::uint64_t detail);

  std::uint64_t switch_every_;
  std::uint64_t most_steps_;
  std::uint64_t end_step_;
  std::string log_path_;
  int log_ = -1;
  Random random_;
  Time now_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t trace_ = 0xcbf29ce484222325;
  std::uint64_t events_made_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::function<void()> interruption_;
  pthread_key_t end_key_{};
};

}  // namespace xxl::machine
