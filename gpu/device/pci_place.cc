#include "gpu/device/pci_place.h"

#include <cctype>
#include <fstream>
#include <iterator>
#include <system_error>

namespace xxl::gpu {
namespace {

namespace fs = std::filesystem;

// Linux names the devices in lower case, CUDA in upper.
std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

int read_numa_node(const fs::path& device) {
  int node = -1;
  std::ifstream(device / "numa_node") >> node;
  return node >= 0 ? node : -1;
}

// The entry of a device is a link into the tree of devices:
// /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0, root port, ports of a switch,
// GPU.
std::string find_host_link(const fs::path& device) {
  std::error_code error;
  const fs::path place = fs::canonical(device, error);
  if (error) return {};
  for (auto part = place.begin(); part != place.end(); ++part) {
    const bool is_root =
        part->native().starts_with("pci") && part->native().find(':') != std::string::npos;
    if (is_root && std::next(part) != place.end()) return (*part / *std::next(part)).native();
  }
  return {};
}

}  // namespace

PciPlace find_pci_place(const std::string& bus, const fs::path& devices) {
  const fs::path device = devices / lower_case(bus);
  return {.numa_node = read_numa_node(device), .host_link = find_host_link(device)};
}

}  // namespace xxl::gpu
