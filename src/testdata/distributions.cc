// Every distribution but those of floats first makes a rank, 0 .. space_ - 1, in the order of the
// key, then turns it into the bits of the field:
//
//   rank of i32   0 -> 0x80000000, ..., 2^31 - 1 -> 0xffffffff, 2^31 -> 0, ...
//   rank of f32   0 -> -FLT_MAX, ..., P - 1 -> -0.0, P -> +0.0, ..., 2P - 1 -> FLT_MAX
//
// where P = 0x7f800000, the bits of infinity, is the number of finite floats from +0.0 up.
#include "testdata/distributions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"

namespace xxl {
namespace {

static_assert(std::endian::native == std::endian::little);

__extension__ using U128 = unsigned __int128;

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // the step of Random's state
constexpr double kTwoTo53 = 0x1p53;
constexpr std::uint64_t kMaxWindowRecords = std::uint64_t{1} << 16;
constexpr std::uint64_t kFewDistinct = 16;
constexpr double kMaxZipfTheta = 16;

bool is_float(KeyType type) {
  return type == KeyType::f32 || type == KeyType::f64;
}

bool is_signed(KeyType type) {
  return type == KeyType::i8 || type == KeyType::i16 || type == KeyType::i32 ||
         type == KeyType::i64;
}

std::uint64_t sign_bit(std::size_t bytes) {
  return std::uint64_t{1} << (8 * bytes - 1);
}

// Number of finite floats of `bytes` bytes that are +0.0 or more.
std::uint64_t finite_floats(std::size_t bytes) {
  return bytes == 4 ? std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity())
                    : std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
}

U128 space_of(const KeyField& key, std::size_t bytes) {
  if (is_float(key.type)) return U128{2} * finite_floats(bytes);
  return U128{1} << (8 * bytes);
}

// 2^64 * space / total, rounded down.
U128 step_of(U128 space, std::uint64_t total) {
  const bool overflows = (space >> 64) != 0;
  return (overflows ? ~U128{0} : space << 64) / std::max<std::uint64_t>(total, 1);
}

std::uint64_t zipf_universe(U128 space, std::uint64_t total) {
  const U128 universe = std::min<U128>(space, total);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(universe));
}

// log1p(x) / x and expm1(x) / x, also at 0.
double log1p_over(double x) {
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x / 2;
}

double expm1_over(double x) {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2;
}

// A polynomial, coefficients from the constant up.
template <std::size_t kCount>
double polynomial(const std::array<double, kCount>& coefficients, double x) {
  double value = 0;
  for (std::size_t i = kCount; i-- > 0;) value = value * x + coefficients[i];
  return value;
}

// The `bytes` low bytes of `value`, at most 8. The common lengths as constants: a memcpy() of a
// length that the compiler does not know would take longer than making the record.
void store_low_bytes(std::byte* out, std::uint64_t value, std::size_t bytes) {
  if (bytes == 8) {
    std::memcpy(out, &value, 8);
  } else if (bytes == 4) {
    std::memcpy(out, &value, 4);
  } else {
    std::memcpy(out, &value, bytes);
  }
}

void fill_random(std::uint64_t seed, std::byte* out, std::size_t bytes) {
  Random random(seed);
  std::size_t place = 0;
  for (; place + 8 <= bytes; place += 8) store_low_bytes(out + place, random(), 8);
  if (place < bytes) store_low_bytes(out + place, random(), bytes - place);
}

}  // namespace

Zipf::Zipf(double theta, std::uint64_t universe) : theta_(theta), universe_(universe) {
  integral_low_ = h_integral(1.5) - 1;
  integral_high_ = h_integral(static_cast<double>(universe) + 0.5);
  accept_ = 2 - h_integral_inverse(h_integral(2.5) - h(2));
}

double Zipf::h(double x) const {
  return std::exp(-theta_ * std::log(x));
}

// The integral of h: (x^(1-theta) - 1) / (1 - theta), log x for theta = 1.
double Zipf::h_integral(double x) const {
  const double log_x = std::log(x);
  return expm1_over((1 - theta_) * log_x) * log_x;
}

double Zipf::h_integral_inverse(double x) const {
  const double t = std::max(-1.0, x * (1 - theta_));  // rounding may lead below -1
  return std::exp(log1p_over(t) * x);
}

std::uint64_t Zipf::operator()(Random& random) const {
  for (;;) {
    const double uniform = static_cast<double>(random() >> 11) / kTwoTo53;
    const double u = integral_high_ + uniform * (integral_low_ - integral_high_);
    const double x = h_integral_inverse(u);
    const double nearest = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(universe_));
    if (nearest - x <= accept_ || u >= h_integral(nearest + 0.5) - h(nearest)) {
      // A universe near 2^64 is not exact as a double.
      return nearest >= 0x1p63 ? universe_ : static_cast<std::uint64_t>(nearest);
    }
  }
}

