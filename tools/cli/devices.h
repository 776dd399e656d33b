// The devices that sort: --device, --gpu-memory, --multi-gpu and --gpu-merge.
#pragma once

#include <memory>

#include "cli/command.h"
#include "engine/record_sort/external_sort.h"

namespace xxl::cli {

struct DeviceChoice {
  std::unique_ptr<Accelerator> accelerator;  // null: the CPU sorts
  Acceleration acceleration = Acceleration::never;
  AcceleratedMerge merge = AcceleratedMerge::automatic;
};

// Throws Error{usage} for invalid words. Whether there is a GPU is determined when a sort first
// needs one. `time_line` may be null.
DeviceChoice device_option(const ParsedOptions& options, TimeLine* time_line);

}  // namespace xxl::cli
