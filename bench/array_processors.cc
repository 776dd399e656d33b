#include "array_processors.h"

#include <sched.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "base/error.h"

namespace xxl::bench {
namespace {

std::vector<int> own_processors() {
  cpu_set_t mask;
  XXL_CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0);
  std::vector<int> processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &mask)) processors.push_back(processor);
  }
  return processors;
}

}  // namespace

Processors::Processors(const Settings& settings) : all(own_processors()), sort(all) {
  for (const std::uint64_t named : settings.mover_processors) {
    const auto found = std::find(sort.begin(), sort.end(), static_cast<int>(named));
    if (found == sort.end()) {
      throw Error(ErrorCode::usage, "no processor " + std::to_string(named));
    }
    movers.push_back(*found);
    sort.erase(found);
  }
  while (movers.size() < settings.movers && !sort.empty()) {
    movers.push_back(sort.back());
    sort.pop_back();
  }
  const std::uint64_t most = *std::max_element(settings.threads.begin(), settings.threads.end());
  if (sort.size() < most) {
    throw Error(ErrorCode::usage, "of " + std::to_string(all.size()) + " processors, " +
                                      std::to_string(sort.size()) + " are left for the sort");
  }
}

void run_on(std::span<const int> processors) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int processor : processors) CPU_SET(processor, &mask);
  XXL_CHECK(sched_setaffinity(0, sizeof mask, &mask) == 0);
}

double own_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace xxl::bench
