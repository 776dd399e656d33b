// Programs of STXXL's interface.
#include "xxl/stxxl.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <compare>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "callers/sorter_test_support.h"
#include "xxl/error.h"

namespace {

using xxl::test::read_all;

constexpr std::size_t kMemory = 8 << 20;

struct Less {
  bool operator()(int a, int b) const { return a < b; }
  static int min_value() { return std::numeric_limits<int>::min(); }
  static int max_value() { return std::numeric_limits<int>::max(); }
};

struct Pair {
  std::uint32_t first, second;
  std::uint32_t key() const { return first; }
  friend bool operator==(const Pair&, const Pair&) = default;
};

struct First {
  using key_type = std::uint32_t;
  key_type operator()(const Pair& pair) const { return pair.first; }
};

std::vector<int> random_ints(std::size_t count) {
  xxl::Random random(count);
  std::vector<int> ints(count);
  for (int& value : ints) value = static_cast<int>(random.below(1 << 20)) - (1 << 19);
  return ints;
}

class Stxxl : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    stxxl::config::get_instance()->add_disk(
        stxxl::disk_config("disk=" + testing::TempDir() + "stxxl.disk, 100, syscall unlink"));
  }
};

TEST_F(Stxxl, sorter_is_read_twice_and_used_again) {
  stxxl::sorter<int, Less, 1 << 20> sorter(Less(), kMemory);
  for (const std::size_t count : {3'000'000, 10}) {
    std::vector<int> ints = random_ints(count);
    for (const int value : ints) sorter.push(value);
    EXPECT_EQ(sorter.size(), count);
    sorter.sort();
    std::sort(ints.begin(), ints.end());
    EXPECT_EQ(*sorter, ints[0]);
    ++sorter;
    EXPECT_EQ(sorter.size(), count - 1);
    sorter.rewind();
    EXPECT_EQ(sorter.size(), count);
    EXPECT_EQ(read_all(sorter), ints);
    EXPECT_EQ(sorter.size(), 0);
    sorter.clear();
    EXPECT_EQ(sorter.size(), 0);
  }
  sorter.finish_clear();
}

TEST_F(Stxxl, sorts_vectors) {
  using Vector = stxxl::VECTOR_GENERATOR<int, 1, 2, 1 << 20>::result;
  std::vector<int> ints = random_ints(3'000'000);
  Vector vector;
  for (const int value : ints) vector.push_back(value);
  EXPECT_EQ(vector.size(), ints.size());
  EXPECT_EQ(vector[1'500'000], ints[1'500'000]);
  stxxl::sort(vector.begin() + 10, vector.end(), Less(), kMemory);
  std::sort(ints.begin() + 10, ints.end());
  EXPECT_TRUE(std::equal(vector.begin(), vector.end(), ints.begin(), ints.end()));
  EXPECT_FALSE(stxxl::is_sorted(vector.begin(), vector.end(), Less()));
  EXPECT_TRUE(stxxl::is_sorted(vector.cbegin() + 10, vector.cend()));
  // What users do next.
  const auto end = std::unique(vector.begin() + 10, vector.end());
  vector.resize(static_cast<stxxl::uint64>(end - vector.begin()));
  ints.erase(std::unique(ints.begin() + 10, ints.end()), ints.end());
  EXPECT_TRUE(std::equal(vector.begin(), vector.end(), ints.begin(), ints.end()));
}

TEST_F(Stxxl, sorts_vectors_by_keys) {
  stxxl::vector<Pair> vector;
  std::vector<Pair> pairs;
  xxl::Random random(1);
  for (std::uint32_t i = 0; i < 500'000; ++i) {
    pairs.push_back({static_cast<std::uint32_t>(random.below(1000)), i});
    vector.push_back(pairs.back());
  }
  stxxl::vector<Pair> copy(vector);
  stxxl::ksort(vector.begin(), vector.end(), First(), kMemory);
  stxxl::ksort(copy.begin(), copy.end(), kMemory);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.first < b.first; });
  EXPECT_TRUE(std::equal(vector.begin(), vector.end(), pairs.begin(), pairs.end()));
  EXPECT_TRUE(std::equal(copy.begin(), copy.end(), pairs.begin(), pairs.end()));
}

