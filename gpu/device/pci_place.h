// Where in the machine a PCI device is.
#pragma once

#include <filesystem>
#include <string>

namespace xxl::gpu {

struct PciPlace {
  int numa_node = -1;  // -1: unknown, or there is only one
  // The root port that the device is behind, alone or with others behind switches:
  // "pci0000:00/0000:00:01.0". Empty: unknown.
  std::string host_link;
};

// Of the device with address `bus`, "0000:0F:00.0", in upper or lower case. `devices`: where Linux
// describes PCI devices. What it does not describe is left unknown; nothing is thrown.
PciPlace find_pci_place(const std::string& bus,
                        const std::filesystem::path& devices = "/sys/bus/pci/devices");

}  // namespace xxl::gpu
