// Jobs of files with a part of xxl::resources. A source of its own: programs of sorters are linked
// without it, and so without joins and formats of files.
#include "base/error.h"
#include "callers/shared_resources.h"
#include "job/files/job_spec.h"
#include "xxl/join.h"
#include "xxl/resources.h"
#include "xxl/sort.h"

namespace xxl {
namespace {

// Does `job` with a part of `shared`. Throws Error{usage} if the job says itself what it may use.
template <class Job>
auto do_with(Job job, const resources& shared) {
  const FileJob open;
  if (job.memory_bytes != open.memory_bytes || job.scratch_dirs != open.scratch_dirs ||
      job.threads != open.threads || job.backend != open.backend ||
      job.scratch_codec != open.scratch_codec || job.scratch_level != open.scratch_level) {
    throw Error(ErrorCode::usage,
                "memory, scratch space, threads and backend of a job are those of the resources "
                "that it is given: leave the job's own at their defaults");
  }
  const detail::Grant grant(shared);
  if (shared.shared()->stop().stop_requested()) throw_stopped();
  grant.give_to(job);
  auto spec = spec_of(job);
  static_cast<JobMeans&>(spec) = grant.means();
  return do_job(spec);
}

}  // namespace

SortReport sort_files(const SortJob& job, const resources& shared) {
  return do_with(job, shared);
}

JoinReport join_files(const JoinJob& job, const resources& shared) {
  return do_with(job, shared);
}

}  // namespace xxl
