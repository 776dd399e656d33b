// What this process may use of the machine it runs on.
//
// The size of the machine says little about that: control groups (containers, services, batch
// systems) bound memory and processors, each on the way up to the root of the hierarchy, and so do
// the limits of the process (ulimit). The kernel kills processes that exceed them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {

inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

// The control groups of this process, of version 1 and of version 2.
//
// A mount may show only a part of the hierarchy: that of a container, or any other that is mounted
// elsewhere. Only mounts that show the group of this process count. If none does, the group's name
// is one outside the container, and the top of what is shown is taken for it. In a control group
// namespace with the mounts from outside, the group's place in them is unknown: limits below their
// top are not found.
class ControlGroups {
 public:
  // The kernel's files are /proc/self/cgroup, /proc/self/mountinfo and what these name, all below
  // `root`: a test may bring its own.
  explicit ControlGroups(std::string root = {});

  // Memory in bytes that the group with the least may have, and may have beyond its use: its page
  // cache counts as free, since the kernel drops it first. kUnlimited if there is none.
  std::uint64_t memory_bytes() const;
  std::uint64_t free_memory_bytes() const;
  // Processors whose full time the group with the least may have, rounded up; kUnlimited if no
  // group is limited.
  std::uint64_t processors() const;

 private:
  struct Memory {
    std::uint64_t limit = kUnlimited;
    std::uint64_t free = kUnlimited;
  };
  struct Hierarchy {
    bool unified = false;              // version 2
    bool shows_group = false;          // the process's group is in the mount
    std::vector<std::string> folders;  // of the process's group and those above it
  };

  Hierarchy hierarchy_of(std::string_view mount_point, std::string_view mount_root,
                         std::string_view group) const;
  static void drop_others(std::vector<Hierarchy>& hierarchies);
  void add_mount(const std::string& line, const std::vector<std::string>& groups);
  Memory memory() const;

  std::string root_;
  std::vector<Hierarchy> memory_;
  std::vector<Hierarchy> cpu_;
};

// Memory that this process may still take: what the machine has free, its control groups leave, and
// `ulimit -v` and `ulimit -d` allow.
std::uint64_t available_memory_bytes();

// Processors that this process may run on, at least 1. The quota of control groups is read once.
unsigned available_processors();

// Physical memory of the machine in bytes, or the memory limit of the process's cgroup if smaller.
std::uint64_t physical_memory_bytes();

}  // namespace xxl
