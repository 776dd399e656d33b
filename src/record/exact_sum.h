// The exact sum of floating-point numbers, rounded once at the end: it depends neither on their
// order nor on how they are split among threads and runs.
//
// A long fixed-point number that holds every finite double, as in Kulisch's accumulators (Ulrich
// Kulisch, "Computer Arithmetic and Validity", 2nd edition, 2013, chapter 8). Its digits of 32 bits
// are kept in 64, so that carries wait for 2^30 additions:
//
//     digit    0            1         ...       33 | 34        ...      65   66
//     weight   2^-1074      2^-1042             2^-18 ...              2^1006  (room for carries)
#pragma once

#include <array>
#include <cstdint>

namespace xxl {

class ExactSum {
 public:
  void add(double value);
  void add(const ExactSum& other);

  // The nearest double or float, ties to even; an infinity where finite numbers exceed its range.
  // Of the sum divided by `divisor` > 0.
  double to_double(std::uint64_t divisor = 1) const { return rounded(53, 0, divisor); }
  float to_float(std::uint64_t divisor = 1) const {
    return static_cast<float>(rounded(24, 1074 - 149, divisor));
  }
  // Something that was added was infinite or no number, and so is the sum.
  bool is_special() const { return special_ != 0; }

 private:
  static constexpr int kDigits = 69;  // the last one is for divide()
  static constexpr std::uint32_t kMostAdditions = 1U << 30;

  void carry();
  void divide(std::uint64_t divisor);
  double rounded(int precision, int lowest_bit, std::uint64_t divisor) const;

  std::array<std::int64_t, kDigits> digits_{};
  std::uint32_t additions_ = 0;  // since carries were last propagated
  double special_ = 0;           // the sum of infinities and NaNs
};

}  // namespace xxl
