// STXXL's types and configuration.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "xxl/resources.h"

#define STXXL_DEFAULT_BLOCK_SIZE(type) (2 * 1024 * 1024)
#define STXXL_DEFAULT_ALLOC_STRATEGY ::stxxl::striping
#define STXXL_BLOCK_ALIGN 4096
#define _STXXL_FORCE_SEQUENTIAL  // as an argument: sorting in memory by one thread

namespace stxxl {

using int8 = std::int8_t;
using int16 = std::int16_t;
using int32 = std::int32_t;
using int64 = std::int64_t;
using uint8 = std::uint8_t;
using uint16 = std::uint16_t;
using uint32 = std::uint32_t;
using uint64 = std::uint64_t;
using int_type = std::ptrdiff_t;
using unsigned_type = std::size_t;
using internal_size_type = std::size_t;
using external_size_type = std::uint64_t;
using external_diff_type = std::int64_t;

// Accepted, and not used.
#define XXL_STXXL_STRATEGY(type, words)         \
  struct type {                                 \
    static const char* name() { return words; } \
  }
XXL_STXXL_STRATEGY(striping, "striping");
XXL_STXXL_STRATEGY(fully_random, "fully randomized striping");
XXL_STXXL_STRATEGY(simple_random, "simple randomized striping");
XXL_STXXL_STRATEGY(random_cyclic, "randomized cycling striping");
XXL_STXXL_STRATEGY(random_cyclic_disk, "Randomized cycling striping on regular disks");
XXL_STXXL_STRATEGY(random_cyclic_flash, "Randomized cycling striping on flash devices");
XXL_STXXL_STRATEGY(single_disk, "single disk");
#undef XXL_STXXL_STRATEGY
using FR = fully_random;
using SR = simple_random;
using RC = random_cyclic;
using RC_disk = random_cyclic_disk;
using RC_flash = random_cyclic_flash;

// A disk, a file in STXXL. Here only the directory of that file matters.
class disk_config {
 public:
  disk_config() = default;
  // path, size, I/O implementation.
  disk_config(const std::string& path_, uint64 size_, const std::string& io)
      : path(path_), size(size_), io_impl(io) {}
  // disk=PATH,SIZE,IO
  disk_config(const std::string& line) { parse_line(line); }
  disk_config(const char* line) : disk_config(std::string(line)) {}

  // Throws std::runtime_error.
  void parse_line(const std::string& line) {
    const std::size_t equals = line.find('=');
    const std::string kind = line.substr(0, equals);
    if (equals == std::string::npos || (kind != "disk" && kind != "flash")) {
      throw std::runtime_error("not a disk of STXXL's configuration: " + line +
                               ": write disk=PATH,SIZE,IO");
    }
    path = line.substr(equals + 1, line.find(',') - equals - 1);
    path.erase(0, path.find_first_not_of(" \t"));
    path.erase(path.find_last_not_of(" \t\r") + 1);
    if (path.empty())
      throw std::runtime_error("a disk of STXXL's configuration has no path: " + line);
  }
  // The directory of scratch files.
  std::string directory() const {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return path;
    const std::string parent = std::filesystem::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
  }

  std::string path;
  uint64 size = 0;      // not used
  std::string io_impl;  // not used
  bool autogrow = true;
  bool delete_on_exit = true;
  bool unlink_on_open = true;
  bool flash = false;
  int queue = -1;
  enum direct_type { DIRECT_OFF = 0, DIRECT_TRY = 1, DIRECT_ON = 2 } direct = DIRECT_TRY;
};

// The disks of the process. They come from the first existing file of $STXXLCFG, ./.stxxl and
// ~/.stxxl, and from add_disk().
class config {
 public:
  static config* get_instance() {
    static config instance;
    return &instance;
  }

  config& add_disk(const disk_config& disk) {
    disks_.push_back(disk);
    return *this;
  }
  std::size_t disks_number() {
    load_default_config();
    return std::max<std::size_t>(disks_.size(), 1);
  }
  disk_config& disk(std::size_t index) { return disks_.at(index); }
  const std::string& disk_path(std::size_t index) const { return disks_.at(index).path; }
  // Scratch directories. Empty: xxl chooses.
  std::vector<std::string> directories() {
    load_default_config();
    std::vector<std::string> all;
    for (const disk_config& disk : disks_) {
      const std::string directory = disk.directory();
      if (std::find(all.begin(), all.end(), directory) == all.end()) all.push_back(directory);
    }
    return all;
  }
  // Reads a file of the configuration. Throws std::runtime_error.
  void load_config_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read STXXL's configuration: " + path);
    for (std::string line; std::getline(file, line);) {
      line.erase(0, line.find_first_not_of(" \t"));
      if (!line.empty() && line.front() != '#') add_disk(disk_config(line));
    }
  }

 private:
  config() = default;
  void load_default_config() {
    if (!disks_.empty() || loaded_) return;
    loaded_ = true;
    if (const char* given = std::getenv("STXXLCFG")) return load_config_file(given);
    const char* home = std::getenv("HOME");
    std::error_code error;
    for (const std::string& path :
         {std::string(".stxxl"), std::string(home != nullptr ? home : "") + "/.stxxl"}) {
      if (std::filesystem::is_regular_file(path, error)) return load_config_file(path);
    }
  }

  std::vector<disk_config> disks_;
  bool loaded_ = false;
};

namespace detail {

// A block of STXXL: a size in bytes and in elements. Nothing is stored in blocks here.
template <unsigned Bytes, class T>
struct block_of {
  enum { raw_size = Bytes, size = Bytes / sizeof(T) };
};

inline xxl::resources resources_of(unsigned_type memory) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  return xxl::resources({.memory_bytes = std::max<std::uint64_t>(memory, kLeast),
                         .scratch_dirs = config::get_instance()->directories()});
}

}  // namespace detail

}  // namespace stxxl
