// What a job is at, in words.
#pragma once

#include <string>

#include "xxl/job.h"

namespace xxl {

// "forming runs", "merging, pass 2 of 3"; `pass` and `passes` are those of Progress.
std::string phase_name(Phase phase, unsigned pass, unsigned passes);

}  // namespace xxl
