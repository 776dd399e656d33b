// Amounts and levels over time, in a bounded number of buckets however long it takes: when they are
// full, two become one each, and all are twice as wide from then on.
//
//   4 buckets at most:  | 3 | 1 | 0 | 2 |  and one second more:  |   4   |   2   |  1    |
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace xxl::cli {

class TimeBuckets {
 public:
  static constexpr std::size_t kMost = 512;
  static constexpr std::uint64_t kFirstWidth = 10'000'000;  // ns

  // Of a series: "disk 254:0", "read".
  using Name = std::pair<std::string, std::string>;

  // Times are in nanoseconds; those before `start` count as `start`.
  explicit TimeBuckets(std::uint64_t start) : start_(start), end_(start) {}

  // Adds `amount`, spread evenly over [from, to).
  void add(const Name& name, std::uint64_t from, std::uint64_t to, double amount);
  // The level is `level` at `at`: a bucket keeps the highest.
  void raise(const Name& name, std::uint64_t at, double level);
  // Time goes on until `at`, though nothing may happen.
  void extend(std::uint64_t at);

  std::uint64_t start() const { return start_; }
  std::uint64_t end() const { return end_; }  // the last time that was named
  std::uint64_t width() const { return width_; }
  // Buckets so far, and how long one of them lasts: the last one, until the end.
  std::size_t count() const;
  double seconds(std::size_t bucket) const;

  bool has(const Name& name) const { return series_.contains(name); }
  std::vector<Name> names() const;
  // Amounts of the buckets.
  std::vector<double> amounts(const Name& name) const;
  // Levels of the buckets; one in which nothing was said has that of the one before.
  std::vector<double> levels(const Name& name) const;
  // The amount of [from, to): of a bucket partly in it, the same part.
  double sum(const Name& name, std::uint64_t from, std::uint64_t to) const;

 private:
  struct Series {
    bool is_level = false;
    std::vector<double> values;
  };

  std::size_t bucket_of(std::uint64_t at) const {
    return static_cast<std::size_t>((at - start_) / width_);
  }
  Series& series(const Name& name, bool is_level);
  void halve();

  std::uint64_t start_;
  std::uint64_t end_;
  std::uint64_t width_ = kFirstWidth;
  std::map<Name, Series> series_;
};

}  // namespace xxl::cli
