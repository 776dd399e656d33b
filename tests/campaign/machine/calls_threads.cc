// What the program calls for threads and time, instead of the C library's.
//
// Mutexes and the like are used by this machine alone, so their memory is the machine's: a mutex
// has its owner and its depth in the words that the C library has for them.
#include <pthread.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <cerrno>
#include <cstdarg>
#include <map>

#include "machine.h"
#include "real.h"

namespace {

using namespace xxl::machine;

constexpr long kMicro = 1'000'000;
constexpr Time kRealTimeStart = 1'900'000'000 * kMicro;
constexpr Time kMonotonicStart = 100'000 * kMicro;

bool is_recursive(const pthread_mutex_t* mutex) {
  return (mutex->__data.__kind & 127) == PTHREAD_MUTEX_RECURSIVE;
}

bool try_lock(Machine& m, pthread_mutex_t* mutex) {
  auto& data = mutex->__data;
  const int self = m.scheduler.id();
  if (data.__lock != 0 && !(data.__owner == self && is_recursive(mutex))) return false;
  data.__lock = 1;
  data.__owner = self;
  ++data.__count;
  return true;
}

void lock(Machine& m, pthread_mutex_t* mutex) {
  while (!try_lock(m, mutex)) m.scheduler.wait(mutex);
}

void unlock(Machine& m, pthread_mutex_t* mutex) {
  auto& data = mutex->__data;
  if (--data.__count != 0) return;
  data.__lock = 0;
  data.__owner = 0;
  m.scheduler.wake(mutex);
}

Time start_of(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return kRealTimeStart;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID:
      return 0;
    default:
      return kMonotonicStart;
  }
}

Time microseconds(const timespec& time) {
  return time.tv_sec * kMicro + (time.tv_nsec + 999) / 1000;
}

timespec as_timespec(Time time) {
  return {time / kMicro, time % kMicro * 1000};
}

int wait_on(pthread_cond_t* condition, pthread_mutex_t* mutex, Time deadline) {
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  m->scheduler.step(Call::wait);
  const Effect effect = m->effect(Role::other, Operation::wait);
  const unsigned depth = mutex->__data.__count;
  mutex->__data.__count = 1;
  unlock(*m, mutex);
  bool woken = true;
  if (effect.kind == Effect::spurious) {
    m->scheduler.yield();
  } else {
    woken = m->scheduler.wait(condition, deadline);
  }
  lock(*m, mutex);
  mutex->__data.__count = depth;
  return woken ? 0 : ETIMEDOUT;
}

int notify(pthread_cond_t* condition, std::uint64_t most) {
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  m->scheduler.wake(condition, most);
  m->scheduler.step(Call::signal);
  return 0;
}

long futex(Machine& m, int* word, int operation, int value, const timespec* timeout) {
  const Inside inside;
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      m.scheduler.step(Call::futex_wait);
      if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) return -EAGAIN;
      Time deadline = kForever;
      if (timeout != nullptr) {
        const bool is_relative = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT;
        const bool is_real = (operation & FUTEX_CLOCK_REALTIME) != 0;
        deadline = microseconds(*timeout);
        deadline += is_relative ? m.scheduler.now() : -(is_real ? kRealTimeStart : kMonotonicStart);
      }
      return m.scheduler.wait(word, deadline) ? 0 : -ETIMEDOUT;
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      m.scheduler.wake(word, static_cast<std::uint64_t>(value));
      m.scheduler.step(Call::futex_wake);
      return value;
    default:
      return -ENOSYS;
  }
}

struct ReadersWriter {
  int readers = 0;
  bool is_written = false;
};
std::map<const void*, ReadersWriter>& readers_writers() {
  static std::map<const void*, ReadersWriter> all;
  return all;
}

int lock_shared(pthread_rwlock_t* lock, bool to_write, bool waits) {
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  m->scheduler.step(Call::lock);
  ReadersWriter& state = readers_writers()[lock];
  while (state.is_written || (to_write && state.readers > 0)) {
    if (!waits) return EBUSY;
    m->scheduler.wait(lock);
  }
  to_write ? state.is_written = true : ++state.readers > 0;
  return 0;
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
  Machine* const m = machine();
  if (m == nullptr) {
    return real_pthread_create(handle, attributes, body, argument);
  }
  const Inside inside;
  const Effect effect = m->effect(Role::other, Operation::thread);
  if (effect.kind == Effect::error) return effect.error_number;
  const int error = m->scheduler.create(handle, attributes, body, argument);
  m->scheduler.step(Call::create);
  return error;
}

int pthread_join(pthread_t handle, void** result) {
  Machine* const m = machine();
  if (m == nullptr) return real_pthread_join(handle, result);
  const Inside inside;
  m->scheduler.step(Call::join);
  return m->scheduler.join(handle, result);
}

int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) noexcept {
  *mutex = PTHREAD_MUTEX_INITIALIZER;
  int kind = PTHREAD_MUTEX_DEFAULT;
  if (attributes != nullptr) pthread_mutexattr_gettype(attributes, &kind);
  mutex->__data.__kind = kind;
  return 0;
}

