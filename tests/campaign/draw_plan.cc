#include "draw_plan.h"

#include <algorithm>
#include <vector>

#include "promises.h"

namespace xxl::campaign {
namespace {

bool is_harmless(const FaultKind& kind) {
  return kind.effect == "short" || kind.effect == "stall" || kind.effect == "spurious" ||
         kind.effect == "eintr";
}

std::uint64_t times_of(const FaultKind& kind, const Report& report) {
  std::uint64_t times = 0;
  for (const Struck& counted : report.operations) {
    const bool same_role = kind.role == "any" || counted.role == kind.role;
    if (same_role && counted.operation == kind.operation) times += counted.times;
  }
  return times;
}

// One of those that can strike; none if there are none.
void add_fault(const Job& job, bool harmless, const Report& report, Random& random, Plan& plan) {
  std::vector<FaultKind> possible;
  for (const FaultKind& kind : fault_kinds(job)) {
    if (is_harmless(kind) == harmless && times_of(kind, report) > 0) possible.push_back(kind);
  }
  if (possible.empty()) return;
  const FaultKind& kind = random.pick(possible);
  Fault fault{std::string(kind.role), std::string(kind.operation), std::string(kind.effect)};
  fault.first = random.between(1, times_of(kind, report));
  if (harmless) {
    fault.first = random.between(1, std::min<std::uint64_t>(fault.first, 10));
    fault.count = random.pick({1, 3, 0});
    fault.every = random.pick({1, 1, 2, 7});
  } else {
    fault.count = random.pick({1, 1, 1, 2, 0});
    // What was refused once is tried again where it must not fail: at the end of a transfer.
    if (fault.operation == "heap" && fault.count == 0) fault.count = 100;
  }
  // A call that is interrupted each time does not end.
  if (harmless && fault.effect != "short") fault.count = random.pick({1, 10, 100, 1000});
  plan.faults.push_back(std::move(fault));
}

}  // namespace

Plan draw_machine(const Job& job, Random& random) {
  Plan plan;
  plan.seed = random.below(1'000'000'000);
  plan.processors = static_cast<unsigned>(random.pick({1, 2, 2, 4, 8}));
  plan.switch_every = static_cast<unsigned>(random.pick({0, 1, 2, 5, 20, 100}));
  plan.latency_us = static_cast<unsigned>(random.pick({0, 10, 100, 10'000}));
  plan.rate_mb = static_cast<unsigned>(random.pick({1, 100, 1000, 10'000}));
  plan.ring = value_of(job.resources, "--io") == "io_uring" || !random.one_in(3);
  return plan;
}

Plan draw_faults(const Job& job, Plan plan, const Report& report, Random& random) {
  switch (random.below(8)) {
    case 0:
      for (std::uint64_t i = random.between(1, 3); i > 0; --i)
        add_fault(job, true, report, random, plan);
      break;
    case 1:
    case 2:
      plan.end = End{random.pick({"kill", "power", "power", "power", "term", "int", "hup"}),
                     random.between(1, std::max<std::uint64_t>(report.steps, 1))};
      // At a step that does not come, so after the end of the program.
      if (plan.end->how == "power" && random.one_in(3)) plan.end->step = 10 * report.steps + 10;
      break;
    case 3:
      if (kind_of(job) == Kind::columns) break;  // as promises.cc has it
      plan.memory = report.memory * random.between(30, 100) / 100;
      break;
    case 4:
      add_fault(job, true, report, random, plan);
      add_fault(job, false, report, random, plan);
      break;
    default:
      add_fault(job, false, report, random, plan);
  }
  return plan;
}

}  // namespace xxl::campaign
