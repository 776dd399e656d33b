// The machine that a program runs on: one for the process, from main() to its last instruction.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "disks.h"
#include "memory.h"
#include "plan.h"
#include "scheduler.h"

namespace xxl::machine {

class Machine {
 public:
  explicit Machine(Plan plan);

  Plan plan;
  Random random;  // of all but threads
  Scheduler scheduler;
  Disks disks;
  Memory memory;

  // Counts the operation, and says what is to become of it.
  Effect effect(Role role, Operation operation);
  // Of a transfer: one that cannot have the effect has none, and the fault waits for the next.
  Effect transfer_effect(Role role, const Transfer& transfer, bool is_direct);
  // Microseconds by which the effect delays a call; 0 but for a stall.
  Time delay(const Effect& effect);
  // Writes the report; `how` as in tests/campaign/README.md.
  void report(const std::string& how);
  // Does that and ends the process.
  [[noreturn]] void end(const std::string& how, int status);

 private:
  void end_in_the_middle();
  template <class IsPossible>
  Effect strike(Role role, Operation operation, IsPossible is_possible);

  std::uint64_t operations_[kRoleNames.size()][kOperationNames.size()] = {};
  std::string stacks_;
};

// Null before main(), and in processes that it forks: then calls go to the system.
Machine* machine();

// While it lives, calls of this thread go to the system, and what it allocates is not counted.
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace xxl::machine
