// Random jobs.
#pragma once

#include "job.h"
#include "random.h"

namespace xxl::campaign {

Job draw_job(Random& random);

}  // namespace xxl::campaign
