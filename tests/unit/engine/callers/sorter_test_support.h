// What the tests of sorters share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "xxl/sorter.h"

namespace xxl::test {

inline constexpr std::uint64_t kLittleMemory = 4 << 20;

inline resources with_memory(std::uint64_t bytes, unsigned users = 1, unsigned threads = 2) {
  return resources({.memory_bytes = bytes,
                    .users = users,
                    .scratch_dirs = {testing::TempDir()},
                    .threads = threads});
}

// What is left, span by span.
template <class Sorter>
auto pull_all(Sorter& sorter) {
  std::vector<typename Sorter::value_type> all;
  for (auto span = sorter.pull(); !span.empty(); span = sorter.pull()) {
    all.insert(all.end(), span.begin(), span.end());
  }
  return all;
}

// What is left, one by one: of streams of STXXL as well.
template <class Stream>
auto read_all(Stream& stream) {
  std::vector<typename Stream::value_type> all;
  for (; !stream.empty(); ++stream) all.push_back(*stream);
  return all;
}

}  // namespace xxl::test
