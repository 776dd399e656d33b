#include "gpu/sort/gpu_summary.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/units.h"

namespace xxl::gpu {
namespace {

// In the order of the report, the fastest first.
enum class Way { nvlink, pcie, host };

Way way_between(const GpuLinks& links, std::size_t a, std::size_t b) {
  const PeerLink& there = links.link(a, b);
  const PeerLink& back = links.link(b, a);
  if (!there.peer || !back.peer) return Way::host;
  return std::min(there.rate, back.rate) >= kAssumedNvlinkRate ? Way::nvlink : Way::pcie;
}

const char* name_of(Way way) {
  switch (way) {
    case Way::nvlink:
      return "NVLink:";
    case Way::pcie:
      return "PCIe:";
    case Way::host:
      break;
  }
  return "through the host:";
}

}  // namespace

std::string describe_gpu(const Device& device) {
  try {
    const DeviceInfo info = device.info();
    std::string text = "GPU " + std::to_string(info.index) + ", " + info.name + ", " +
                       format_bytes(info.total_bytes) + ", " + format_bytes(info.free_bytes) +
                       " free";
    if (!info.bus.empty()) text += ", PCI " + info.bus;
    if (info.numa_node >= 0) text += ", NUMA node " + std::to_string(info.numa_node);
    return text;
  } catch (const Error& error) {
    return std::string("a GPU that cannot be used: ") + error.what();
  }
}

std::vector<std::string> describe_links(const GpuLinks& links) {
  std::map<Way, std::string> pairs;
  std::string sharing;
  for (std::size_t a = 0; a < links.size(); ++a) {
    for (std::size_t b = a + 1; b < links.size(); ++b) {
      const std::string pair = std::to_string(a) + "-" + std::to_string(b);
      pairs[way_between(links, a, b)].append(" ").append(pair);
      if (share_host_link(links, a, b)) sharing.append(" ").append(pair);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [way, of] : pairs) lines.push_back(name_of(way) + of);
  if (!sharing.empty()) lines.push_back("one way to the host:" + sharing);
  return lines;
}

std::string driver_version(const std::string& module_text) {
  std::istringstream words(module_text);
  for (std::string word; words >> word;) {
    const bool is_version = std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
                            word.find('.') != word.npos &&
                            word.find_first_not_of("0123456789.") == word.npos;
    if (is_version) return word;
  }
  return "";
}

}  // namespace xxl::gpu
