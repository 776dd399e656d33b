// Makes a failing case small: fewer faults, fewer options, smaller inputs, fewer processors, a
// simpler schedule, as long as it fails in the same way.
#pragma once

#include <functional>
#include <vector>

#include "case_file.h"

namespace xxl::campaign {

// Cases that are simpler than `one` by a step each, the boldest first.
std::vector<Case> simpler(const Case& one);

// The simplest case found by such steps that still `fails`, after at most `most` attempts.
Case shrink(Case one, const std::function<bool(const Case&)>& fails, unsigned most);

}  // namespace xxl::campaign
