#include "shrink.h"

#include <algorithm>
#include <utility>

#include "compressed.h"
#include "promises.h"

namespace xxl::campaign {
namespace {

class Steps {
 public:
  explicit Steps(const Case& one) : from_(one) {}

  // A step of its own, if it leaves a job that makes sense.
  template <typename Change>
  void add(Change&& change) {
    Case simpler = from_;
    change(simpler);
    const bool answered = std::ranges::all_of(
        simpler.plan.faults, [&](const Fault& fault) { return may_strike(simpler.job, fault); });
    if (write_case(simpler) != write_case(from_) && makes_sense(simpler.job) && answered &&
        record_of(simpler.job) == record_of(from_.job)) {
      steps_.push_back(std::move(simpler));
    }
  }

  std::vector<Case> take() && { return std::move(steps_); }

 private:
  static bool makes_sense(const Job& job) {
    const bool parts = job.target == Target::parts || job.target == Target::replaced_parts;
    const bool checks = job.command == "sort" && has_any(job.options, {"--check", "-c", "-C"});
    const bool reads_back = has(job.resources, "--verify");
    const bool to_file = job.target != Target::standard_output && job.target != Target::pipe;
    if (reads_back && !to_file) return false;
    const std::size_t least = job.command == "join" || job.command == "set" ? 2 : 1;
    if (job.command == "shuf" && !has(job.options, "--seed")) return false;
    if (has(job.options, "--record1") != has(job.options, "--record2") ||
        values_of(job.options, "--left-on").size() != values_of(job.options, "--right-on").size()) {
      return false;
    }
    if (has(job.options, "--random-sort") && !has(job.options, "--random-source")) return false;
    return parts == has_any(job.options, {"--parts", "--part-bytes", "--part-by"}) &&
           checks == (job.target == Target::none) && job.inputs.size() >= least &&
           !job.resources.empty();
  }

  const Case& from_;
  std::vector<Case> steps_;
};

template <typename T>
void erase_at(std::vector<T>& list, std::size_t index) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
}

void simplify_plan(const Plan& plan, Steps& steps) {
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    steps.add([i](Case& one) { erase_at(one.plan.faults, i); });
    steps.add([i](Case& one) { one.plan.faults[i].count = 1; });
    steps.add([i](Case& one) { one.plan.faults[i].every = 1; });
    steps.add([i](Case& one) { one.plan.faults[i].first = (one.plan.faults[i].first + 1) / 2; });
    steps.add([i](Case& one) { one.plan.faults[i].first -= one.plan.faults[i].first > 1; });
  }
  steps.add([](Case& one) { one.plan.end.reset(); });
  steps.add([](Case& one) { one.plan.memory = 0; });
  steps.add([](Case& one) { one.plan.processors = 1; });
  steps.add([](Case& one) { one.plan.switch_every = 0; });
  steps.add([](Case& one) { one.plan.latency_us = 100, one.plan.rate_mb = 1000; });
  steps.add([](Case& one) { one.plan.ring = false; });
}

void simplify_job(const Job& job, Steps& steps) {
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    steps.add([i](Case& one) { erase_at(one.job.inputs, i); });
    steps.add([i](Case& one) { one.job.inputs[i].records = 0; });
    steps.add([i](Case& one) { one.job.inputs[i].records /= 2; });
    if (job.inputs[i].records <= 16) {
      steps.add([i](Case& one) { one.job.inputs[i].records -= one.job.inputs[i].records > 0; });
    }
    steps.add([i](Case& one) { one.job.inputs[i].shape = "wide"; });
    steps.add([i](Case& one) { one.job.inputs[i].unended = false; });
    steps.add([i](Case& one) { one.job.inputs[i].carriage = false; });
    steps.add([i](Case& one) { one.job.inputs[i].through = Through::file; });
    steps.add([i](Case& one) { one.job.inputs[i].path = uncompressed(one.job).inputs[i].path; });
  }
  for (std::size_t i = 0; i < job.options.size(); ++i) {
    steps.add([i](Case& one) { erase_at(one.job.options, i); });
  }
  for (std::size_t i = 0; i < job.resources.size(); ++i) {
    if (job.resources[i].starts_with("--buffer-size")) continue;
    steps.add([i](Case& one) { erase_at(one.job.resources, i); });
  }
  steps.add([](Case& one) { one.job.scratch_directories = 1; });
  steps.add([](Case& one) { one.job.output_suffix.clear(); });
  for (const Target target : {Target::standard_output, Target::fresh}) {
    if (job.target == Target::none || job.target == Target::fresh) break;
    steps.add([target](Case& one) {
      std::erase_if(one.job.options, [](const std::string& o) { return o.starts_with("--part"); });
      one.job.target = target;
    });
  }
  if (job.target == Target::replaced_parts) {
    steps.add([](Case& one) { one.job.target = Target::parts; });
  }
}

}  // namespace

std::vector<Case> simpler(const Case& one) {
  Steps steps(one);
  simplify_job(one.job, steps);
  simplify_plan(one.plan, steps);
  return std::move(steps).take();
}

Case shrink(Case one, const std::function<bool(const Case&)>& fails, unsigned most) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (Case& candidate : simpler(one)) {
      if (most-- == 0) return one;
      if (!fails(candidate)) continue;
      one = std::move(candidate);
      smaller = true;
      break;
    }
  }
  return one;
}

}  // namespace xxl::campaign
