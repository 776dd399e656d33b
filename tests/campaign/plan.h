// The plan of a simulated machine and its report (tests/campaign/README.md says what each line
// means).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xxl::campaign {

struct Fault {
  std::string role;
  std::string operation;
  std::string effect;
  std::uint64_t first = 1;
  std::uint64_t count = 1;  // 0: without end
  std::uint64_t every = 1;

  bool operator==(const Fault&) const = default;
};

// An end in the middle.
struct End {
  std::string how;  // kill, power, term, int, hup
  std::uint64_t step = 0;
};

struct Plan {
  std::uint64_t seed = 1;
  unsigned processors = 2;
  unsigned switch_every = 0;  // at one in so many calls; 0: only when one must wait
  unsigned latency_us = 100;
  unsigned rate_mb = 500;
  bool ring = true;
  std::vector<Fault> faults;
  std::optional<End> end;
  std::uint64_t memory = 0;  // bytes; 0: as much as there is
  std::uint64_t steps = 20'000'000;
};

// Its lines, but for those that say where files lie.
std::vector<std::string> lines_of(const Plan& plan);
// One of these lines; false if it is none.
bool read_line(const std::string& line, Plan& plan);

struct Struck {
  std::string role;
  std::string operation;
  std::string effect;  // empty: what was counted were operations
  std::uint64_t times = 0;
};

struct Report {
  std::string ended;  // exit, signal, kill, power, hang, steps; empty: there is no report
  int number = 0;     // of the exit or the signal
  std::uint64_t steps = 0;
  std::string trace;
  std::uint64_t memory = 0;
  unsigned threads = 0;
  unsigned files = 0;
  std::vector<Struck> struck;
  std::vector<Struck> operations;
  std::vector<std::string> stacks;
};

Report read_report(const std::string& text);

}  // namespace xxl::campaign