double normal_inverse(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    constexpr std::array a{3.3871327179, 50.434271938, 159.29113202, 59.109374720};
    constexpr std::array b{1.0, 17.895169469, 78.757757664, 67.187563600};
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  double r = std::sqrt(-std::log(std::min(p, 1 - p)));
  double value;
  if (r <= 5) {
    constexpr std::array c{1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103};
    constexpr std::array d{1.0, 0.73700164250, 0.12021132975};
    r -= 1.6;
    value = polynomial(c, r) / polynomial(d, r);
  } else {
    constexpr std::array e{6.6579051150, 3.0812263860, 0.42868294337, 0.017337203997};
    constexpr std::array f{1.0, 0.24197894225, 0.012258202635};
    r -= 5;
    value = polynomial(e, r) / polynomial(f, r);
  }
  return q < 0 ? -value : value;
}

DistributedRecords::DistributedRecords(const GenerateOptions& options)
    : distribution_(options.distribution),
      total_(options.total_records),
      record_bytes_(options.format.record_bytes),
      key_(options.format.key.front()),
      field_bytes_(std::min<std::size_t>(key_.length, 8)),
      space_(space_of(key_, field_bytes_)),
      step_(step_of(space_, total_)),
      zipf_(options.zipf_theta, zipf_universe(space_, total_)) {
  switch (KeyLayout(options.format).kind()) {
    case RecordKind::key32:
    case RecordKind::key64:
      rest_ = Rest::none;
      break;
    case RecordKind::pair32:
    case RecordKind::pair64:
      rest_ = Rest::record_number;
      break;
    case RecordKind::generic:
      rest_ = Rest::random;
      break;
  }
  Random seeds(options.seed);
  seed_ = seeds();
  scatter_seed_ = seeds();
  window_seed_ = seeds();
  window_records_ = std::min(kMaxWindowRecords, std::bit_floor(std::max<std::uint64_t>(1, total_)));
}

// The record's own random number: the one that Random(seed_) would return as its record-th.
std::uint64_t DistributedRecords::draw(std::uint64_t record) const {
  return Random(seed_ + record * kGolden)();
}

// From a place in [0, 2^64) to the same place in [0, space_).
std::uint64_t DistributedRecords::scale(std::uint64_t position) const {
  return static_cast<std::uint64_t>((position * space_) >> 64);
}

// A random permutation of the ranks: steps that are each one-to-one on numbers of `bits` bits,
// repeated while the result is not a rank (less than once in two, when space_ is no power of two).
std::uint64_t DistributedRecords::scatter(std::uint64_t rank) const {
  const auto largest = static_cast<std::uint64_t>(space_ - 1);
  const auto bits = static_cast<int>(std::bit_width(largest));
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  const int shift = (bits + 1) / 2;
  do {
    rank = (rank + scatter_seed_) & mask;
    rank ^= rank >> shift;
    rank = (rank * 0xbf58476d1ce4e5b9) & mask;
    rank ^= rank >> shift;
    rank = (rank * 0x94d049bb133111eb) & mask;
    rank ^= rank >> shift;
  } while (rank > largest);
  return rank;
}

std::uint64_t DistributedRecords::sorted_rank(std::uint64_t record) const {
  const auto whole = static_cast<std::uint64_t>(step_ >> 64);
  const auto fraction = static_cast<std::uint64_t>(step_);
  return record * whole + static_cast<std::uint64_t>((U128{record} * fraction) >> 64);
}

// nearly-sorted: which record's key `record` has. The records are divided into windows; in each
// one, record i and record i ^ k, with k random for the window, may change places, and one pair in
// a hundred does. Who the partner is thus needs no memory of other records.
std::uint64_t DistributedRecords::displaced(std::uint64_t record) const {
  if (window_records_ < 2) return record;
  const std::uint64_t window = record / window_records_;
  const std::uint64_t k = 1 + Random(window_seed_ + window * kGolden).below(window_records_ - 1);
  const std::uint64_t partner = record ^ k;
  if (partner >= total_) return record;
  constexpr std::uint64_t kOnePercent = ~std::uint64_t{0} / 100;
  return draw(std::min(record, partner)) < kOnePercent ? partner : record;
}

// The bits of the field whose value has this rank.
std::uint64_t DistributedRecords::field_of_rank(std::uint64_t rank) const {
  if (key_.descending) rank = static_cast<std::uint64_t>(space_ - 1) - rank;
  if (is_signed(key_.type)) return rank ^ sign_bit(field_bytes_);
  if (is_float(key_.type)) {
    const std::uint64_t positive = finite_floats(field_bytes_);
    return rank < positive ? sign_bit(field_bytes_) | (positive - 1 - rank) : rank - positive;
  }
  return rank;
}

std::uint64_t DistributedRecords::field_of_float(double value) const {
  return field_bytes_ == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                           : std::bit_cast<std::uint64_t>(value);
}

// A standard normal value.
double DistributedRecords::normal(std::uint64_t record) const {
  return normal_inverse((static_cast<double>(draw(record) >> 11) + 0.5) / kTwoTo53);
}

// In [0, 1), a multiple of the distance between floats below 1.
double DistributedRecords::unit_float(std::uint64_t record) const {
  const int digits = field_bytes_ == 4 ? 24 : 53;
  return std::ldexp(static_cast<double>(draw(record) >> (64 - digits)), -digits);
}

