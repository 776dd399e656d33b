// Resources that sorters and jobs of files of a program share: memory, scratch directories,
// threads and GPUs.
//
//   const xxl::resources half({.memory_bytes = 512 << 20, .users = 2, .scratch_dirs = {"/ssd"}});
//   xxl::sorter<Edge> by_source(xxl::by(&Edge::from), half), by_target(xxl::by(&Edge::to), half);
#pragma once

#include <any>
#include <cstdint>
#include <string>
#include <vector>

#include "xxl/device.h"
#include "xxl/error.h"
#include "xxl/export.h"
#include "xxl/stop_signal.h"
#include "xxl/storage.h"

namespace xxl {

// Resources that sorters may use.
struct resource_options {
  std::uint64_t memory_bytes = 0;  // memory of all users together; the process uses this plus
                                   // kMemoryConstantBytes; 0: half of the free memory
  unsigned users = 1;              // users at the same time: each gets an equal part
  std::vector<std::string> scratch_dirs = {};  // used at the same time, best one on each disk;
                                               // empty: $TMPDIR, /var/tmp or /tmp
  unsigned threads = 0;                        // for each user; 0: one for each core
  Backend backend = Backend::automatic;        // how to access disks
  // Stops all users together, as std::stop_source::get_token().
  // A stop request ends all sorters and jobs of files: the call that waits, or the next one, throws
  // Error{io} with sys_errno() ECANCELED. The output of a job is then unchanged. A job in its last
  // sync still completes. A write to a pipe, and opening a named pipe, are waited for.
  stop_signal stop = {};
  Codec scratch_codec = Codec::none;  // for scratch blocks: lz4, zstd or none
  int scratch_level = 0;              // 0: the codec's default
  // The device that sorts. Automatic: GPUs for 1 GiB or more that does not fit in the memory of a
  // user. A sorter also needs sorter_options::expected_records for that. Comparators, records of
  // any length and joins of text are for the CPU: with Device::gpu they throw Error{device}.
  Device device = Device::automatic;
  // Numbers of the GPUs to use, as the driver numbers them, each once. Empty: the best ones, as
  // many as hold the records.
  std::vector<unsigned> gpus = {};
  std::uint64_t gpu_memory_bytes = 0;  // memory of each GPU to use, divided equally among users; 0:
                                       // all free memory
  std::any finder = {};                // for the library's tests
};

namespace detail {
class SharedResources;
}

// A handle: copies share the same resources. Any thread may call all members.
class resources {
 public:
  // Throws Error{usage} for 0 users, or a GPU named twice, and Error{io} for a scratch directory in
  // which no file can be made. A user throws if its part of the memory is too small.
  XXL_API explicit resources(resource_options options = {});

  XXL_API resources(const resources& other) noexcept;             // the same resources
  XXL_API resources& operator=(const resources& other) noexcept;  // likewise
  XXL_API ~resources();

  // With defaults filled in.
  [[nodiscard]] XXL_API const resource_options& options() const;
  // The memory not given to users.
  [[nodiscard]] XXL_API std::uint64_t free_memory_bytes() const;
  // For the library.
  detail::SharedResources* shared() const { return shared_; }

 private:
  detail::SharedResources* shared_;  // counts its handles
};

}  // namespace xxl
