// Files that threads wait for: events of eventfd(), and pipes.
#pragma once

#include <poll.h>

#include <cstdint>

namespace xxl::machine {

class Machine;

// What of `events` holds of the descriptor now.
short ready_now(Machine& m, int fd, short events);
// Whether that can change by the program alone.
bool is_of_machine(Machine& m, int fd);
// What threads that wait for such files wait on.
const void* readiness();

}  // namespace xxl::machine
