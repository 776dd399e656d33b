// The devices that sort: --device, --gpu-memory, --multi-gpu and --gpu-merge.
#pragma once

#include <memory>
#include <optional>

#include "cli/command.h"
#include "gpu/find/find_gpus.h"
#include "job/fixed_sort/fixed_sort.h"

namespace xxl::cli {

struct DeviceChoice {
  std::unique_ptr<Accelerator> accelerator;  // null: the CPU sorts
  Acceleration acceleration = Acceleration::never;
  AcceleratedMerge merge = AcceleratedMerge::automatic;

  // It must outlive the job.
  void give_to(JobMeans& job) const {
    job.accelerator = accelerator.get();
    job.acceleration = acceleration;
  }
};

// Throws Error{usage} for invalid words. Whether there is a GPU is determined when a sort first
// needs one. `time_line` may be null. `rank`: of processes that divide the machine's GPUs, and use
// them only if they are asked to.
DeviceChoice device_option(const ParsedOptions& options, TimeLine* time_line,
                           std::optional<gpu::GpuProcess> rank = {});

}  // namespace xxl::cli
