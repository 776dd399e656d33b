// Failures are exceptions (xxl::Error). Wrong options are refused at once, and the next call says
// what failed in the background. A sorter can be used again after clear().
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>

int main() {
  try {
    const xxl::resources resources({.scratch_dirs = {"/no/such/directory"}});
    return 1;
  } catch (const xxl::Error& error) {
    std::printf("%s\n", error.what());
  }
  xxl::sorter<std::uint64_t> sorter({}, {.memory_bytes = 8 << 20});
  try {
    sorter.push(1);
    sorter.sort();
    sorter.push(2);
    return 1;
  } catch (const xxl::Error& error) {
    std::printf("%s\n", error.what());
  }
  sorter.clear();
  for (std::uint64_t i = 10; i > 0; --i) sorter.push(i);
  return *sorter.pull().begin() == 1 ? 0 : 1;
}
