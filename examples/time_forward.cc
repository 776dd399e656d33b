// Time-forward processing of a graph without cycles: values travel along edges, from each vertex to
// later ones, by way of a priority queue. Longest paths: of each path, its length is sent on.
#include <xxl/priority_queue.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

struct Message {
  std::uint32_t to;
  std::uint32_t length;  // of the path that ends there
};
struct Later {
  bool operator()(const Message& a, const Message& b) const { return a.to > b.to; }
};

int main() {
  constexpr std::uint32_t kVertices = 1 << 20;
  xxl::priority_queue<Message, Later> messages(Later(), xxl::resources({.memory_bytes = 8 << 20}));
  messages.push({1, 0});
  std::uint32_t longest = 0;
  while (!messages.empty()) {
    Message vertex = messages.top();
    for (; !messages.empty() && messages.top().to == vertex.to; messages.pop()) {
      vertex.length = std::max(vertex.length, messages.top().length);
    }
    longest = std::max(longest, vertex.length);
    for (const std::uint32_t target : {2 * vertex.to, 2 * vertex.to + 1}) {  // a tree
      if (target < kVertices) messages.push({target, vertex.length + 1});
    }
  }
  std::printf("longest path: %u\n", longest);
  return longest == 19 ? 0 : 1;
}
