// A program of STXXL's interface, compiled twice: with its headers, and with <xxl/stxxl.h>.
//
//   stxxl_programs sorter|sort|ksort|stream|forward u64|pair RECORDS MEMORY_BYTES DISK_FILE
//
// Pushes pseudo-random records one by one and pulls them one by one, and prints, as one line of
// JSON, the seconds that this took and a checksum of the sequence that came out. `forward`: by a
// priority queue of 256 MiB, time-forward processing of so many messages.
#ifdef XXL_PEER
#include <stxxl/ksort>
#include <stxxl/priority_queue>
#include <stxxl/sort>
#include <stxxl/sorter>
#include <stxxl/stream>
#include <stxxl/vector>
#else
#include <xxl/stxxl.h>
#endif

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string>

namespace {

struct Pair {
  std::uint64_t first;
  std::uint64_t second;
};

// (STXXL's priority queue wants it.)
inline std::ostream& operator<<(std::ostream& to, const Pair& pair) {
  return to << pair.first;
}

std::uint64_t key_of(std::uint64_t record) {
  return record;
}
std::uint64_t key_of(const Pair& record) {
  return record.first;
}
std::uint64_t value_of(std::uint64_t) {
  return 0;
}
std::uint64_t value_of(const Pair& record) {
  return record.second;
}
void make(std::uint64_t random, std::uint64_t, std::uint64_t& record) {
  record = random;
}
void make(std::uint64_t random, std::uint64_t number, Pair& record) {
  record = {random, number};
}

template <class Record>
Record with_key(std::uint64_t key) {
  Record record{};
  make(key, 0, record);
  return record;
}

// Keys are different, so that the order is the same whoever sorts.
template <class Record>
struct Less {
  bool operator()(const Record& a, const Record& b) const { return key_of(a) < key_of(b); }
  Record min_value() const { return with_key<Record>(0); }
  Record max_value() const { return with_key<Record>(std::numeric_limits<std::uint64_t>::max()); }
};

template <class Record>
struct Key {
  typedef std::uint64_t key_type;
  key_type operator()(const Record& record) const { return key_of(record); }
  Record min_value() const { return Less<Record>().min_value(); }
  Record max_value() const { return Less<Record>().max_value(); }
};

// A stream of the records that are to be sorted: all numbers of 64 bits in a mixed order.
template <class Record>
class Records {
 public:
  typedef Record value_type;

  explicit Records(std::uint64_t count) : left_(count) { next(); }
  const Record& operator*() const { return current_; }
  const Record* operator->() const { return &current_; }
  Records& operator++() {
    --left_;
    next();
    return *this;
  }
  bool empty() const { return left_ == 0; }

 private:
  void next() {
    std::uint64_t x = left_ * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    make(x ^ (x >> 31), left_, current_);
  }

  std::uint64_t left_;
  Record current_;
};

struct Result {
  std::uint64_t records = 0;
  std::uint64_t checksum = 0;
  std::uint64_t last = 0;
  bool ordered = true;

  template <class Record>
  void take(const Record& record) {
    ordered = ordered && key_of(record) >= last;
    last = key_of(record);
    checksum = (checksum ^ last) * 0x100000001b3u + value_of(record);
    ++records;
  }
  template <class Stream>
  void take_all(Stream& stream) {
    for (; !stream.empty(); ++stream) take(*stream);
  }
};

template <class Record>
Result run(const std::string& method, std::uint64_t count, std::size_t memory) {
  Result result;
  Records<Record> records(count);
  if (method == "sorter") {
    stxxl::sorter<Record, Less<Record>> sorter(Less<Record>(), memory);
    for (; !records.empty(); ++records) sorter.push(*records);
    sorter.sort();
    result.take_all(sorter);
  } else if (method == "stream") {
    stxxl::stream::sort<Records<Record>, Less<Record>> sorted(records, Less<Record>(), memory);
    result.take_all(sorted);
  } else {
    typedef typename stxxl::VECTOR_GENERATOR<Record>::result Vector;
    Vector vector;
    for (; !records.empty(); ++records) vector.push_back(*records);
    if (method == "ksort") {
      stxxl::ksort(vector.begin(), vector.end(), Key<Record>(), memory);
    } else {
      stxxl::sort(vector.begin(), vector.end(), Less<Record>(), memory);
    }
    const Vector& sorted = vector;
    for (typename Vector::const_iterator it = sorted.begin(); it != sorted.end(); ++it)
      result.take(*it);
  }
  return result;
}

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

struct Later {
  bool operator()(const Pair& a, const Pair& b) const { return a.first > b.first; }
  Pair min_value() const { return {std::numeric_limits<std::uint64_t>::max(), 0}; }
};

// Each vertex sends its value to four later ones; its own follows from what it got.
Result forward(std::uint64_t messages) {
  const unsigned memory = 128 << 20;
  typedef stxxl::PRIORITY_QUEUE_GENERATOR<Pair, Later, memory, 128 << 10>::result Queue;
  typedef Queue::block_type Block;
  const unsigned blocks = memory / 2 / Block::raw_size;
  stxxl::read_write_pool<Block> pool(blocks, blocks);
  Queue queue(pool);
  Result result;
  const std::uint64_t vertices = messages / 4 + 1;
  std::uint64_t random = 1;
  for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) {
    std::uint64_t value = vertex;
    for (; !queue.empty() && queue.top().first == vertex; queue.pop()) {
      value += queue.top().second;
      ++result.records;
    }
    result.ordered = result.ordered && (queue.empty() || queue.top().first > vertex);
    result.checksum ^= mixed(value);
    for (int i = 0; i < 4 && vertex + 1 < vertices; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t to = vertex + 1 + (random >> 20) % (vertices - vertex - 1);
      queue.push({to, mixed(value + static_cast<std::uint64_t>(i))});
    }
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(
        stderr,
        "usage: stxxl_programs sorter|sort|ksort|stream|forward u64|pair RECORDS MEMORY_BYTES "
        "DISK_FILE\n");
    return 2;
  }
  const std::string method = argv[1];
  const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);
  const std::size_t memory = std::strtoull(argv[4], nullptr, 10);
  stxxl::config::get_instance()->add_disk(
      stxxl::disk_config("disk=" + std::string(argv[5]) + ", 0, syscall unlink"));
  const auto start = std::chrono::steady_clock::now();
  const Result result = method == "forward"             ? forward(count / 4 * 4)
                        : std::string(argv[2]) == "u64" ? run<std::uint64_t>(method, count, memory)
                                                        : run<Pair>(method, count, memory);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf(
      "{\"method\": \"%s\", \"record\": \"%s\", \"seconds\": %.3f, \"records\": %llu, \"ordered\": "
      "%s, \"checksum\": \"%016llx\"}\n",
      argv[1], argv[2], seconds, static_cast<unsigned long long>(result.records),
      result.ordered ? "true" : "false", static_cast<unsigned long long>(result.checksum));
  return result.ordered && result.records / 4 == count / 4 ? 0 : 1;
}
