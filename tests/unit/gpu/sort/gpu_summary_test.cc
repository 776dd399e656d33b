#include "gpu/sort/gpu_summary.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/units.h"
#include "gpu/simulated/simulated_device.h"

namespace xxl::gpu {
namespace {

using Lines = std::vector<std::string>;

void connect(GpuLinks& links, std::size_t a, std::size_t b, double rate) {
  links.link(a, b) = links.link(b, a) = {.peer = true, .rate = rate};
}

TEST(GpuSummary, a_gpu_has_a_number_a_name_and_memory) {
  SimulatedDevice device(1, {.memory_bytes = 3 * kGiB});
  EXPECT_EQ(describe_gpu(device), "GPU 1, simulated, 3 GiB, 3 GiB free");
  const DeviceMemory taken(device, kGiB);
  EXPECT_EQ(describe_gpu(device), "GPU 1, simulated, 3 GiB, 2 GiB free");
}

TEST(GpuSummary, links_are_told_by_their_kind) {
  EXPECT_EQ(describe_links(GpuLinks(1)), Lines{});
  GpuLinks links(3);
  EXPECT_EQ(describe_links(links), Lines{"through the host: 0-1 0-2 1-2"});
  connect(links, 0, 1, kAssumedNvlinkRate);
  connect(links, 1, 2, kAssumedPciePeerRate);
  EXPECT_EQ(describe_links(links), (Lines{"NVLink: 0-1", "PCIe: 1-2", "through the host: 0-2"}));
}

TEST(GpuSummary, gpus_behind_one_switch_share_their_way_to_the_host) {
  GpuLinks links(3);
  links.gpu(0).host_link = links.gpu(2).host_link = "pci0000:00/0000:00:01.0";
  EXPECT_EQ(describe_links(links),
            (Lines{"through the host: 0-1 0-2 1-2", "one way to the host: 0-2"}));
}

TEST(GpuSummary, the_driver_has_a_version) {
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 "
                           "07:00:09 UTC 2025\nGCC version: gcc version 12.2.0 (Debian)\n"),
            "580.65.06");
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1  x"),
            "570.1");
  EXPECT_EQ(driver_version(""), "");
}

}  // namespace
}  // namespace xxl::gpu
