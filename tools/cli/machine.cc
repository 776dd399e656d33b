#include "cli/machine.h"

#include <fstream>
#include <string_view>

namespace xxl::cli {
namespace {

// The text after "name" and a colon in a file of such lines (/proc/meminfo, /proc/cpuinfo).
std::string read_field(const char* path, std::string_view name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

}  // namespace

std::string processor_name() {
  const std::string name = read_field("/proc/cpuinfo", "model name");
  return name.empty() ? "unknown" : name;
}

}  // namespace xxl::cli
