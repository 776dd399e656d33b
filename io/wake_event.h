// Wakes a thread that sleeps in the kernel: an eventfd, for anything that can watch a file
// descriptor.
#pragma once

namespace xxl::io {

class WakeEvent {
 public:
  // Throws Error{io} when the process has no file descriptor left.
  WakeEvent();
  ~WakeEvent();
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;

  // Readable from send() to take().
  int fd() const { return fd_; }
  void send();
  // Waits until send() was called, and forgets it.
  void take();

 private:
  int fd_;
};

}  // namespace xxl::io
