#include "xxl/resources.h"

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "engine/callers/shared_resources.h"
#include "engine/job_defaults.h"
#include "xxl/join.h"
#include "xxl/sort.h"

namespace xxl {

detail::MemoryGrant::MemoryGrant(std::shared_ptr<SharedResources> shared, std::uint64_t bytes)
    : shared_(std::move(shared)), bytes_(bytes) {
  if (shared_->take(bytes)) return;
  throw Error(ErrorCode::no_space,
              format_bytes(shared_->free_bytes()) +
                  " of the memory of xxl::resources are free, not " + format_bytes(bytes) +
                  ": say in resource_options::users how many sorters there are "
                  "at the same time");
}

resources::resources(resource_options options) : options_(std::move(options)) {
  if (options_.users == 0) throw Error(ErrorCode::usage, "resource_options::users is 0");
  FileJob defaults;
  defaults.memory_bytes = options_.memory_bytes;
  defaults.scratch_dirs = std::move(options_.scratch_dirs);
  set_defaults(defaults);
  options_.memory_bytes = defaults.memory_bytes;
  options_.scratch_dirs = std::move(defaults.scratch_dirs);
  shared_ = std::make_shared<detail::SharedResources>(options_.memory_bytes);
}

namespace {

// `job` with what `shared` has, of which `grant` is its part of the memory. Throws Error{usage} if
// the job says the same itself.
template <class Job>
Job with_resources(Job job, const resources& shared, const detail::MemoryGrant& grant) {
  const FileJob open;
  if (job.memory_bytes != open.memory_bytes || job.scratch_dirs != open.scratch_dirs ||
      job.parallel != open.parallel || job.backend != open.backend ||
      job.temp_codec != open.temp_codec || job.temp_level != open.temp_level) {
    throw Error(ErrorCode::usage,
                "memory, scratch space, threads and backend of a job are those of the resources "
                "that it is given: leave the job's own at their defaults");
  }
  const resource_options& options = shared.options();
  if (options.stop.stop_requested()) throw_io_error(ECANCELED, "the job was stopped", {});
  job.memory_bytes = grant.bytes();
  job.scratch_dirs = options.scratch_dirs;
  job.parallel = options.threads;
  job.backend = options.backend;
  job.temp_codec = options.scratch_codec;
  job.temp_level = options.scratch_level;
  return job;
}

}  // namespace

SortReport sort_files(const SortJob& job, const resources& shared) {
  const detail::MemoryGrant grant(shared.shared(), detail::equal_part(shared));
  return sort_files(with_resources(job, shared, grant));
}

JoinReport join_files(const JoinJob& job, const resources& shared) {
  const detail::MemoryGrant grant(shared.shared(), detail::equal_part(shared));
  return join_files(with_resources(job, shared, grant));
}

std::uint64_t resources::free_memory_bytes() const {
  return shared_->free_bytes();
}

}  // namespace xxl
