#include "xxl/resources.h"

#include <string>
#include <utility>

#include "base/units.h"
#include "engine/callers/shared_resources.h"
#include "engine/job_defaults.h"

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

std::uint64_t resources::free_memory_bytes() const {
  return shared_->free_bytes();
}

}  // namespace xxl
