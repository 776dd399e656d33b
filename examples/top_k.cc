// The ten largest of many numbers: a sorter with a limit keeps no more than these.
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>

int main() {
  xxl::sorter<std::uint64_t> largest(xxl::order<std::uint64_t>::descending(),
                                     xxl::resources({.memory_bytes = 16 << 20}), {.limit = 10});
  for (std::uint64_t i = 0; i < 4'000'000; ++i) largest.push(i * 0x9e3779b97f4a7c15u >> 20);
  std::uint64_t count = 0;
  for (const std::uint64_t number : largest) {
    std::printf("%llu\n", static_cast<unsigned long long>(number));
    ++count;
  }
  return count == 10 ? 0 : 1;
}
