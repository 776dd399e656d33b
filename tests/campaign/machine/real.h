// What the machine itself asks of the system.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <cerrno>

namespace xxl::machine {

// As an argument of a call.
inline long address(const void* data) {
  return reinterpret_cast<long>(data);
}

// The result, or minus an errno value.
inline long real_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                         long f = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

// As the C library says it.
inline long with_errno(long result) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

inline int real_getpid() {
  return static_cast<int>(real_syscall(SYS_getpid));
}
inline void real_yield() {
  real_syscall(SYS_sched_yield);
}

// The function of that name behind this library.
template <class Function>
Function* next_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

inline int real_pthread_create(pthread_t* handle, const pthread_attr_t* attributes,
                               void* (*body)(void*), void* argument) {
  static auto* const function =
      next_function<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
          "pthread_create");
  return function(handle, attributes, body, argument);
}

inline int real_pthread_join(pthread_t handle, void** result) {
  static auto* const function = next_function<int(pthread_t, void**)>("pthread_join");
  return function(handle, result);
}

}  // namespace xxl::machine
