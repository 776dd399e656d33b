#include "plan.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace xxl::machine {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "xxl_machine: %s\n", what.c_str());
  _exit(99);
}

template <class Names>
std::size_t index_of(const Names& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) refuse("unknown name in the plan: " + name);
  return static_cast<std::size_t>(found - names.begin());
}

// "eio" is EIO.
int errno_of(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  for (int number = 1; number < 134; ++number) {
    const char* const known = strerrorname_np(number);
    if (known != nullptr && name == known) return number;
  }
  refuse("unknown effect in the plan: " + name);
}

Effect effect_of(const std::string& name) {
  using Named = std::pair<std::string_view, Effect::Kind>;
  constexpr Named kNamed[] = {{"short", Effect::cut},        {"flip", Effect::flip},
                              {"stall", Effect::stall},      {"lost", Effect::lost},
                              {"torn", Effect::torn},        {"elsewhere", Effect::elsewhere},
                              {"spurious", Effect::spurious}};
  for (const auto& [known, kind] : kNamed) {
    if (name == known) return {kind, 0};
  }
  return {Effect::error, errno_of(name)};
}

Fault fault_of(std::istream& line) {
  Fault fault;
  std::string role;
  std::string operation;
  line >> role >> operation >> fault.effect_name >> fault.first >> fault.count >> fault.every;
  if (!line || fault.first == 0 || fault.every == 0) refuse("bad fault in the plan");
  fault.any_role = role == "any";
  if (!fault.any_role) fault.role = static_cast<Role>(index_of(kRoleNames, role));
  fault.operation = static_cast<Operation>(index_of(kOperationNames, operation));
  fault.effect = effect_of(fault.effect_name);
  return fault;
}

void set_end(Plan& plan, const std::string& how) {
  plan.end = how == "kill" ? End::kill : how == "power" ? End::power : End::signal;
  if (plan.end != End::signal) return;
  if (how != "term" && how != "int" && how != "hup") refuse("unknown end in the plan: " + how);
  plan.signal = how == "term" ? SIGTERM : how == "int" ? SIGINT : SIGHUP;
}

void set(Plan& plan, const std::string& name, std::istream& line) {
  std::string word;
  if (name == "seed") {
    line >> plan.seed;
  } else if (name == "root") {
    line >> plan.root;
  } else if (name == "role") {
    std::string path;
    line >> path >> word;
    plan.places.push_back({path, static_cast<Role>(index_of(kRoleNames, word))});
  } else if (name == "processors") {
    line >> plan.processors;
  } else if (name == "switch") {
    line >> plan.switch_every;
  } else if (name == "disk") {
    line >> plan.latency >> plan.rate;
  } else if (name == "ring") {
    line >> word;
    plan.has_ring = word == "yes";
  } else if (name == "stdin") {
    line >> word;
    plan.input_is_pipe = word == "pipe";
  } else if (name == "stdout") {
    line >> word;
    plan.output_is_pipe = word == "pipe";
  } else if (name == "fault") {
    plan.faults.push_back(fault_of(line));
  } else if (name == "end") {
    line >> word >> plan.end_step;
    set_end(plan, word);
  } else if (name == "memory") {
    line >> plan.memory_bytes;
  } else if (name == "steps") {
    line >> plan.most_steps;
  } else if (name == "report") {
    line >> plan.report;
  } else if (name == "log") {
    line >> plan.log;
  } else {
    refuse("unknown line in the plan: " + name);
  }
  if (!line) refuse("bad value in the plan: " + name);
}

}  // namespace

Plan read_plan(const char* path) {
  Plan plan;
  std::ifstream file(path);
  if (!file) refuse(std::string("cannot read the plan ") + path);
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string name;
    if (line >> name) set(plan, name, line);
  }
  // The longest path that fits counts.
  std::ranges::stable_sort(plan.places, std::ranges::greater{},
                           [](const Plan::Place& place) { return place.path.size(); });
  if (plan.processors == 0 || plan.rate <= 0) refuse("a machine has processors and disks");
  return plan;
}

}  // namespace xxl::machine
