// Random jobs.
#pragma once

#include "job.h"
#include "random.h"

namespace xxl::campaign {

// `tables`: also of columns.
Job draw_job(Random& random, bool tables);

}  // namespace xxl::campaign
