#include "machine.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <utility>

#include "real.h"

namespace xxl::machine {
namespace {

// Never destroyed: the program calls it to its last instruction.
alignas(Machine) unsigned char place[sizeof(Machine)];
Machine* the_machine = nullptr;
thread_local int inside __attribute__((tls_model("initial-exec"))) = 0;

constexpr int kKilled = 137;
constexpr int kPowerCut = 97;
constexpr int kHangs = 98;

void in_forked_process() {
  the_machine = nullptr;
}

void ends(const char* how, int status) {
  Machine* const m = machine();
  if (m == nullptr) return;
  m->report(how + std::to_string(status));
  if (m->plan.end == End::power) {  // at a step that did not come
    const Inside cut;
    m->disks.cut_power();
  }
}

void at_exit(int status, void*) {
  ends("exit ", status);
}

void start() {
  const char* const path = getenv("XXL_MACHINE");
  if (path == nullptr) return;
  ++inside;
  Machine* const made = new (place) Machine(read_plan(path));
  unsetenv("XXL_MACHINE");
  unsetenv("LD_PRELOAD");  // of programs that it starts
  pthread_atfork(nullptr, nullptr, in_forked_process);
  on_exit(at_exit, nullptr);
  --inside;
  the_machine = made;
}

using Main = int(int, char**, char**);
Main* main_of_program = nullptr;

// What runs before, such as constructors of libraries, is on the machine we have.
int start_and_run(int count, char** arguments, char** environment) {
  start();
  return main_of_program(count, arguments, environment);
}

}  // namespace

Machine* machine() {
  return inside != 0 ? nullptr : the_machine;
}

Inside::Inside() {
  ++inside;
}

Inside::~Inside() {
  --inside;
}

Machine::Machine(Plan given)
    : plan(std::move(given)),
      random(plan.seed * 2),
      scheduler(plan),
      disks(plan, random),
      memory(plan.memory_bytes) {
  scheduler.on_end_step = [this] { end_in_the_middle(); };
  scheduler.on_hang = [this](const char* how) {
    stacks_ = scheduler.stacks();
    end(how, kHangs);
  };
}

template <class IsPossible>
Effect Machine::strike(Role role, Operation operation, IsPossible is_possible) {
  ++operations_[static_cast<std::size_t>(role)][static_cast<std::size_t>(operation)];
  Effect effect;
  for (Fault& fault : plan.faults) {
    if (fault.operation != operation || !(fault.any_role || fault.role == role)) continue;
    if (!is_possible(fault.effect)) continue;
    ++fault.seen;
    if (effect || fault.seen < fault.first || (fault.seen - fault.first) % fault.every != 0 ||
        (fault.count != 0 && fault.struck == fault.count)) {
      continue;
    }
    ++fault.struck;
    effect = fault.effect;
  }
  return effect;
}

Effect Machine::effect(Role role, Operation operation) {
  return strike(role, operation, [](const Effect&) { return true; });
}

Effect Machine::transfer_effect(Role role, const Transfer& transfer, bool is_direct) {
  return strike(
      role, transfer.is_write ? Operation::write : Operation::read,
      [&](const Effect& effect) { return Disks::is_possible(transfer, effect, is_direct); });
}

Time Machine::delay(const Effect& effect) {
  constexpr std::uint64_t kLongestStall = 60'000'000;
  return effect.kind == Effect::stall ? static_cast<Time>(random.below(kLongestStall)) : 0;
}

void Machine::end_in_the_middle() {
  if (plan.end == End::kill) end("kill", kKilled);
  if (plan.end == End::power) {
    disks.cut_power();
    end("power", kPowerCut);
  }
  // The handlers of the program run on its first thread, as none of its others takes signals.
  scheduler.interrupt_first_thread([this] {
    report("signal " + std::to_string(plan.signal));
    const Inside handler;
    raise(plan.signal);
  });
}

void Machine::report(const std::string& how) {
  if (plan.report.empty()) return;
  const Inside inside;
  std::string text = "ended " + how + "\n";
  const auto add = [&](const char* name, std::uint64_t number) {
    text += std::string(name) + " " + std::to_string(number) + "\n";
  };
  add("steps", scheduler.steps());
  add("time", static_cast<std::uint64_t>(scheduler.now()));
  add("trace", scheduler.trace());
  add("memory", memory.most());
  add("threads", scheduler.others_running());
  add("files", disks.open_files());
  for (const Fault& fault : plan.faults) {
    const auto role =
        fault.any_role ? std::string_view("any") : kRoleNames[static_cast<std::size_t>(fault.role)];
    text += "struck ";
    text += role;
    text += " ";
    text += kOperationNames[static_cast<std::size_t>(fault.operation)];
    text += " " + fault.effect_name + " " + std::to_string(fault.struck) + "\n";
  }
  for (std::size_t role = 0; role < kRoleNames.size(); ++role) {
    for (std::size_t operation = 0; operation < kOperationNames.size(); ++operation) {
      const std::uint64_t count = operations_[role][operation];
      if (count == 0) continue;
      text += "operations ";
      text += kRoleNames[role];
      text += " ";
      text += kOperationNames[operation];
      text.append(" ").append(std::to_string(count)).append("\n");
    }
  }
  text += stacks_;
  const long fd = real_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(plan.report.c_str()),
                               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  real_syscall(SYS_write, fd, reinterpret_cast<long>(text.data()), static_cast<long>(text.size()));
  real_syscall(SYS_close, fd);
}

void Machine::end(const std::string& how, int status) {
  report(how);
  fflush(stderr);
  real_syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

}  // namespace xxl::machine

// In the middle, without destructors.
extern "C" void _exit(int status) {
  xxl::machine::ends("_exit ", status);
  xxl::machine::real_syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
extern "C" void _Exit(int status) noexcept {
  _exit(status);
}

// What calls main().
extern "C" int __libc_start_main(xxl::machine::Main* main, int count, char** arguments,
                                 void (*init)(), void (*fini)(), void (*end)(), void* stack_end) {
  using Function = int(xxl::machine::Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  xxl::machine::main_of_program = main;
  return xxl::machine::next_function<Function>("__libc_start_main")(
      xxl::machine::start_and_run, count, arguments, init, fini, end, stack_end);
}
