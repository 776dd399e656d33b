// Which processors the sort has, and which the movers.
#pragma once

#include <span>
#include <vector>

#include "array_settings.h"

namespace xxl::bench {

// Of this process.
struct Processors {
  // Throws Error{usage} if there are too few, or no such ones.
  explicit Processors(const Settings& settings);

  std::vector<int> all, sort, movers;
};

// Binds this thread and those that it will make.
void run_on(std::span<const int> processors);

// Of processors, which this thread has used so far.
double own_seconds();

}  // namespace xxl::bench
