#include "cli/machine.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/machine_limits.h"
#include "base/units.h"
#include "engine/record_sort/external_sort.h"

namespace xxl::cli {
namespace {

// Beside the constant: page cache that cannot be dropped at once, and other processes.
constexpr std::uint64_t kSpareBytes = 16 * kMiB;
// Where that would exceed this part of what is available, this part: small jobs need little beside
// -S.
constexpr std::uint64_t kLeastPart = 8;

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

std::uint64_t usable_memory_bytes() {
  const std::uint64_t available = available_memory_bytes();
  const std::uint64_t beside = kMemoryConstantBytes + kSpareBytes;
  return std::max(available - std::min(available, beside), available / kLeastPart);
}

std::uint64_t default_memory_bytes() {
  return std::min(available_memory_bytes() / 2, usable_memory_bytes());
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
