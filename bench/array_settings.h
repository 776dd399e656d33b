// What bench_array is asked for (array.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory_files.h"

namespace xxl::bench {

struct Settings {
  std::string record = "gensort";
  std::uint64_t bytes = 1'000'000'000;
  std::uint64_t memory_bytes = 125'000'000;
  std::vector<std::uint64_t> threads = {1};
  std::vector<std::uint64_t> bandwidths = {10'000'000'000};
  std::uint64_t disks = 4;
  std::uint64_t latency_us = 80;
  std::uint64_t depth = 32;
  std::uint64_t movers = 1;
  std::vector<std::uint64_t> mover_processors;
  CopyKind copy = CopyKind::streaming;
  std::uint64_t repetitions = 1;
  bool forget_input = false;
  std::string directory = "/dev/shm";
  bool header = false;
  bool rate = false;
};

// Throws Error{usage}.
Settings parse_settings(const std::vector<std::string>& words);

}  // namespace xxl::bench
