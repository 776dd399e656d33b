// Random machines.
#pragma once

#include "job.h"
#include "plan.h"
#include "random.h"

namespace xxl::campaign {

// One without faults, with an order of threads and a disk of its own.
Plan draw_machine(const Job& job, Random& random);

// The same machine with faults, or an end in the middle, where the job has operations: `report` is
// that of the run without.
Plan draw_faults(const Job& job, Plan plan, const Report& report, Random& random);

}  // namespace xxl::campaign
