// Threads of the I/O layer leave the program's signals to its other threads.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace xxl::io {

// Starts a thread that no signal interrupts, so that handlers run on threads of the caller. SIGPIPE
// is the exception: it belongs to the thread that writes to the closed pipe, and keeps its meaning.
template <class Function>
std::thread start_quiet_thread(Function function) {
  sigset_t blocked;
  sigset_t previous;
  sigfillset(&blocked);
  sigdelset(&blocked, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &blocked, &previous);
  struct Restore {
    sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{previous};
  return std::thread(std::move(function));  // inherits the mask
}

}  // namespace xxl::io
