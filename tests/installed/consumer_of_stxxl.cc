// A program of STXXL's, with its names of headers.
#include <stxxl/sorter>
#include <stxxl/vector>

struct Less {
  bool operator()(int a, int b) const { return a < b; }
  static int min_value() { return 0; }
  static int max_value() { return 1 << 30; }
};

int main() {
  stxxl::sorter<int, Less> sorter(Less(), 16 << 20);
  for (int i = 0; i < 1000; ++i) sorter.push(999 - i);
  sorter.sort();
  stxxl::vector<int> vector;
  for (; !sorter.empty(); ++sorter) vector.push_back(*sorter);
  STXXL_CHECK(vector.size() == 1000 && stxxl::is_sorted(vector.begin(), vector.end(), Less()));
  return 0;
}
