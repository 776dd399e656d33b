#include "xxl/resources.h"

#include <any>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "callers/shared_resources.h"
#include "gpu/find/find_gpus.h"
#include "io/file.h"
#include "job/job_defaults.h"

namespace xxl {
namespace detail {
namespace {

GpuFinder finder_of(const resource_options& options) {
  const auto* finder = std::any_cast<std::shared_ptr<const GpuFinder>>(&options.finder);
  return finder != nullptr && *finder != nullptr ? **finder : GpuFinder();
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

std::stop_token token_of(const stop_signal& signal) {
  if (!signal.token().has_value()) return {};
  if (const auto* token = std::any_cast<std::stop_token>(&signal.token())) return *token;
  throw Error(ErrorCode::usage, "a stop signal is not made of a std::stop_token");
}

SharedResources::SharedResources(resource_options options)
    : options_(std::move(options)),
      stop_(token_of(options_.stop)),
      free_bytes_(options_.memory_bytes) {}

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
  means.stop = given_.shared()->stop();
  means.time_line = given_.shared()->time_line;
  return means;
}

}  // namespace detail

resources::resources(resource_options options) {
  if (options.users == 0) throw Error(ErrorCode::usage, "resource_options::users is 0");
  gpu::check_gpu_list(options.gpus, "resource_options::gpus");
  for (const std::string& directory : options.scratch_dirs) {
    static_cast<void>(io::File::create_unnamed(directory));
  }
  FileJob defaults;
  defaults.memory_bytes = options.memory_bytes;
  defaults.scratch_dirs = std::move(options.scratch_dirs);
  set_defaults(defaults);
  options.memory_bytes = defaults.memory_bytes;
  options.scratch_dirs = std::move(defaults.scratch_dirs);
  shared_ = new detail::SharedResources(std::move(options));
}

resources::resources(const resources& other) noexcept : shared_(other.shared_) {
  shared_->keep();
}

resources& resources::operator=(const resources& other) noexcept {
  other.shared_->keep();  // first, as both may be the same
  shared_->release();
  shared_ = other.shared_;
  return *this;
}

resources::~resources() {
  shared_->release();
}

const resource_options& resources::options() const {
  return shared_->options();
}

std::uint64_t resources::free_memory_bytes() const {
  return shared_->free_bytes();
}

}  // namespace xxl
