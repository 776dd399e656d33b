#include "summary.h"

#include <cstdio>
#include <fstream>

namespace xxl::campaign {
namespace {

std::string ending_of(const Run& run) {
  const Report& report = run.report;
  if (run.ended.timed_out) return "time limit";
  if (!report.ended.empty() && report.ended != "exit") return report.ended;
  if (run.ended.signal != 0) return "signal " + std::to_string(run.ended.signal);
  return "exit " + std::to_string(run.ended.status);
}

std::string lines_of(const std::vector<Broken>& broken) {
  std::string text;
  for (const Broken& one : broken)
    text += std::string(name_of(one.promise)) + ": " + one.how + '\n';
  return text;
}

// For an attribute or text of XML, of which most control characters are no part.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\n' || (c >= ' ' && c < 0x7f))
      result += c;
    else
      result += '?';
  }
  return result;
}

void print_counts(const char* title, const std::map<std::string, std::uint64_t>& counts) {
  if (counts.empty()) return;
  std::printf("%s\n", title);
  for (const auto& [name, count] : counts) {
    std::printf("  %-36s %8llu\n", name.c_str(), static_cast<unsigned long long>(count));
  }
}

}  // namespace

void Summary::add(const Run& run, const std::vector<Broken>& broken) {
  const std::lock_guard lock(mutex_);
  ++runs_;
  steps_ += run.report.steps;
  for (const Struck& struck : run.report.struck) {
    ++struck_[struck.role + ' ' + struck.operation + ' ' + struck.effect];
    faults_ += struck.times;
  }
  ++endings_[ending_of(run)];
  ++references_[std::string(run.expected.by)];
  for (const Broken& one : broken) ++broken_[one.promise];
}

void Summary::add_seed() {
  const std::lock_guard lock(mutex_);
  ++seeds_;
}

void Summary::add_failure(const std::string& name, const std::vector<Broken>& broken,
                          const std::string& text) {
  const std::lock_guard lock(mutex_);
  failures_.push_back({name, broken, text});
  std::printf("FAILED %s\n%s%s\n", name.c_str(), lines_of(broken).c_str(), text.c_str());
  std::fflush(stdout);
}

void Summary::add_passed_case(const std::string& name) {
  const std::lock_guard lock(mutex_);
  passed_cases_.push_back(name);
}

void Summary::check_share() {
  constexpr std::uint64_t kEnough = 400;  // runs
  const std::uint64_t well = endings_["exit 0"];
  if (runs_ < kEnough || well >= runs_ / 4) return;
  add_failure("share",
              {{Promise::status, "only " + std::to_string(well) + " runs of " +
                                     std::to_string(runs_) + " ended with exit 0"}},
              "");
}

void Summary::print(double seconds) const {
  const std::lock_guard lock(mutex_);
  print_counts("Faults that struck (runs)", struck_);
  print_counts("Ends (runs)", endings_);
  print_counts("References (runs)", references_);
  std::printf("Promises (runs checked, broken)\n");
  for (const Promise promise : kPromises) {
    if (promise == Promise::repeats && !repeats_) continue;
    const auto found = broken_.find(promise);
    std::printf("  %-36s %8llu %8llu\n", std::string(name_of(promise)).c_str(),
                static_cast<unsigned long long>(runs_),
                static_cast<unsigned long long>(found == broken_.end() ? 0 : found->second));
  }
  std::printf(
      "%llu seeds, %zu kept cases, %llu runs, %llu faults, %llu steps in %.1f seconds: %.1f seeds "
      "a "
      "second; %zu failed\n",
      static_cast<unsigned long long>(seeds_), passed_cases_.size(),
      static_cast<unsigned long long>(runs_), static_cast<unsigned long long>(faults_),
      static_cast<unsigned long long>(steps_), seconds, static_cast<double>(seeds_) / seconds,
      failures_.size());
}

void Summary::write_junit(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  std::string cases;
  for (const std::string& name : passed_cases_) {
    cases += "  <testcase classname=\"campaign\" name=\"" + escaped(name) + "\"/>\n";
  }
  for (const Failure& failure : failures_) {
    cases += "  <testcase classname=\"campaign\" name=\"" + escaped(failure.name) +
             "\"><failure message=\"" + escaped(lines_of(failure.broken)) + "\">" +
             escaped(failure.text) + "</failure></testcase>\n";
  }
  const std::uint64_t passed = seeds_ - std::min<std::uint64_t>(seeds_, failures_.size());
  for (const Promise promise : kPromises) {
    if (promise == Promise::repeats && !repeats_) continue;
    cases += "  <testcase classname=\"campaign\" name=\"" + std::string(name_of(promise)) + " in " +
             std::to_string(passed) + " seeds\"/>\n";
  }
  const std::size_t tests = passed_cases_.size() + failures_.size() + std::size(kPromises);
  std::ofstream(path)
      << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"campaign\" tests=\""
      << tests << "\" failures=\"" << failures_.size() << "\">\n"
      << cases << "</testsuite>\n";
}

}  // namespace xxl::campaign
