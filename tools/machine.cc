#include "machine.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/units.h"

namespace xxl::cli {
namespace {

// What follows "name" and a colon in a file of such lines (/proc/meminfo, /proc/cpuinfo).
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

std::uint64_t default_memory_bytes() {
  std::uint64_t bytes = physical_memory_bytes();
  std::uint64_t available_kib = 0;
  if (std::istringstream(read_field("/proc/meminfo", "MemAvailable")) >> available_kib) {
    bytes = std::min<std::uint64_t>(bytes, available_kib * kKiB);
  }
  return bytes / 2;
}

std::string default_scratch_dir() {
  const char* tmpdir = std::getenv("TMPDIR");
  if (tmpdir != nullptr && *tmpdir != '\0') return tmpdir;
  std::error_code error;
  return std::filesystem::is_directory("/var/tmp", error) ? "/var/tmp" : "/tmp";
}

std::string processor_name() {
  const std::string name = read_field("/proc/cpuinfo", "model name");
  return name.empty() ? "unknown" : name;
}

}  // namespace xxl::cli
