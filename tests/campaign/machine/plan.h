// What a run on the simulated machine is to be like: tests/campaign/README.md, "Plan and report".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xxl::machine {

enum class Role { other, input, output, scratch };
constexpr std::array<std::string_view, 4> kRoleNames = {"other", "input", "output", "scratch"};

enum class Operation {
  open,
  read,
  write,
  sync,
  allocate,
  truncate,
  name,
  map,
  heap,
  thread,
  wait,
  device
};
constexpr std::array<std::string_view, 12> kOperationNames = {
    "open", "read", "write", "sync",   "allocate", "truncate",
    "name", "map",  "heap",  "thread", "wait",     "device"};

struct Effect {
  enum Kind { none, error, cut, flip, stall, lost, torn, elsewhere, spurious };
  Kind kind = none;
  int error_number = 0;  // an errno value

  explicit operator bool() const { return kind != none; }
};

// The `first` of some operations (from 1), then every `every`-th, `count` times (0: without end).
struct Fault {
  bool any_role = false;
  Role role = Role::other;
  Operation operation = Operation::read;
  Effect effect;
  std::string effect_name;
  std::uint64_t first = 1;
  std::uint64_t count = 1;
  std::uint64_t every = 1;

  std::uint64_t seen = 0;    // operations
  std::uint64_t struck = 0;  // of them
};

enum class End { none, kill, power, signal };

struct Plan {
  struct Place {
    std::string path;
    Role role;
  };

  std::uint64_t seed = 0;
  std::string root;
  std::vector<Place> places;
  unsigned processors = 2;
  std::uint64_t switch_every = 4;
  std::int64_t latency = 100;  // microseconds
  std::int64_t rate = 500;     // bytes a microsecond
  bool has_ring = true;
  bool input_is_pipe = false;   // standard input
  bool output_is_pipe = false;  // standard output
  std::vector<Fault> faults;
  End end = End::none;
  int signal = 0;
  std::uint64_t end_step = 0;
  std::uint64_t memory_bytes = ~std::uint64_t{0};
  std::uint64_t most_steps = 50'000'000;
  std::string report;
  std::string log;  // of all steps; empty: none
};

// Reads the file. Ends the process, with a line that says why, if it is not a plan.
Plan read_plan(const char* path);

}  // namespace xxl::machine
