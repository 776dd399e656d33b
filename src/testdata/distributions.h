// Keys of well-known distributions, for every record format but gensort's.
//
// A record is a function of (seed, its number, total number of records), so that any part of a data
// set can be made separately. The distributions are of the first key field:
//
//   uniform        over all values of the field's type; floats over [0, 1)
//   normal         integers and byte strings: mean in the middle of the range, standard deviation
//                  a 16th of it; floats: mean 0, standard deviation 1
//   zipf:THETA     the i-th most frequent key has probability proportional to 1 / i^THETA,
//                  i = 1 .. number of records in all; which key is the i-th is random
//   sorted         ascending and spread over the whole range; strictly so while there are no more
//                  records than values
//   reverse        the same, descending
//   nearly-sorted  sorted, but about 1% of the records have changed places, in pairs, with others
//                  less than 2^16 records away
//   few-distinct   16 values, each as likely
//   constant       one value
//
// The range of a float is its finite values, counted in the order of totalOrder; that of a byte
// string is its first 8 bytes. "Ascending" is in the key's own order: a descending field falls.
//
// What follows the key: in kv32 and kv64 and other pairs, the record's number (of which kv32 has 32
// bits), so that the stability of a sort can be checked. In all others every byte that is not in
// that field, or in the first 8 bytes of a byte string, is pseudo-random: so records of fixed:N
// differ even where the distribution says few-distinct, unless --key takes just those 8 bytes.
//
// normal and zipf use the C library's log and exp, which may differ in the last bit from one
// library to the next: a few keys may then differ, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/random.h"
#include "record/key_layout.h"
#include "testdata/generate_options.h"

namespace xxl {

// Ranks 1 .. universe, rank i with a probability proportional to 1 / i^theta, in constant time:
// rejection-inversion (Hörmann and Derflinger, "Rejection-Inversion to Generate Variates from
// Monotone Discrete Distributions", ACM TOMACS 6(3), 1996). theta >= 0; universe >= 1.
class Zipf {
 public:
  Zipf(double theta, std::uint64_t universe);
  std::uint64_t operator()(Random& random) const;

 private:
  double h(double x) const;
  double h_integral(double x) const;
  double h_integral_inverse(double x) const;

  double theta_;
  std::uint64_t universe_;
  double integral_low_;   // H(1.5) - h(1): where rank 1 begins
  double integral_high_;  // H(universe + 0.5)
  double accept_;         // ranks closer than this to the inverse need no further test
};

// The standard normal distribution's inverse: Wichura's PPND7 (AS 241, Applied Statistics 37(3),
// 1988), good to 7 digits. 0 < p < 1.
double normal_inverse(double p);

class DistributedRecords {
 public:
  // `options` are checked by the caller; total_records is resolved there.
  explicit DistributedRecords(const GenerateOptions& options);

  // Writes records first .. first + count - 1 to `out`.
  void fill(std::uint64_t first, std::size_t count, std::byte* out) const;

 private:
  __extension__ using U128 = unsigned __int128;
  enum class Rest { none, record_number, random };

  std::uint64_t draw(std::uint64_t record) const;
  std::uint64_t scale(std::uint64_t position) const;
  std::uint64_t scatter(std::uint64_t rank) const;
  std::uint64_t sorted_rank(std::uint64_t record) const;
  std::uint64_t displaced(std::uint64_t record) const;
  std::uint64_t field_of_rank(std::uint64_t rank) const;
  std::uint64_t field_of_float(double value) const;
  double normal(std::uint64_t record) const;
  double unit_float(std::uint64_t record) const;
  void make_fields(std::uint64_t first, std::span<std::uint64_t> fields) const;
  void store_records(std::uint64_t first, std::span<const std::uint64_t> fields,
                     std::byte* out) const;

  Distribution distribution_;
  std::uint64_t total_;
  std::size_t record_bytes_;
  KeyField key_;
  Rest rest_;
  std::uint64_t seed_;            // of draw()
  std::uint64_t scatter_seed_;    // of scatter()
  std::uint64_t window_seed_;     // of displaced()
  std::uint64_t window_records_;  // of displaced(); a power of two
  std::size_t field_bytes_;       // of the key that the distribution decides, at most 8
  U128 space_;                    // number of values of these bytes; they have ranks 0, 1, ...
  U128 step_;                     // sorted: ranks from one record to the next, times 2^64
  Zipf zipf_;
};

}  // namespace xxl
