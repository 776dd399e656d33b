// Sorts structs, more than fit in the memory given, by two of their members.
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>

struct Edge {
  std::uint32_t from;
  std::uint32_t to;
  float weight;
};

int main() {
  xxl::sorter edges(xxl::by(&Edge::to, xxl::desc(&Edge::weight)), {.memory_bytes = 16 << 20});
  for (std::uint32_t i = 0; i < 5'000'000; ++i) {
    edges.push({.from = i, .to = i * 2654435761u % 100'000, .weight = static_cast<float>(i % 97)});
  }
  Edge last{};
  std::uint64_t count = 0;
  for (const Edge& edge : edges) {
    if (count++ > 0 && (edge.to < last.to || (edge.to == last.to && edge.weight > last.weight)))
      return 1;
    last = edge;
  }
  std::printf("%llu edges in order\n", static_cast<unsigned long long>(count));
  return count == 5'000'000 ? 0 : 1;
}
