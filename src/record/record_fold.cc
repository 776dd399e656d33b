#include "record/record_fold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "record/field_value.h"

namespace xxl {
namespace {

void store_bits(const KeyField& field, std::uint64_t bits, std::byte* record) {
  if (field.big_endian) bits = __builtin_bswap64(bits) >> (64 - 8 * field.length);
  std::memcpy(record + field.offset, &bits, field.length);
}

bool holds(const KeyField& field, __int128 sum) {
  const auto bits = static_cast<int>(8 * field.length);
  if (!is_signed(field)) return sum >> bits == 0;
  const __int128 limit = __int128{1} << (bits - 1);
  return sum >= -limit && sum < limit;
}

// The nearest integer, of two the even one.
__int128 divided(__int128 sum, std::uint64_t divisor) {
  __int128 quotient = sum / divisor, rest = sum % divisor;
  if (rest < 0) {
    --quotient;
    rest += divisor;
  }
  const __int128 twice = 2 * rest;
  return twice > divisor || (twice == divisor && quotient % 2 != 0) ? quotient + 1 : quotient;
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

FieldFold parse_field_fold(FoldKind kind, std::string_view spec, const RecordFormat& format,
                           const RecordFold& fold) {
  const std::string option = "--" + std::string(name_of(kind));
  KeyField field = parse_field({option, spec, "OFFSET:TYPE", "field"}, spec, format);
  const auto refuse = [&](const char* why) {
    throw Error(ErrorCode::usage, "invalid " + option + " '" + std::string(spec) + "': " + why);
  };
  if (kind == FoldKind::collect) refuse("records of a fixed size have no room for all values");
  if (is_of_sum(kind) && field.type == KeyType::bytes) refuse("bytes are not a number");
  const auto overlaps = [&](const KeyField& other) { return overlap(field, other); };
  if (std::any_of(format.key.begin(), format.key.end(), overlaps)) {
    refuse("these bytes belong to the key: use --key for other bytes, or aggregate others");
  }
  const auto overlaps_fold = [&](const FieldFold& other) { return overlaps(other.field); };
  if (std::any_of(fold.fields.begin(), fold.fields.end(), overlaps_fold)) {
    refuse("these bytes are of another fold");
  }
  field.descending = kind == FoldKind::max;
  RecordFormat order = format;
  order.key = {field};
  return {kind, field, KeyLayout(order)};
}

RecordFold parse_record_fold(std::span<const GivenFold> folds, bool count,
                             const RecordFormat& format) {
  RecordFold fold;
  for (const auto& [kind, field] : folds) {
    fold.fields.push_back(parse_field_fold(kind, field, format, fold));
  }
  fold.count = count;
  return fold;
}

RecordFormat folded_format(RecordFormat format, const RecordFold& fold) {
  if (fold.count) {
    format.record_bytes += sizeof(std::uint64_t);
    format.name = "fixed:" + std::to_string(format.record_bytes);
  }
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
    const auto& [kind, field, order] = rules_->fold.fields[i];
    if (!is_of_sum(kind)) continue;
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
bool RecordGroup::add(const std::byte* record, std::uint64_t count, IntegerOf&& integer_of,
                      AddReal&& add_real) {
  sum_up();
  const std::vector<FieldFold>& folds = rules_->fold.fields;
  for (std::size_t i = 0; !rules_->is_whole && i < folds.size(); ++i) {
    if (!is_of_sum(folds[i].kind)) continue;
    if (folds[i].kind == FoldKind::mean || is_float(folds[i].field)) return false;
    if (!holds(folds[i].field, sums_[i].integer + integer_of(i))) return false;
  }
  for (std::size_t i = 0; i < folds.size(); ++i) {
    const auto& [kind, field, order] = folds[i];
    if (is_of_sum(kind)) {
      if (is_float(field)) {
        add_real(i);
      } else {
        sums_[i].integer += integer_of(i);
      }
    } else if (kind == FoldKind::last ||
               (kind != FoldKind::first && order.compare(record, record_.data()) < 0)) {
      std::memcpy(record_.data() + field.offset, record + field.offset, field.length);
    }
  }
  count_ += count;
  return true;
}

bool RecordGroup::add(const std::byte* record, std::uint64_t count) {
  const std::vector<FieldFold>& folds = rules_->fold.fields;
  return add(
      record, count, [&](std::size_t i) { return integer_of(folds[i].field, record); },
      [&](std::size_t i) { sums_[i].real.add(real_of(folds[i].field, record)); });
}

bool RecordGroup::add(const RecordGroup& other) {
  if (!other.is_summed_) return add(other.record_.data(), other.count_);
  return add(
      other.record_.data(), other.count_, [&](std::size_t i) { return other.sums_[i].integer; },
      [&](std::size_t i) { sums_[i].real.add(other.sums_[i].real); });
}

void RecordGroup::write(std::byte* out) const {
  std::memcpy(out, record_.data(), record_.size());
  for (std::size_t i = 0; is_summed_ && i < sums_.size(); ++i) {
    const FieldFold& fold = rules_->fold.fields[i];
    if (is_of_sum(fold.kind)) write_sum(fold, sums_[i], out);
  }
  if (rules_->fold.count) std::memcpy(out + record_.size(), &count_, sizeof count_);
}

// A mean is of all records of the group: none of them was folded before.
void RecordGroup::write_sum(const FieldFold& fold, const Sum& sum, std::byte* out) const {
  const KeyField& field = fold.field;
  const std::uint64_t divisor = fold.kind == FoldKind::mean ? count_ : 1;
  if (!is_float(field)) {
    const __int128 value = divided(sum.integer, divisor);
    if (!holds(field, value)) refuse(field);
    return store_bits(field, static_cast<std::uint64_t>(value), out);
  }
  std::uint64_t bits;
  bool is_finite;
  if (field.type == KeyType::f64) {
    const double value = sum.real.to_double(divisor);
    bits = std::bit_cast<std::uint64_t>(value);
    is_finite = std::isfinite(value);
  } else {
    const float value = sum.real.to_float(divisor);
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
