// Distinct words of at most 31 bytes, in alphabetical order, by a comparator.
#include <xxl/sorter.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

struct Word {
  unsigned char length;
  char text[31];
  std::string_view view() const { return {text, length}; }
};

int main() {
  const auto alphabetical = [](const Word& a, const Word& b) { return a.view() < b.view(); };
  xxl::sorter<Word, decltype(alphabetical)> words(
      alphabetical, xxl::resources({.memory_bytes = 16 << 20}), {.unique = true});
  for (unsigned i = 0; i < 2'000'000; ++i) {
    const std::string text = "word-" + std::to_string(i * 7919ull % 50'000);
    Word word{static_cast<unsigned char>(text.size()), {}};
    std::memcpy(word.text, text.data(), text.size());
    words.push(word);
  }
  std::size_t count = 0;
  for (; !words.empty(); ++words) ++count;
  std::printf("%zu distinct words\n", count);
  return count == 50'000 ? 0 : 1;
}
