// Jobs of files, with what they may use beside what they say.
#pragma once

#include "engine/job.h"
#include "xxl/join.h"
#include "xxl/sort.h"

namespace xxl {

// As sort_files() and join_files(). `means` must live until they return.
SortReport do_job(const SortJob& job, const JobMeans& means);
JoinReport do_job(const JoinJob& job, const JobMeans& means);

}  // namespace xxl
