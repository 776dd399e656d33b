#include "job/job_defaults.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/machine_limits.h"
#include "base/units.h"

namespace xxl {
namespace {

// Beside the constant: page cache that cannot be dropped at once, and other processes.
constexpr std::uint64_t kSpareBytes = 16 * kMiB;
// Where that would exceed this part of what is available, this part: small jobs need little beside
// -S.
constexpr std::uint64_t kLeastPart = 8;

// Of so much memory, what -S may have.
std::uint64_t usable_part(std::uint64_t available) {
  const std::uint64_t beside = kMemoryConstantBytes + kSpareBytes;
  return std::max(available - std::min(available, beside), available / kLeastPart);
}

}  // namespace

std::uint64_t usable_memory_bytes() {
  return usable_part(available_memory_bytes());
}

std::uint64_t cut_to_machine(std::uint64_t memory_bytes) {
  return std::min(memory_bytes, std::max(usable_part(physical_memory_bytes()), kLeastMemoryBytes));
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

void set_defaults(FileJob& job) {
  if (job.memory_bytes == 0) job.memory_bytes = std::max(default_memory_bytes(), kLeastMemoryBytes);
  if (job.scratch_dirs.empty()) job.scratch_dirs.push_back(default_scratch_dir());
}

}  // namespace xxl
