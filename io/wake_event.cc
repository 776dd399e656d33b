#include "io/wake_event.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace xxl::io {

WakeEvent::WakeEvent() : fd_(eventfd(0, EFD_CLOEXEC)) {
  if (fd_ < 0) throw_io_error(errno, "cannot create an eventfd", {});
}

WakeEvent::~WakeEvent() {
  close(fd_);
}

void WakeEvent::send() {
  XXL_CHECK(eventfd_write(fd_, 1) == 0);
}

void WakeEvent::take() {
  eventfd_t count = 0;
  XXL_CHECK(eventfd_read(fd_, &count) == 0);
}

}  // namespace xxl::io