TEST_F(Stxxl, references_stay_where_they_are_when_a_vector_grows) {
  stxxl::vector<int> vector;
  for (int i = 0; i < 1000; ++i) vector.push_back(i);
  int& first = vector.front();
  for (int i = 1000; i < 1'000'000; ++i) vector.push_back(i);
  int& last = vector.back();
  std::swap(first, last);
  EXPECT_EQ(vector[0], 999'999);
  EXPECT_EQ(vector[999'999], 0);
}

TEST_F(Stxxl, a_vector_that_lost_elements_says_so_whatever_is_done_with_it) {
  stxxl::syscall_file full("/dev/full", stxxl::file::RDWR);
  stxxl::vector<int> vector(&full);
  for (int i = 0; i < 10; ++i) vector.push_back(i);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(vector.flush(), std::runtime_error);
  EXPECT_THROW(vector[3], std::runtime_error);
  EXPECT_THROW(vector.resize(5), std::runtime_error);
}

TEST_F(Stxxl, a_file_is_as_long_as_its_vector) {
  const std::string path = testing::TempDir() + "stxxl_longer.bin";
  stxxl::syscall_file file(path, stxxl::file::RDWR | stxxl::file::CREAT | stxxl::file::TRUNC);
  {
    stxxl::vector<int> vector(&file);
    vector.resize(10);
  }
  {
    stxxl::vector<int> vector(&file);
    vector.resize(1000);
    vector.resize(10);
  }
  EXPECT_EQ(std::filesystem::file_size(path), 10 * sizeof(int));
  std::filesystem::remove(path);
}

TEST_F(Stxxl, vectors_lie_in_files) {
  const std::string path = testing::TempDir() + "stxxl_vector.bin";
  {
    stxxl::syscall_file file(
        path, stxxl::file::RDWR | stxxl::file::CREAT | stxxl::file::TRUNC | stxxl::file::DIRECT);
    stxxl::vector<int> vector(&file);
    stxxl::vector<int>::bufwriter_type writer(vector);
    for (int i = 0; i < 1'000'000; ++i) writer << i;
    writer.finish();
    vector[7] = -7;
    vector.push_back(42);
    vector.back() += 1;
    vector.pop_back();
  }
  EXPECT_EQ(std::filesystem::file_size(path), 4'000'000);
  stxxl::syscall_file file(path, stxxl::file::RDONLY);
  const stxxl::vector<int> vector(&file);
  EXPECT_EQ(vector.size(), 1'000'000);
  int expected = 0;
  for (stxxl::vector<int>::bufreader_type reader(vector); !reader.empty(); ++reader, ++expected) {
    ASSERT_EQ(*reader, expected == 7 ? -7 : expected);
  }
  EXPECT_EQ(expected, 1'000'000);
  std::filesystem::remove(path);
  EXPECT_THROW(stxxl::syscall_file("/nonexistent/file", stxxl::file::RDONLY), std::runtime_error);
}

// Of a size that no sector is a multiple of.
struct Odd {
  std::array<std::uint8_t, 13> bytes;

  static Odd of(std::uint64_t number) {
    Odd odd{};
    std::memcpy(odd.bytes.data(), &number, sizeof(number));
    odd.bytes[12] = static_cast<std::uint8_t>(number * 7);
    return odd;
  }
  friend auto operator<=>(const Odd&, const Odd&) = default;
};
struct LessOdd {
  bool operator()(const Odd& a, const Odd& b) const { return a < b; }
};

// A vector and what it must be, which are changed at random in all ways that there are.
class VectorAndModel {
 public:
  using Vector = stxxl::vector<Odd>;

  explicit VectorAndModel(std::uint64_t seed) : random_(seed) {}
  void change() {
    switch (random_.below(9)) {
      case 0:
        push(random_.below(400'000));
        break;
      case 1:
        push(random_.below(10));
        break;
      case 2:
        overwrite(random_.below(400'000));
        break;
      case 3:
        materialize(random_.below(300'000));
        break;
      case 4:
        sort();
        break;
      case 5:
        resize();
        break;
      case 6:
        assign();
        break;
      case 7:
        Vector(vector_).swap(vector_);
        break;
      default:
        vector_.flush();
    }
  }
  void check() {
    ASSERT_EQ(vector_.size(), model_.size());
    const std::size_t from = place();
    switch (random_.below(4)) {
      case 0: {
        stxxl::vector_bufreader reader(vector_.begin() + from, vector_.end());
        check_stream(reader, from);
        reader.rewind();
        return check_stream(reader, from);
      }
      case 1: {
        auto stream = stxxl::stream::streamify(vector_.begin() + from, vector_.end());
        return check_stream(stream, from);
      }
      case 2:
        return check_elements(std::as_const(vector_).begin() + from, from);
      default:
        for (int i = 0; i < 100 && !model_.empty(); ++i) {
          const std::size_t at = random_.below(model_.size());
          ASSERT_EQ(vector_[at], model_[at]);
        }
    }
  }

 private:
  std::size_t place() { return random_.below(model_.size() + 1); }
  Odd next() { return Odd::of(random_.below(std::uint64_t{1} << 60)); }
  void push(std::size_t count) {
    for (; count > 0; --count) {
      model_.push_back(next());
      vector_.push_back(model_.back());
    }
  }
  void put(std::size_t at, const Odd& value) {
    if (at == model_.size()) {
      model_.push_back(value);
    } else {
      model_[at] = value;
    }
  }
  void overwrite(std::size_t count) {
    std::size_t at = place();
    stxxl::vector_bufwriter writer(vector_.begin() + at);
    for (; count > 0; --count) {
      put(at, next());
      writer << model_[at++];
    }
  }
  void materialize(std::size_t count) {
    std::vector<Odd> odds(count);
    std::size_t at = place();
    const auto out = vector_.begin() + at;
    for (Odd& odd : odds) put(at++, odd = next());
    auto stream = stxxl::stream::streamify(odds.begin(), odds.end());
    EXPECT_EQ(stxxl::stream::materialize(stream, out).index(), at);
  }
  void sort() {
    const std::size_t first = place();
    const std::size_t last = first + random_.below(model_.size() - first + 1);
    stxxl::sort(vector_.begin() + first, vector_.begin() + last, LessOdd(), kMemory);
    std::sort(model_.begin() + first, model_.begin() + last);
  }
  void resize() {
    const std::size_t size = random_.below(2) == 0 ? place() : model_.size() + random_.below(1000);
    if (size > model_.size()) return push(size - model_.size());
    model_.resize(size);
    vector_.resize(size);
  }
  void assign() {
    std::size_t at = place();
    for (int i = 0; i < 1000 && at < model_.size(); ++i) {
      vector_[at] = model_[at] = next();
      at += random_.below(300);
    }
  }
  template <class Stream>
  void check_stream(Stream& stream, std::size_t at) {
    for (; !stream.empty(); ++stream, ++at) {
      ASSERT_LT(at, model_.size());
      ASSERT_EQ(*stream, model_[at]) << at;
    }
    ASSERT_EQ(at, model_.size());
  }
  template <class Iterator>
  void check_elements(Iterator it, std::size_t at) {
    for (; at < model_.size(); ++it, ++at) ASSERT_EQ(*it, model_[at]) << at;
    ASSERT_EQ(it, std::as_const(vector_).end());
  }

  xxl::Random random_;
  Vector vector_;
  std::vector<Odd> model_;
};

TEST_F(Stxxl, vectors_have_what_was_written_however_they_are_read) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    VectorAndModel pair(seed);
    for (int i = 0; i < 30; ++i) {
      pair.change();
      pair.check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", change " << i;
    }
  }
}

// So many that what was passed is let go.
TEST_F(Stxxl, vectors_keep_what_a_long_scan_changes) {
  constexpr std::uint64_t kCount = (std::uint64_t{320} << 20) / sizeof(std::uint64_t);
  stxxl::vector<std::uint64_t> vector;
  for (std::uint64_t i = 0; i < kCount; ++i) vector.push_back(i);
  std::uint64_t& first = vector.front();
  for (std::uint64_t& value : vector) value = 3 * value + 1;
  EXPECT_EQ(first, 1);
  first = 1;
  std::uint64_t i = 0;
  for (const std::uint64_t value : std::as_const(vector)) ASSERT_EQ(value, 3 * i++ + 1);
  EXPECT_EQ(i, kCount);
  stxxl::vector<std::uint64_t>::bufreader_type reader(vector);
  for (i = 0; !reader.empty(); ++reader) ASSERT_EQ(*reader, 3 * i++ + 1);
  EXPECT_EQ(i, kCount);
}

TEST_F(Stxxl, vectors_leave_out_what_is_no_whole_element) {
  const std::string path = testing::TempDir() + "stxxl_odd.bin";
  std::ofstream(path) << std::string(3'000'001, 'x');
  {
    stxxl::syscall_file file(path, stxxl::file::RDWR);
    stxxl::vector<std::uint16_t> vector(&file);
    EXPECT_EQ(vector.size(), 1'500'000);
    stxxl::vector<std::uint16_t>::bufreader_type reader(vector);
    std::size_t count = 0;
    for (; !reader.empty(); ++reader, ++count) ASSERT_EQ(*reader, 'x' * 257);
    EXPECT_EQ(count, 1'500'000);
    for (int i = 0; i < 3'000'000; ++i) vector.push_back(7);
    vector.flush();
    EXPECT_EQ(std::filesystem::file_size(path), 9'000'000);
    EXPECT_EQ(vector[1'499'999], 'x' * 257);
    EXPECT_EQ(vector[1'500'000], 7);
    EXPECT_EQ(vector.back(), 7);
  }
  EXPECT_EQ(std::filesystem::file_size(path), 9'000'000);
  std::filesystem::remove(path);
}

TEST_F(Stxxl, vectors_say_that_a_file_cannot_grow) {
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t most : {rlim_t{500'000}, rlim_t{5'000'000}}) {
    stxxl::vector<int> vector;
    const rlimit limit{most, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_THROW(
        {
          for (int i = 0; i < 10'000'000; ++i) vector.push_back(i);
          vector.flush();
        },
        std::runtime_error);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  }
  std::signal(SIGXFSZ, handler);
}

struct Twice {
  using value_type = int;
  value_type operator()(int value) const { return 2 * value; }
};
struct Add {
  using value_type = long;
  value_type operator()(int a, int b) const { return long{a} + b; }
};

TEST_F(Stxxl, streams_are_piped) {
  std::vector<int> ints = random_ints(2'000'000);
  auto input = stxxl::stream::streamify(ints.begin(), ints.end());
  Twice twice;
  stxxl::stream::transform<Twice, decltype(input)> doubled(twice, input);
  stxxl::stream::sort<decltype(doubled), Less> sorted(doubled, Less(), kMemory);
  EXPECT_EQ(sorted.size(), ints.size());
  stxxl::stream::unique<decltype(sorted)> unique(sorted);
  stxxl::vector<int> output(ints.size());
  const auto end = stxxl::stream::materialize(unique, output.begin(), output.end());
  std::sort(ints.begin(), ints.end());
  ints.erase(std::unique(ints.begin(), ints.end()), ints.end());
  ASSERT_EQ(static_cast<std::size_t>(end - output.begin()), ints.size());
  for (std::size_t i = 0; i < ints.size(); ++i) ASSERT_EQ(output[i], 2 * ints[i]);
}

TEST_F(Stxxl, runs_are_made_by_pushing) {
  using Creator =
      stxxl::stream::runs_creator<stxxl::stream::use_push<int>, Less, 1 << 20, stxxl::RC>;
  using Merger = stxxl::stream::runs_merger<Creator::sorted_runs_type, Less>;
  std::vector<int> ints = random_ints(2'000'000);
  Creator creator(Less(), kMemory);
  for (const int value : ints) creator.push(value);
  EXPECT_EQ(creator.size(), ints.size());
  std::sort(ints.begin(), ints.end());
  for (int i = 0; i < 2; ++i) {
    Merger merger(creator.result(), Less(), kMemory);
    EXPECT_EQ(merger.size(), ints.size());
    EXPECT_EQ(read_all(merger), ints);
  }
}

TEST_F(Stxxl, streams_are_joined_and_materialized) {
  const std::vector<int> a = {1, 2, 3}, b = {10, 20, 30, 40};
  auto x = stxxl::stream::streamify(a.begin(), a.end());
  auto y = stxxl::stream::streamify(b.begin(), b.end());
  Add add;
  stxxl::stream::transform<Add, decltype(x), decltype(y)> sums(add, x, y);
  std::vector<long> out(3);
  EXPECT_EQ(stxxl::stream::materialize(sums, out.begin()), out.end());
  EXPECT_EQ(out, (std::vector<long>{11, 22, 33}));
  auto p = stxxl::stream::streamify(a.begin(), a.end());
  auto q = stxxl::stream::streamify(b.begin(), b.end());
  stxxl::stream::make_tuple<decltype(p), decltype(q)> tuples(p, q);
  EXPECT_EQ(read_all(tuples).back(), (stxxl::tuple<int, int>(3, 30)));
}

TEST_F(Stxxl, streams_are_chosen_from_counted_and_concatenated) {
  using Two = stxxl::tuple<int, char>;
  const std::vector<Two> two = {{1, 'a'}, {2, 'b'}};
  auto x = stxxl::stream::streamify(two.begin(), two.end());
  stxxl::stream::choose<decltype(x), 2> second(x);
  EXPECT_EQ(read_all(second), (std::vector<char>{'a', 'b'}));

  const std::vector<int> a = {1, 2}, b = {3};
  auto first = stxxl::stream::streamify(a.begin(), a.end());
  auto last = stxxl::stream::streamify(b.begin(), b.end());
  stxxl::stream::concatenate<decltype(first), decltype(last)> both(first, last);
  EXPECT_EQ(read_all(both), (std::vector<int>{1, 2, 3}));

  stxxl::stream::counter<stxxl::uint40> numbers(stxxl::uint40(7));
  ++numbers;
  EXPECT_EQ(*numbers, 8u);
  EXPECT_FALSE(numbers.empty());
}

TEST_F(Stxxl, vectors_are_generated_scanned_found_in_and_compared) {
  stxxl::vector<int> vector(1 << 20);
  stxxl::generate(
      vector.begin(), vector.end(), [at = 0]() mutable { return at++; }, 4);
  stxxl::for_each_m(
      vector.begin(), vector.end(), [](int& value) { value *= 2; }, 4);
  std::int64_t sum = 0;
  stxxl::for_each(
      vector.begin(), vector.end(), [&](int value) { sum += value; }, 4);
  EXPECT_EQ(sum, (std::int64_t{1} << 20) * ((1 << 20) - 1));
  EXPECT_EQ(stxxl::find(vector.begin(), vector.end(), 2000) - vector.begin(), 1000);
  EXPECT_EQ(stxxl::find(vector.begin(), vector.end(), 1), vector.end());

  stxxl::vector<int> copy(vector);
  EXPECT_TRUE(copy == vector);
  copy[copy.size() - 1] = 7;
  EXPECT_FALSE(copy == vector);
  copy.resize(5);
  EXPECT_FALSE(copy == vector);

  typename stxxl::vector<int>::bufreader_reverse_type backwards(vector);
  for (int value = 2 * ((1 << 20) - 1); value >= 0; value -= 2, ++backwards) {
    ASSERT_EQ(*backwards, value);
  }
  EXPECT_TRUE(backwards.empty());
  backwards.rewind();
  EXPECT_EQ(backwards.size(), vector.size());
}

TEST_F(Stxxl, shuffled_vectors_have_the_same_elements_in_another_order) {
  stxxl::vector<int> vector(100'000);
  stxxl::generate(vector.begin(), vector.end(), [at = 0]() mutable { return at++; });
  stxxl::set_seed(5);
  stxxl::random_shuffle(vector.begin(), vector.end(), kMemory);
  std::size_t in_place = 0;
  for (std::size_t i = 0; i < vector.size(); ++i) in_place += vector[i] == static_cast<int>(i);
  EXPECT_LT(in_place, 100u);
  stxxl::sort(vector.begin(), vector.end(), Less(), kMemory);
  for (std::size_t i = 0; i < vector.size(); ++i) ASSERT_EQ(vector[i], static_cast<int>(i));
}

TEST_F(Stxxl, vectors_are_exported_a_block_to_a_file) {
  using Vector = stxxl::VECTOR_GENERATOR<int, 4, 8, 4096>::result;
  Vector vector;
  for (int i = 0; i < 1500; ++i) vector.push_back(i);
  const std::string prefix = testing::TempDir() + "xxl_exported_";
  vector.export_files(prefix);
  EXPECT_EQ(std::filesystem::file_size(prefix + "000000000"), 4096u);
  EXPECT_EQ(std::filesystem::file_size(prefix + "000000001"), (1500 - 1024) * sizeof(int));
  std::ifstream second(prefix + "000000001", std::ios::binary);
  int first = 0;
  second.read(reinterpret_cast<char*>(&first), sizeof first);
  EXPECT_EQ(first, 1024);
  for (const char* name : {"000000000", "000000001"}) std::filesystem::remove(prefix + name);
}

TEST_F(Stxxl, records_may_have_assignments_and_destructors_of_their_own) {
  struct Odd {
    Odd() = default;
    explicit Odd(int k) : key(k) {}
    ~Odd() {}
    Odd(const Odd&) = default;
    Odd& operator=(const Odd& other) {
      key = other.key;
      return *this;
    }
    int key = 0;
  };
  struct ByKey {
    bool operator()(const Odd& a, const Odd& b) const { return a.key < b.key; }
  };
  stxxl::sorter<Odd, ByKey> sorter(ByKey(), kMemory);
  for (int i = 999; i >= 0; --i) sorter.push(Odd(i));
  sorter.sort();
  for (int i = 0; i < 1000; ++i, ++sorter) ASSERT_EQ(sorter->key, i);

  xxl::sorter<std::pair<int, int>, std::less<>> pairs;
  pairs.push({2, 1});
  pairs.push({1, 2});
  EXPECT_EQ((*pairs).first, 1);
  static_assert(!xxl::is_record_v<std::string> && !xxl::is_record_v<std::unique_ptr<int>>);
}

TEST_F(Stxxl, runs_are_checked_and_made_of_sorted_sequences) {
  using Input = stxxl::stream::from_sorted_sequences<int>;
  stxxl::stream::runs_creator<Input, Less> creator(Less(), kMemory);
  for (int sequence = 0; sequence < 3; ++sequence) {
    for (int i = 0; i < 100; ++i) creator.push(i);
    creator.finish();
  }
  auto runs = creator.result();
  EXPECT_EQ(runs->elements, 300u);
  EXPECT_TRUE(stxxl::stream::check_sorted_runs(runs, Less()));
  const auto backwards = [](int a, int b) { return a > b; };
  EXPECT_FALSE(stxxl::stream::check_sorted_runs(runs, backwards));
  stxxl::stream::runs_merger<decltype(runs), Less> merger(runs, Less(), kMemory);
  for (int i = 0; i < 300; ++i, ++merger) ASSERT_EQ(*merger, i / 3);
  EXPECT_TRUE(merger.empty());
}

TEST(StxxlConfig, tells_scratch_directories) {
  const std::string directory = testing::TempDir();
  EXPECT_EQ(stxxl::disk_config("disk=" + directory + "name, 100 GiB, syscall").directory() + "/",
            directory);
  EXPECT_EQ(stxxl::disk_config("flash=" + directory + ",0,linuxaio unlink").directory(), directory);
  EXPECT_EQ(stxxl::disk_config("name", 0, "syscall").directory(), ".");
  EXPECT_THROW(stxxl::disk_config("what=ever"), std::runtime_error);
  EXPECT_THROW(stxxl::disk_config("disk= ,1,x"), std::runtime_error);
  EXPECT_THROW(stxxl::config::get_instance()->load_config_file("/nonexistent"), std::runtime_error);
}

TEST(StxxlStats, measure_time) {
  const stxxl::stats_data before(*stxxl::stats::get_instance());
  const stxxl::stats_data passed = stxxl::stats_data(*stxxl::stats::get_instance()) - before;
  EXPECT_GE(passed.get_elapsed_time(), 0);
  std::ostringstream text;
  text << passed;
  EXPECT_NE(text.str().find("seconds"), std::string::npos);
}

}  // namespace
