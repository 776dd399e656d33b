#include "base/machine_limits.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "base/units.h"

namespace xxl {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The first number in a file; kUnlimited if there is none ("max", "-1", or no such file).
std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value && value >= 0 ? static_cast<std::uint64_t>(value) : kUnlimited;
}

// Sums the lines "name value" (or "name: value") of a file with one of these names.
std::uint64_t sum_in(const std::string& path, std::initializer_list<std::string_view> names) {
  std::uint64_t sum = 0;
  for (const std::string& line : lines_of(path)) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t value = 0;
    if (words >> name >> value && std::find(names.begin(), names.end(), name) != names.end()) {
      sum += value;
    }
  }
  return sum;
}

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    if (list.substr(start, end - start) == word) return true;
    start = end + 1;
  }
  return false;
}

// A line of /proc/self/cgroup, "ID:CONTROLLERS:GROUP", of version 2 "0::GROUP".
struct GroupLine {
  explicit GroupLine(std::string_view line) {
    const std::size_t first = std::min(line.find(':'), line.size());
    const std::size_t second = std::min(line.find(':', first + 1), line.size());
    if (second == line.size()) return;
    controllers = line.substr(first + 1, second - first - 1);
    group = line.substr(second + 1);
  }
  std::string_view controllers;
  std::string_view group;
};

// Names in mountinfo have "\040" for a blank, and so on.
std::string unescaped(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  std::string name;
  while (!text.empty()) {
    unsigned code = 0;
    const bool escaped =
        text.front() == '\\' && text.size() > kDigits &&
        std::from_chars(&text[1], &text[1] + kDigits, code, 8).ptr == &text[1] + kDigits;
    name += escaped ? static_cast<char>(code) : text.front();
    text.remove_prefix(escaped ? 1 + kDigits : 1);
  }
  return name;
}

std::uint64_t left(std::uint64_t limit, std::uint64_t used) {
  return limit == kUnlimited ? kUnlimited : limit - std::min(limit, used);
}

std::uint64_t limit_of(int resource) {
  rlimit limit{};
  const bool none = getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY;
  return none ? kUnlimited : limit.rlim_cur;
}

// The kernel refuses a set that has no room for all the processors that it was built for.
unsigned processors_of_affinity() {
  constexpr int kMostProcessors = 1 << 20;
  for (int room = CPU_SETSIZE; room <= kMostProcessors; room *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(room);
    std::vector<cpu_set_t> set(ceil_div(bytes, sizeof(cpu_set_t)));
    if (sched_getaffinity(0, bytes, set.data()) == 0) {
      return static_cast<unsigned>(std::max(1, CPU_COUNT_S(bytes, set.data())));
    }
    if (errno != EINVAL) break;
  }
  return 1;
}

}  // namespace

ControlGroups::ControlGroups(std::string root) : root_(std::move(root)) {
  const std::vector<std::string> groups = lines_of(root_ + "/proc/self/cgroup");
  if (groups.empty()) return;
  for (const std::string& line : lines_of(root_ + "/proc/self/mountinfo")) {
    if (line.find(" - cgroup") != std::string::npos) add_mount(line, groups);
  }
  drop_others(memory_);
  drop_others(cpu_);
}

// A line of mountinfo: "36 35 0:30 ROOT MOUNT-POINT OPTIONS ... - TYPE SOURCE OPTIONS".
void ControlGroups::add_mount(const std::string& line, const std::vector<std::string>& groups) {
  std::istringstream words(line);
  std::string word, mount_root, mount_point, type, options;
  words >> word >> word >> word >> mount_root >> mount_point;
  mount_root = unescaped(mount_root);
  mount_point = unescaped(mount_point);
  while (words >> word && word != "-") {
  }
  words >> type >> word >> options;
  const bool unified = type == "cgroup2";
  for (const std::string& text : groups) {
    const GroupLine group(text);
    if (unified ? !group.controllers.empty() : group.controllers.empty()) continue;
    const auto add = [&](std::string_view controller, std::vector<Hierarchy>& hierarchies) {
      const bool is_there =
          unified || (has_word(group.controllers, controller) && has_word(options, controller));
      if (is_there) {
        hierarchies.push_back(hierarchy_of(mount_point, mount_root, group.group));
        hierarchies.back().unified = unified;
      }
    };
    add("memory", memory_);
    add("cpu", cpu_);
  }
}

