// Time-forward processing of a graph without cycles: values travel along edges, from each vertex to
// later ones, by way of sorters in place of a priority queue. Longest paths, round by round: a
// round sorts what the one before has sent.
#include <xxl/sorter.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

struct Message {
  std::uint32_t to;
  std::uint32_t length;  // of the path that ends there
};

int main() {
  constexpr std::uint32_t kVertices = 1 << 20;
  // Two sorters at a time: one is read while the other is filled.
  const xxl::resources shared({.memory_bytes = 32 << 20, .users = 2});
  xxl::sorter now(xxl::by(&Message::to), shared);
  now.push({1, 0});
  std::uint32_t longest = 0;
  for (int round = 0; round < 21; ++round) {
    xxl::sorter next(xxl::by(&Message::to), shared);
    const auto keep_longest = [](Message& a, const Message& b) {
      a.length = std::max(a.length, b.length);
    };
    for (Message vertex; now.pull_reduced(vertex, keep_longest);) {
      longest = std::max(longest, vertex.length);
      for (const std::uint32_t target : {2 * vertex.to, 2 * vertex.to + 1}) {  // a tree
        if (target < kVertices) next.push({target, vertex.length + 1});
      }
    }
    now.clear();
    now = std::move(next);
  }
  std::printf("longest path: %u\n", longest);
  return longest == 19 ? 0 : 1;
}
