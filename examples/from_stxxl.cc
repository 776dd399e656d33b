// A program that was written for STXXL: only its #include lines have changed.
#include <xxl/stxxl.h>

#include <cstdio>
#include <limits>

struct Less {
  bool operator()(const unsigned& a, const unsigned& b) const { return a < b; }
  static unsigned min_value() { return std::numeric_limits<unsigned>::min(); }
  static unsigned max_value() { return std::numeric_limits<unsigned>::max(); }
};

int main() {
  typedef stxxl::sorter<unsigned, Less, 1 * 1024 * 1024> sorter_type;
  sorter_type sorter(Less(), 16 * 1024 * 1024);
  for (unsigned i = 0; i < 10'000'000; ++i) sorter.push(i * 2654435761u);
  sorter.sort();

  stxxl::VECTOR_GENERATOR<unsigned>::result vector(sorter.size());
  stxxl::stream::materialize(sorter, vector.begin(), vector.end());
  std::printf("%llu numbers, sorted: %s\n", static_cast<unsigned long long>(vector.size()),
              stxxl::is_sorted(vector.begin(), vector.end()) ? "yes" : "no");
  return stxxl::is_sorted(vector.begin(), vector.end()) ? 0 : 1;
}