// The mount shows the hierarchy from `mount_root` on. "/a/b" is "b" from "/a" on, and "../ab" is no
// part of it.
ControlGroups::Hierarchy ControlGroups::hierarchy_of(std::string_view mount_point,
                                                     std::string_view mount_root,
                                                     std::string_view group) const {
  namespace fs = std::filesystem;
  fs::path part = fs::path(group).lexically_relative(mount_root);
  Hierarchy hierarchy;
  hierarchy.shows_group = !part.empty() && *part.begin() != "..";
  const std::string top = root_ + std::string(mount_point);
  if (hierarchy.shows_group && part != ".") {
    for (; !part.empty(); part = part.parent_path()) {
      hierarchy.folders.push_back(top + "/" + part.string());
    }
  }
  hierarchy.folders.push_back(top);
  return hierarchy;
}

// Keeps the hierarchies that show the group of the process, for each version that has one.
void ControlGroups::drop_others(std::vector<Hierarchy>& hierarchies) {
  for (const bool unified : {false, true}) {
    const auto shows_group = [&](const Hierarchy& hierarchy) {
      return hierarchy.unified == unified && hierarchy.shows_group;
    };
    if (std::ranges::none_of(hierarchies, shows_group)) continue;
    std::erase_if(hierarchies, [&](const Hierarchy& hierarchy) {
      return hierarchy.unified == unified && !hierarchy.shows_group;
    });
  }
}

ControlGroups::Memory ControlGroups::memory() const {
  Memory least;
  for (const Hierarchy& hierarchy : memory_) {
    for (const std::string& folder : hierarchy.folders) {
      const std::uint64_t limit = hierarchy.unified ? std::min(number_in(folder + "/memory.max"),
                                                               number_in(folder + "/memory.high"))
                                                    : number_in(folder + "/memory.limit_in_bytes");
      if (limit == kUnlimited) continue;
      const std::uint64_t usage =
          number_in(folder + (hierarchy.unified ? "/memory.current" : "/memory.usage_in_bytes"));
      const std::uint64_t cache =
          hierarchy.unified
              ? sum_in(folder + "/memory.stat", {"inactive_file", "active_file"})
              : sum_in(folder + "/memory.stat", {"total_inactive_file", "total_active_file"});
      least.limit = std::min(least.limit, limit);
      least.free = std::min(least.free, left(limit, usage == kUnlimited ? 0 : left(usage, cache)));
    }
  }
  return least;
}

std::uint64_t ControlGroups::memory_bytes() const {
  return memory().limit;
}

std::uint64_t ControlGroups::free_memory_bytes() const {
  return memory().free;
}

std::uint64_t ControlGroups::processors() const {
  std::uint64_t least = kUnlimited;
  for (const Hierarchy& hierarchy : cpu_) {
    for (const std::string& folder : hierarchy.folders) {
      std::uint64_t quota = kUnlimited, period = 0;
      if (hierarchy.unified) {
        std::ifstream file(folder + "/cpu.max");  // "max 100000" or "150000 100000"
        if (!(file >> quota >> period)) continue;
      } else {
        quota = number_in(folder + "/cpu.cfs_quota_us");
        period = number_in(folder + "/cpu.cfs_period_us");
      }
      if (quota == kUnlimited || period == 0 || period == kUnlimited) continue;
      least = std::min(least, std::max<std::uint64_t>(ceil_div(quota, period), 1));
    }
  }
  return least;
}

std::uint64_t available_memory_bytes() {
  const std::uint64_t free = sum_in("/proc/meminfo", {"MemAvailable:"}) * kKiB;
  const std::uint64_t mapped = sum_in("/proc/self/status", {"VmSize:"}) * kKiB;
  const std::uint64_t writable = sum_in("/proc/self/status", {"VmData:", "VmStk:"}) * kKiB;
  return std::min({free != 0 ? free : kUnlimited, physical_memory_bytes(),
                   ControlGroups().free_memory_bytes(), left(limit_of(RLIMIT_AS), mapped),
                   left(limit_of(RLIMIT_DATA), writable)});
}

unsigned available_processors() {
  // As it was at first: to read it again takes longer than to sort a few records.
  static const std::uint64_t by_quota = ControlGroups().processors();
  return static_cast<unsigned>(std::min<std::uint64_t>(by_quota, processors_of_affinity()));
}

std::uint64_t physical_memory_bytes() {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(pages * page_bytes, ControlGroups().memory_bytes());
}

}  // namespace xxl
