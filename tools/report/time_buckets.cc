#include "report/time_buckets.h"

#include <algorithm>

namespace xxl::cli {
namespace {

constexpr double kUnknown = -1;  // of a level: none has been negative

// Nanoseconds that [from, to) and a bucket have in common.
double common(std::uint64_t from, std::uint64_t to, std::uint64_t start, std::uint64_t width) {
  const std::uint64_t first = std::max(from, start);
  const std::uint64_t last = std::min(to, start + width);
  return last > first ? static_cast<double>(last - first) : 0;
}

}  // namespace

std::size_t TimeBuckets::count() const {
  return static_cast<std::size_t>((end_ - start_ + width_ - 1) / width_);
}

double TimeBuckets::seconds(std::size_t bucket) const {
  return common(start_, end_, start_ + bucket * width_, width_) * 1e-9;
}

void TimeBuckets::extend(std::uint64_t at) {
  end_ = std::max(end_, at);
  while (count() > kMost) halve();
}

void TimeBuckets::halve() {
  width_ *= 2;
  for (auto& [name, series] : series_) {
    const std::vector<double>& old = series.values;
    std::vector<double> values((old.size() + 1) / 2, series.is_level ? kUnknown : 0);
    for (std::size_t i = 0; i < old.size(); ++i) {
      double& value = values[i / 2];
      value = series.is_level ? std::max(value, old[i]) : value + old[i];
    }
    series.values = std::move(values);
  }
}

TimeBuckets::Series& TimeBuckets::series(const Name& name, bool is_level) {
  Series& series = series_[name];
  series.is_level = is_level;
  series.values.resize(std::max(series.values.size(), count()), is_level ? kUnknown : 0);
  return series;
}

void TimeBuckets::add(const Name& name, std::uint64_t from, std::uint64_t to, double amount) {
  from = std::max(from, start_);
  to = std::max(to, from + 1);  // what took no time is somewhere all the same
  extend(to);
  Series& target = series(name, false);
  const double whole = static_cast<double>(to - from);
  for (std::size_t i = bucket_of(from); i <= bucket_of(to - 1); ++i) {
    target.values[i] += amount * common(from, to, start_ + i * width_, width_) / whole;
  }
}

void TimeBuckets::raise(const Name& name, std::uint64_t at, double level) {
  at = std::max(at, start_);
  extend(at + 1);
  double& value = series(name, true).values[bucket_of(at)];
  value = std::max(value, level);
}

std::vector<TimeBuckets::Name> TimeBuckets::names() const {
  std::vector<Name> names;
  for (const auto& [name, series] : series_) names.push_back(name);
  return names;
}

std::vector<double> TimeBuckets::amounts(const Name& name) const {
  std::vector<double> values;
  if (const auto found = series_.find(name); found != series_.end()) values = found->second.values;
  values.resize(count(), 0);
  return values;
}

std::vector<double> TimeBuckets::levels(const Name& name) const {
  std::vector<double> values;
  if (const auto found = series_.find(name); found != series_.end()) values = found->second.values;
  values.resize(count(), kUnknown);
  double last = 0;
  for (double& value : values) {
    if (value == kUnknown) value = last;
    last = value;
  }
  return values;
}

double TimeBuckets::sum(const Name& name, std::uint64_t from, std::uint64_t to) const {
  const auto found = series_.find(name);
  if (found == series_.end()) return 0;
  double sum = 0;
  const std::vector<double>& values = found->second.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double seconds = this->seconds(i);
    if (seconds == 0) continue;
    sum += values[i] * common(from, to, start_ + i * width_, width_) * 1e-9 / seconds;
  }
  return sum;
}

}  // namespace xxl::cli