// The keys of records first, first + 1, ... as the bits of the field. What depends on the
// distribution only is decided once for many records.
void DistributedRecords::make_fields(std::uint64_t first, std::span<std::uint64_t> fields) const {
  const auto make = [&](auto field_of) {
    for (std::uint64_t& field : fields) field = field_of(first++);
  };
  const auto make_ranked = [&](auto rank_of) {
    make([&](std::uint64_t record) { return field_of_rank(rank_of(record)); });
  };
  switch (distribution_) {
    case Distribution::uniform:
      if (is_float(key_.type)) {
        return make([&](std::uint64_t record) { return field_of_float(unit_float(record)); });
      }
      return make_ranked([&](std::uint64_t record) { return scale(draw(record)); });
    case Distribution::normal:
      if (is_float(key_.type)) {
        return make([&](std::uint64_t record) { return field_of_float(normal(record)); });
      }
      return make_ranked([&](std::uint64_t record) {
        const double from_middle = std::clamp(normal(record), -7.99, 7.99) * 0x1p60;
        return scale((std::uint64_t{1} << 63) +
                     static_cast<std::uint64_t>(static_cast<std::int64_t>(from_middle)));
      });
    case Distribution::zipf:
      return make_ranked([&](std::uint64_t record) {
        Random random(draw(record));
        return scatter(zipf_(random) - 1);
      });
    case Distribution::sorted:
      return make_ranked([&](std::uint64_t record) { return sorted_rank(record); });
    case Distribution::reverse:
      return make_ranked([&](std::uint64_t record) { return sorted_rank(total_ - 1 - record); });
    case Distribution::nearly_sorted:
      return make_ranked([&](std::uint64_t record) { return sorted_rank(displaced(record)); });
    case Distribution::few_distinct:
      return make_ranked(
          [&](std::uint64_t record) { return scatter(draw(record) % kFewDistinct); });
    case Distribution::constant:
      return make_ranked([&](std::uint64_t) { return scatter(0); });
  }
  XXL_CHECK(false);
}

void DistributedRecords::store_records(std::uint64_t first, std::span<const std::uint64_t> fields,
                                       std::byte* out) const {
  // Byte strings and big-endian numbers: the field's bytes, which are the low ones, reversed.
  const bool big_endian = key_.big_endian || key_.type == KeyType::bytes;
  const auto swap_shift = static_cast<int>(64 - 8 * field_bytes_);
  // Copies, since to the compiler stores of bytes could change the members.
  const std::size_t record_bytes = record_bytes_, field_bytes = field_bytes_;
  const std::size_t offset = key_.offset, value_bytes = record_bytes_ - field_bytes_;
  const Rest rest = rest_;
  for (std::uint64_t record = first; std::uint64_t field : fields) {
    if (rest == Rest::record_number) {
      store_low_bytes(out + field_bytes, record, value_bytes);
    } else if (rest == Rest::random) {
      fill_random(~draw(record), out, record_bytes);
    }
    if (big_endian) field = __builtin_bswap64(field << swap_shift);
    store_low_bytes(out + offset, field, field_bytes);
    out += record_bytes;
    ++record;
  }
}

void DistributedRecords::fill(std::uint64_t first, std::size_t count, std::byte* out) const {
  std::array<std::uint64_t, 512> fields;
  for (std::size_t done = 0; done < count;) {
    const std::size_t batch = std::min(fields.size(), count - done);
    make_fields(first + done, std::span(fields).first(batch));
    store_records(first + done, std::span(fields).first(batch), out + done * record_bytes_);
    done += batch;
  }
}

void parse_distribution(std::string_view text, GenerateOptions& options) {
  constexpr std::array<std::pair<std::string_view, Distribution>, 8> kNames{
      {{"uniform", Distribution::uniform},
       {"normal", Distribution::normal},
       {"zipf", Distribution::zipf},
       {"sorted", Distribution::sorted},
       {"reverse", Distribution::reverse},
       {"nearly-sorted", Distribution::nearly_sorted},
       {"few-distinct", Distribution::few_distinct},
       {"constant", Distribution::constant}}};
  for (const auto& [name, distribution] : kNames) {
    if (text != name) continue;
    options.distribution = distribution;
    return;
  }
  if (!text.starts_with("zipf:")) {
    throw Error(ErrorCode::usage,
                "unknown distribution '" + std::string(text) +
                    "': use uniform, normal, zipf:THETA, sorted, reverse, nearly-sorted, "
                    "few-distinct or constant");
  }
  const std::string_view number = text.substr(5);
  double theta = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), theta);
  const bool whole = error == std::errc{} && end == number.data() + number.size();
  if (!whole || !(theta >= 0 && theta <= kMaxZipfTheta)) {
    throw Error(ErrorCode::usage, "invalid distribution '" + std::string(text) +
                                      "': THETA of zipf:THETA is a number from 0 to 16");
  }
  options.distribution = Distribution::zipf;
  options.zipf_theta = theta;
}

}  // namespace xxl
