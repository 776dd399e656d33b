// Turns: tasks that work side by side do one step one after the other, in the order of tickets.
#pragma once

#include <atomic>
#include <cstdint>

namespace xxl {

// 0, 1, 2, ...: `tickets++` gives the next one.
enum class Ticket : std::uint64_t {};

constexpr Ticket operator+(Ticket ticket, std::uint64_t later) {
  return Ticket{static_cast<std::uint64_t>(ticket) + later};
}
constexpr Ticket operator++(Ticket& ticket, int) {
  const Ticket before = ticket;
  ticket = ticket + 1;
  return before;
}

// Every ticket must come; a task may only wait where those of earlier tickets run or are done
// (base/workers.h).
class Turns {
 public:
  void wait_for(Ticket ticket) {
    for (Ticket turn; (turn = turn_.load(std::memory_order_acquire)) != ticket;) {
      turn_.wait(turn, std::memory_order_acquire);
    }
  }
  // What was done in this turn happens before the next one.
  void end(Ticket ticket) {
    turn_.store(ticket + 1, std::memory_order_release);
    turn_.notify_all();
  }
  // From ticket 0 on again; while nobody waits.
  void restart() { turn_ = {}; }

 private:
  std::atomic<Ticket> turn_{};
};

}  // namespace xxl
