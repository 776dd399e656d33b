// What the sorters and the jobs of files of a program share: memory, scratch directories, threads,
// GPUs.
//
//   const xxl::resources half({.memory_bytes = 512 << 20, .users = 2, .scratch_dirs = {"/ssd"}});
//   xxl::sorter<Edge> by_source(xxl::by(&Edge::from), half), by_target(xxl::by(&Edge::to), half);
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "xxl/device.h"
#include "xxl/error.h"
#include "xxl/export.h"
#include "xxl/job.h"

namespace xxl {

// What sorters may use.
struct resource_options {
  std::uint64_t memory_bytes = 0;  // of all users together, beside kMemoryConstantBytes of the
                                   // process; 0: half of what it may still take
  unsigned users = 1;              // that are alive at the same time: each gets an equal part
  std::vector<std::string> scratch_dirs = {};  // all are used at the same time: one on each disk is
                                               // best; none: $TMPDIR, else /var/tmp, else /tmp
  unsigned threads = 0;                        // of each user; 0: as many as there are processors
  Backend backend = Backend::automatic;        // of all disks
  // Once it is asked to, all sorters and jobs of files stop: whichever call waits, or comes next,
  // throws Error{io} with sys_errno() ECANCELED. The output of a job is then what it was before;
  // one that is complete but for its last sync goes on to its end. What is waited for: a write to a
  // pipe, the opening of one with a name.
  std::stop_token stop = {};
  Codec scratch_codec = Codec::none;  // of scratch blocks: lz4, zstd or none
  int scratch_level = 0;              // 0: the codec's default
  // Who sorts. Automatic: GPUs for a GiB or more that does not fit in the memory of a user; of a
  // sorter's records sorter_options::expected_records must say so. Comparators, records of any
  // length and joins of text are for processors: with Device::gpu they are Error{device}.
  Device device = Device::automatic;
  // Numbers of the GPUs to use, as the driver numbers those that the process sees, each once. None:
  // the best ones, as many as hold what is sorted.
  std::vector<unsigned> gpus = {};
  std::uint64_t gpu_memory_bytes = 0;  // most to use of each GPU, for all users together, each of
                                       // which gets an equal part; 0: what is free
  std::shared_ptr<const detail::GpuFinder> finder = {};  // of the library's tests
};

namespace detail {
class SharedResources;
}

// A handle: copies share the same resources. All members may be called from any thread.
class resources {
 public:
  // Throws Error{usage} for no users, or a GPU that is named twice. Whether a part of the memory is
  // enough is said by who gets it, whether a scratch directory is there when it is needed first.
  XXL_API explicit resources(resource_options options = {});

  const resource_options& options() const { return options_; }  // with what was left open
  // What has not been given to users.
  XXL_API std::uint64_t free_memory_bytes() const;
  // For the library.
  const std::shared_ptr<detail::SharedResources>& shared() const { return shared_; }

 private:
  resource_options options_;
  std::shared_ptr<detail::SharedResources> shared_;
};

}  // namespace xxl
