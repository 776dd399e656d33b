// The ten largest of many numbers: a sorter with a limit keeps no more than these.
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

int main() {
  xxl::sorter largest(std::greater<std::uint64_t>(), {.memory_bytes = 16 << 20}, {.limit = 10});
  for (std::uint64_t i = 0; i < 4'000'000; ++i) largest.push(i * 0x9e3779b97f4a7c15u >> 20);
  const std::vector<std::uint64_t> ten = largest.top(10);
  for (const std::uint64_t number : ten) {
    std::printf("%llu\n", static_cast<unsigned long long>(number));
  }
  return ten.size() == 10 ? 0 : 1;
}
