#include "xxl/resources.h"

#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "callers/shared_resources.h"
#include "gpu/find/find_gpus.h"
#include "job/files/job_spec.h"
#include "job/job_defaults.h"
#include "xxl/join.h"
#include "xxl/sort.h"

namespace xxl {
namespace detail {
namespace {

GpuFinder finder_of(const resource_options& options) {
  return options.finder != nullptr ? *options.finder : GpuFinder();
}

std::unique_ptr<Accelerator> make_accelerator(const resource_options& options) {
  if (options.device == Device::cpu) return nullptr;
  const GpuFinder finder = finder_of(options);
  gpu::GpuOptions gpus;
  gpus.find = gpu::find_for_sort(finder.find, {.list = options.gpus, .users = options.users});
  gpus.memory_bytes = options.gpu_memory_bytes;
  gpus.driver_bytes = finder.driver_bytes;
  return std::make_unique<gpu::GpuAccelerator>(std::move(gpus));
}

}  // namespace

Grant::Grant(const resources& given, std::uint64_t memory_bytes)
    : given_(given),
      memory_bytes_(memory_bytes != 0 ? memory_bytes
                                      : given.options().memory_bytes / given.options().users),
      accelerator_(make_accelerator(given.options())) {
  SharedResources& shared = *given_.shared();
  if (shared.take(memory_bytes_)) return;
  throw Error(ErrorCode::no_space,
              format_bytes(shared.free_bytes()) +
                  " of the memory of xxl::resources are free, not " + format_bytes(memory_bytes_) +
                  ": say in resource_options::users how many sorters there are "
                  "at the same time");
}

void Grant::give_to(FileJob& job) const {
  const resource_options& options = given_.options();
  job.memory_bytes = memory_bytes_;
  job.scratch_dirs = options.scratch_dirs;
  job.threads = options.threads;
  job.backend = options.backend;
  job.scratch_codec = options.scratch_codec;
  job.scratch_level = options.scratch_level;
}

JobMeans Grant::means() const {
  const resource_options& options = given_.options();
  JobMeans means;
  means.accelerator = accelerator_.get();
  if (options.device == Device::gpu) means.acceleration = Acceleration::always;
  if (options.device == Device::automatic) means.acceleration = Acceleration::if_it_pays;
  means.worth_accelerating = finder_of(options).start_bytes;
  means.queue_factory = given_.shared()->queue_factory;
  means.stop = options.stop;
  means.time_line = given_.shared()->time_line;
  return means;
}

}  // namespace detail

resources::resources(resource_options options) : options_(std::move(options)) {
  if (options_.users == 0) throw Error(ErrorCode::usage, "resource_options::users is 0");
  gpu::check_gpu_list(options_.gpus, "resource_options::gpus");
  FileJob defaults;
  defaults.memory_bytes = options_.memory_bytes;
  defaults.scratch_dirs = std::move(options_.scratch_dirs);
  set_defaults(defaults);
  options_.memory_bytes = defaults.memory_bytes;
  options_.scratch_dirs = std::move(defaults.scratch_dirs);
  shared_ = std::make_shared<detail::SharedResources>(options_.memory_bytes);
}

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
  if (shared.options().stop.stop_requested()) throw_stopped();
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

std::uint64_t resources::free_memory_bytes() const {
  return shared_->free_bytes();
}

}  // namespace xxl
