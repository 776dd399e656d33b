#include "record/record_fold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace xxl {
namespace {

bool is_float(const KeyField& field) {
  return field.type == KeyType::f32 || field.type == KeyType::f64;
}

bool is_signed(const KeyField& field) {
  return field.type == KeyType::i8 || field.type == KeyType::i16 || field.type == KeyType::i32 ||
         field.type == KeyType::i64;
}

std::uint64_t load_bits(const KeyField& field, const std::byte* record) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, record + field.offset, field.length);
  return field.big_endian ? __builtin_bswap64(bits) >> (64 - 8 * field.length) : bits;
}

void store_bits(const KeyField& field, std::uint64_t bits, std::byte* record) {
  if (field.big_endian) bits = __builtin_bswap64(bits) >> (64 - 8 * field.length);
  std::memcpy(record + field.offset, &bits, field.length);
}

__int128 integer_of(const KeyField& field, const std::byte* record) {
  const std::uint64_t bits = load_bits(field, record);
  if (!is_signed(field)) return bits;
  const auto unused = static_cast<int>(64 - 8 * field.length);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

double real_of(const KeyField& field, const std::byte* record) {
  const std::uint64_t bits = load_bits(field, record);
  if (field.type == KeyType::f64) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

bool holds(const KeyField& field, __int128 sum) {
  const auto bits = static_cast<int>(8 * field.length);
  if (!is_signed(field)) return sum >> bits == 0;
  const __int128 limit = __int128{1} << (bits - 1);
  return sum >= -limit && sum < limit;
}

bool overlap(const KeyField& a, const KeyField& b) {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

// The value of a field, for people.
std::string value_text(const KeyField& field, const std::byte* record) {
  if (field.type != KeyType::bytes) {
    if (is_float(field)) {
      char text[32];
      std::snprintf(text, sizeof text, "%.17g", real_of(field, record));
      return text;
    }
    const __int128 value = integer_of(field, record);
    return is_signed(field) ? std::to_string(static_cast<std::int64_t>(value))
                            : std::to_string(static_cast<std::uint64_t>(value));
  }
  constexpr std::size_t kMostBytes = 16;
  std::string text = "0x";
  for (std::size_t i = 0; i < std::min(field.length, kMostBytes); ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(record[field.offset + i]));
    text += digits;
  }
  return field.length > kMostBytes ? text + "..." : text;
}

}  // namespace

KeyField parse_sum_field(std::string_view spec, const RecordFormat& format,
                         const RecordFold& fold) {
  const KeyField field = parse_field({"--sum", spec, "OFFSET:TYPE", "field"}, spec, format);
  const auto refuse = [&](const char* why) {
    throw Error(ErrorCode::usage, "invalid --sum '" + std::string(spec) + "': " + why);
  };
  if (field.type == KeyType::bytes) refuse("bytes are no number");
  const auto overlaps = [&](const KeyField& other) { return overlap(field, other); };
  if (std::any_of(format.key.begin(), format.key.end(), overlaps)) {
    refuse("these bytes are of the key");
  }
  if (std::any_of(fold.sums.begin(), fold.sums.end(), overlaps)) {
    refuse("these bytes are of another sum");
  }
  return field;
}

RecordFormat folded_format(RecordFormat format, const RecordFold& fold) {
  if (fold.count) format.record_bytes += sizeof(std::uint64_t);
  return format;
}

void RecordGroup::begin(const std::byte* record) {
  record_.assign(record, record + rules_->format.record_bytes);
  count_ = count_in(record);
  is_summed_ = false;
}

std::uint64_t RecordGroup::count_in(const std::byte* record) const {
  if (!rules_->fold.count || !rules_->is_again) return 1;
  std::uint64_t count;
  std::memcpy(&count, record + rules_->format.record_bytes, sizeof count);
  return count;
}

void RecordGroup::sum_up() {
  if (is_summed_) return;
  is_summed_ = true;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const KeyField& field = rules_->fold.sums[i];
    sums_[i] = {};
    if (is_float(field)) {
      sums_[i].real.add(real_of(field, record_.data()));
    } else {
      sums_[i].integer = integer_of(field, record_.data());
    }
  }
}

// `integer_of(i)`: what is added to the i-th sum, of integers; `add_real(i)` adds to one of
// floating-point numbers.
template <class IntegerOf, class AddReal>
bool RecordGroup::add(std::uint64_t count, IntegerOf&& integer_of, AddReal&& add_real) {
  sum_up();
  const std::vector<KeyField>& fields = rules_->fold.sums;
  for (std::size_t i = 0; !rules_->is_whole && i < fields.size(); ++i) {
    if (is_float(fields[i]) || !holds(fields[i], sums_[i].integer + integer_of(i))) return false;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (is_float(fields[i])) {
      add_real(i);
    } else {
      sums_[i].integer += integer_of(i);
    }
  }
  count_ += count;
  return true;
}

bool RecordGroup::add(const std::byte* record, std::uint64_t count) {
  const std::vector<KeyField>& fields = rules_->fold.sums;
  return add(
      count, [&](std::size_t i) { return integer_of(fields[i], record); },
      [&](std::size_t i) { sums_[i].real.add(real_of(fields[i], record)); });
}

bool RecordGroup::add(const RecordGroup& other) {
  if (!other.is_summed_) return add(other.record_.data(), other.count_);
  return add(
      other.count_, [&](std::size_t i) { return other.sums_[i].integer; },
      [&](std::size_t i) { sums_[i].real.add(other.sums_[i].real); });
}

void RecordGroup::write(std::byte* out) const {
  std::memcpy(out, record_.data(), record_.size());
  for (std::size_t i = 0; is_summed_ && i < sums_.size(); ++i) {
    write_sum(rules_->fold.sums[i], sums_[i], out);
  }
  if (rules_->fold.count) std::memcpy(out + record_.size(), &count_, sizeof count_);
}

void RecordGroup::write_sum(const KeyField& field, const Sum& sum, std::byte* out) const {
  if (!is_float(field)) {
    if (!holds(field, sum.integer)) refuse(field);
    return store_bits(field, static_cast<std::uint64_t>(sum.integer), out);
  }
  std::uint64_t bits;
  bool is_finite;
  if (field.type == KeyType::f64) {
    const double value = sum.real.to_double();
    bits = std::bit_cast<std::uint64_t>(value);
    is_finite = std::isfinite(value);
  } else {
    const float value = sum.real.to_float();
    bits = std::bit_cast<std::uint32_t>(value);
    is_finite = std::isfinite(value);
  }
  if (!is_finite && !sum.real.is_special()) refuse(field);
  store_bits(field, bits, out);
}

void RecordGroup::refuse(const KeyField& field) const {
  std::string key;
  for (const KeyField& part : rules_->format.key) {
    key += (key.empty() ? "" : ", ") + value_text(part, record_.data());
  }
  throw Error(ErrorCode::bad_input, "--sum: the sum of the fields at byte " +
                                        std::to_string(field.offset) + " over the records of key " +
                                        key + " does not fit in " + std::to_string(field.length) +
                                        (field.length == 1 ? " byte" : " bytes"));
}

}  // namespace xxl
