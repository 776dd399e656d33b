// Distinct words in alphabetical order.
#include <xxl/sorter.h>

#include <cstdio>
#include <string>

int main() {
  xxl::sorter<std::string> words({}, {.memory_bytes = 16 << 20}, {.unique = true});
  for (unsigned i = 0; i < 2'000'000; ++i)
    words.push("word-" + std::to_string(i * 7919ull % 50'000));
  std::size_t count = 0;
  for (const std::string_view word : words) count += word.starts_with("word-");
  std::printf("%zu distinct words\n", count);
  return count == 50'000 ? 0 : 1;
}
