// What a campaign did: how often each fault struck, and how often each promise was checked and
// kept.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "promises.h"

namespace xxl::campaign {

class Summary {
 public:
  // `repeats`: whether each job is run more than once.
  explicit Summary(bool repeats) : repeats_(repeats) {}

  // From any thread.
  void add(const Run& run, const std::vector<Broken>& broken);
  void add_seed();
  // A case that failed, shrunk and written down.
  void add_failure(const std::string& name, const std::vector<Broken>& broken,
                   const std::string& text);
  void add_passed_case(const std::string& name);

  bool failed() const {
    const std::lock_guard lock(mutex_);
    return !failures_.empty();
  }

  // After the last one: a failure where so few runs ended well that little was tested.
  void check_share();
  void print(double seconds) const;
  // One test for each promise and each kept case, as JUnit has them.
  void write_junit(const std::string& path) const;

 private:
  struct Failure {
    std::string name;
    std::vector<Broken> broken;
    std::string text;
  };

  const bool repeats_;
  mutable std::mutex mutex_;
  std::uint64_t seeds_ = 0;
  std::uint64_t runs_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t faults_ = 0;                         // that struck
  std::map<std::string, std::uint64_t> struck_;      // runs, by "ROLE OPERATION EFFECT"
  std::map<std::string, std::uint64_t> endings_;     // runs
  std::map<std::string, std::uint64_t> references_;  // runs, by who said what is right
  std::map<Promise, std::uint64_t> broken_;
  std::vector<Failure> failures_;
  std::vector<std::string> passed_cases_;
};

}  // namespace xxl::campaign
