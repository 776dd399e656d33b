// A sorter that is read more than once: first the median, then what lies above it.
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>

int main() {
  xxl::sorter<double> values({}, {.memory_bytes = 16 << 20}, {.repeatable = true});
  for (int i = 0; i < 3'000'001; ++i) values.push((i * 7919LL % 3'000'001) * 0.5);
  for (std::uint64_t before = values.size() / 2; before > 0; --before) ++values;
  const double median = *values;
  values.rewind();
  std::uint64_t above = 0;
  for (const double value : values) above += value > median;
  std::printf("median %g, %llu above\n", median, static_cast<unsigned long long>(above));
  return above == 1'500'000 ? 0 : 1;
}
