#include "plan.h"

#include <sstream>
#include <utility>

namespace xxl::campaign {

std::vector<std::string> lines_of(const Plan& plan) {
  std::vector<std::string> lines;
  const auto add = [&](const auto&... words) {
    std::ostringstream line;
    const char* between = "";
    ((line << std::exchange(between, " ") << words), ...);
    lines.push_back(line.str());
  };
  add("seed", plan.seed);
  add("processors", plan.processors);
  add("switch", plan.switch_every);
  add("disk", plan.latency_us, plan.rate_mb);
  add("ring", plan.ring ? "yes" : "no");
  for (const Fault& fault : plan.faults) {
    add("fault", fault.role, fault.operation, fault.effect, fault.first, fault.count, fault.every);
  }
  if (plan.end) add("end", plan.end->how, plan.end->step);
  if (plan.memory != 0) add("memory", plan.memory);
  add("steps", plan.steps);
  return lines;
}

bool read_line(const std::string& line, Plan& plan) {
  std::istringstream words(line);
  std::string name;
  words >> name;
  if (name == "seed")
    words >> plan.seed;
  else if (name == "processors")
    words >> plan.processors;
  else if (name == "switch")
    words >> plan.switch_every;
  else if (name == "disk")
    words >> plan.latency_us >> plan.rate_mb;
  else if (name == "memory")
    words >> plan.memory;
  else if (name == "steps")
    words >> plan.steps;
  else if (name == "ring") {
    std::string answer;
    words >> answer;
    plan.ring = answer == "yes";
  } else if (name == "fault") {
    Fault& fault = plan.faults.emplace_back();
    words >> fault.role >> fault.operation >> fault.effect >> fault.first >> fault.count >>
        fault.every;
  } else if (name == "end") {
    plan.end.emplace();
    words >> plan.end->how >> plan.end->step;
  } else {
    return false;
  }
  return !words.fail();
}

Report read_report(const std::string& text) {
  Report report;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "ended")
      words >> report.ended >> report.number;
    else if (name == "steps")
      words >> report.steps;
    else if (name == "trace")
      words >> report.trace;
    else if (name == "memory")
      words >> report.memory;
    else if (name == "threads")
      words >> report.threads;
    else if (name == "files")
      words >> report.files;
    else if (name == "stack")
      report.stacks.push_back(line);
    else if (name == "struck") {
      Struck& struck = report.struck.emplace_back();
      words >> struck.role >> struck.operation >> struck.effect >> struck.times;
      if (struck.times == 0) report.struck.pop_back();
    } else if (name == "operations") {
      Struck& counted = report.operations.emplace_back();
      words >> counted.role >> counted.operation >> counted.times;
    }
  }
  return report;
}

}  // namespace xxl::campaign