int pthread_mutex_destroy(pthread_mutex_t*) noexcept {
  return 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  m->scheduler.step(Call::lock);
  lock(*m, mutex);
  return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  m->scheduler.step(Call::lock);
  return try_lock(*m, mutex) ? 0 : EBUSY;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  unlock(*m, mutex);
  m->scheduler.step(Call::unlock);
  return 0;
}

int pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t*) noexcept {
  *condition = PTHREAD_COND_INITIALIZER;
  return 0;
}

int pthread_cond_destroy(pthread_cond_t*) noexcept {
  return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return wait_on(condition, mutex, kForever);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
  return wait_on(condition, mutex, microseconds(*deadline) - start_of(clock));
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* deadline) {
  return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, deadline);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  return notify(condition, 1);
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  return notify(condition, ~std::uint64_t{0});
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return lock_shared(lock, false, true);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return lock_shared(lock, true, true);
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  return lock_shared(lock, false, false);
}
int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  return lock_shared(lock, true, false);
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  auto& state = readers_writers()[lock];
  state.is_written ? state.is_written = false : --state.readers > 0;
  m->scheduler.wake(lock);
  m->scheduler.step(Call::unlock);
  return 0;
}

int pthread_once(pthread_once_t* once, void (*body)()) {
  enum { kNew, kRuns, kDone };
  Machine* const m = machine();
  if (*once == kDone) return 0;
  if (m != nullptr) {
    const Inside inside;
    m->scheduler.step(Call::once);
    while (*once == kRuns) m->scheduler.wait(once);
    if (*once == kDone) return 0;
  }
  struct Run {
    pthread_once_t* once;
    int outcome = kNew;  // if the body throws
    ~Run() {
      *once = outcome;
      Machine* const of = machine();
      if (of == nullptr) return;
      const Inside inside;
      of->scheduler.wake(once);
    }
  } run{once};
  *once = kRuns;
  body();
  run.outcome = kDone;
  return 0;
}

int sched_yield() noexcept {
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  m->scheduler.yield();
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec*) {
  Machine* const m = machine();
  if (m == nullptr) {
    return static_cast<int>(
        -real_syscall(SYS_clock_nanosleep, clock, flags, reinterpret_cast<long>(time), 0));
  }
  const Inside inside;
  m->scheduler.step(Call::sleep);
  const Time from = (flags & TIMER_ABSTIME) != 0 ? -start_of(clock) : m->scheduler.now();
  m->scheduler.sleep_until(from + microseconds(*time));
  return 0;
}

int nanosleep(const timespec* time, timespec* rest) {
  return clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest);
}

int usleep(useconds_t time) {
  const timespec span = as_timespec(time);
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  Machine* const m = machine();
  if (m == nullptr) {
    return static_cast<int>(
        with_errno(real_syscall(SYS_clock_gettime, clock, reinterpret_cast<long>(time))));
  }
  const Inside inside;
  m->scheduler.step(Call::clock);
  *time = as_timespec(start_of(clock) + m->scheduler.now());
  return 0;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* result) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

int sched_getaffinity(pid_t process, std::size_t bytes, cpu_set_t* set) noexcept {
  Machine* const m = machine();
  if (m == nullptr) {
    const long result = real_syscall(SYS_sched_getaffinity, process, static_cast<long>(bytes),
                                     reinterpret_cast<long>(set));
    return result < 0 ? static_cast<int>(with_errno(result)) : 0;
  }
  CPU_ZERO_S(bytes, set);
  for (unsigned i = 0; i < m->plan.processors; ++i) CPU_SET_S(i, bytes, set);
  return 0;
}

int sched_setaffinity(pid_t, std::size_t, const cpu_set_t*) noexcept {
  return 0;
}

long sysconf(int name) noexcept {
  static auto* const real = next_function<long(int)>("sysconf");
  Machine* const m = machine();
  if (m != nullptr && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)) {
    return m->plan.processors;
  }
  return real(name);
}

int get_nprocs() noexcept {
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  Machine* const m = machine();
  if (m != nullptr && number == SYS_futex) {
    return with_errno(futex(*m, reinterpret_cast<int*>(a[0]), static_cast<int>(a[1]),
                            static_cast<int>(a[2]), reinterpret_cast<const timespec*>(a[3])));
  }
  if (m != nullptr && number == SYS_getrandom) {
    auto* const bytes = reinterpret_cast<unsigned char*>(a[0]);
    for (long i = 0; i < a[1]; ++i) bytes[i] = static_cast<unsigned char>(m->random());
    return a[1];
  }
  if (m != nullptr && number == SYS_io_uring_register) return 0;
  return with_errno(real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

ssize_t getrandom(void* data, std::size_t bytes, unsigned flags) {
  return syscall(SYS_getrandom, data, bytes, flags);
}

pid_t getpid() noexcept {
  constexpr pid_t kProcess = 4711;
  return machine() != nullptr ? kProcess : real_getpid();
}

// std::random_device::_M_getval(), which asks the processor.
unsigned _ZNSt13random_device9_M_getvalEv(void*) {
  unsigned value = 0;
  getrandom(&value, sizeof value, 0);
  return value;
}

}  // extern "C"
