// What goes wrong is an xxl::Error, thrown by the next call; the sorter can be used again after
// clear().
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>

int main() {
  xxl::sorter<std::uint64_t> sorter(
      {}, {.memory_bytes = 8 << 20, .scratch_dirs = {"/no/such/directory"}});
  try {
    for (std::uint64_t i = 0; i < 10'000'000; ++i) sorter.push(i);
    sorter.sort();
    while (!sorter.pull().empty()) {
    }
    return 1;
  } catch (const xxl::Error& error) {
    std::printf("%s\n", error.what());
  }
  sorter.clear();
  for (std::uint64_t i = 10; i > 0; --i) sorter.push(i);  // needs no scratch space
  return *sorter.pull().begin() == 1 ? 0 : 1;
}
