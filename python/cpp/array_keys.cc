#include "array_keys.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/thread.h"
#include "base/units.h"
#include "errors.h"

namespace xxl::python {
namespace {

using ::xxl::detail::KeyPart;
using ::xxl::detail::KeyPartKind;

constexpr std::size_t kRecordsAtOnce = std::size_t{1} << 16;  // by a thread

template <class Unsigned>
constexpr Unsigned kSign = Unsigned(Unsigned{1} << (8 * sizeof(Unsigned) - 1));

// Floating-point numbers, by their bits. kNaNs: how many negative NaNs there are, which are the
// first in totalOrder, and one less than the place of negative infinity.
template <class Unsigned, int kFractionBits>
struct Float {
  using Bits = Unsigned;
  static constexpr Bits kNaNs = Bits((Bits{1} << kFractionBits) - 1);

  static Bits replaced(Bits bits) {
    const bool negative = (bits & kSign<Bits>) != 0;
    const Bits total_order = negative ? Bits(~bits) : Bits(bits | kSign<Bits>);
    return Bits(total_order - kNaNs);
  }
  static Bits put_back(Bits value) {
    const Bits total_order = Bits(value + kNaNs);
    const bool negative = (total_order & kSign<Bits>) == 0;
    return negative ? Bits(~total_order) : Bits(total_order & ~kSign<Bits>);
  }
  static bool is_misplaced(Bits bits) { return Bits(~bits) < kNaNs; }
};

// Integers, the least of which is the last.
struct Time {
  using Bits = std::uint64_t;

  static Bits replaced(Bits bits) { return (bits ^ kSign<Bits>)-1; }
  static Bits put_back(Bits value) { return (value + 1) ^ kSign<Bits>; }
  static bool is_misplaced(Bits bits) { return bits == kSign<Bits>; }
};

// Calls function(format) with that of the part; not for parts that the library has.
template <class Function>
void with_format(const ArrayKeyPart& part, Function function) {
  if (part.kind == "time") function(Time{});
  if (part.kind != "float") return;
  if (part.bytes == 2) function(Float<std::uint16_t, 10>{});
  if (part.bytes == 4) function(Float<std::uint32_t, 23>{});
  if (part.bytes == 8) function(Float<std::uint64_t, 52>{});
}

template <class Bits>
Bits bits_at(const std::byte* from) {
  Bits bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

// Calls function(first record, how many) for slices of `records`, by several threads.
template <class Byte, class Function>
void for_slices(std::span<Byte> records, std::size_t record_bytes, unsigned threads,
                Function function) {
  const std::size_t count = records.size() / record_bytes;
  run_numbered(threads, ceil_div(count, kRecordsAtOnce), [&](unsigned, std::size_t number) {
    const std::size_t first = number * kRecordsAtOnce;
    function(records.data() + first * record_bytes, std::min(kRecordsAtOnce, count - first));
  });
}

bool has_misplaced(const ArrayKeyPart& part, std::size_t record_bytes,
                   std::span<const std::byte> records, unsigned threads) {
  std::atomic<bool> found = false;
  with_format(part, [&]<class Format>(Format) {
    using Bits = typename Format::Bits;
    for_slices(records, record_bytes, threads, [&](const std::byte* record, std::size_t count) {
      if (found) return;
      bool any = false;
      for (const std::byte* at = record + part.offset; count > 0; --count, at += record_bytes) {
        any |= Format::is_misplaced(bits_at<Bits>(at));
      }
      if (any) found = true;
    });
  });
  return found;
}

bool overlap(const ArrayKeyPart& a, const ArrayKeyPart& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

KeyPart key_part(const ArrayKeyPart& part) {
  KeyPart result{.offset = part.offset, .bytes = part.bytes, .descending = part.descending};
  if (part.kind == "unsigned") result.kind = KeyPartKind::unsigned_integer;
  if (part.kind == "signed" || part.kind == "time") result.kind = KeyPartKind::signed_integer;
  if (part.kind == "float") result.kind = KeyPartKind::floating;
  return result;
}

}  // namespace

ReplacedKeys::ReplacedKeys(const std::vector<ArrayKeyPart>& parts, std::size_t record_bytes,
                           std::span<const std::byte> records, unsigned threads)
    : record_bytes_(record_bytes), threads_(threads) {
  for (const ArrayKeyPart& part : parts) {
    const auto is_same = [&part](const KeyPart& other) {
      return other.offset == part.offset && other.bytes == part.bytes;
    };
    // A field that is named again decides nothing.
    if (std::any_of(key_.begin(), key_.end(), is_same)) continue;
    key_.push_back(key_part(part));
    const bool half = part.kind == "float" && part.bytes == 2;
    if (!half && !has_misplaced(part, record_bytes, records, threads)) continue;
    key_.back().kind = KeyPartKind::unsigned_integer;
    replaced_.push_back(part);
  }
  for (const ArrayKeyPart& a : replaced_) {
    for (const ArrayKeyPart& b : parts) {
      if (overlap(a, b) && (a.offset != b.offset || a.bytes != b.bytes)) {
        throw_usage("fields that are sorted by overlap, and one has NaN or NaT, or is a float16");
      }
    }
  }
}

template <class Change>
void ReplacedKeys::change(std::span<std::byte> records, Change new_bits) const {
  for (const ArrayKeyPart& part : replaced_) {
    with_format(part, [&]<class Format>(Format format) {
      for_slices(records, record_bytes_, threads_, [&](std::byte* record, std::size_t count) {
        for (std::byte* at = record + part.offset; count > 0; --count, at += record_bytes_) {
          const auto bits = new_bits(format, bits_at<typename Format::Bits>(at));
          std::memcpy(at, &bits, sizeof bits);
        }
      });
    });
  }
}

void ReplacedKeys::replace(std::span<std::byte> records) const {
  change(records, [](auto format, auto bits) { return format.replaced(bits); });
}

void ReplacedKeys::put_back(std::span<std::byte> records) const {
  change(records, [](auto format, auto bits) { return format.put_back(bits); });
}

std::vector<KeyPart> key_parts(const std::vector<ArrayKeyPart>& parts) {
  std::vector<KeyPart> key;
  for (const ArrayKeyPart& part : parts) {
    if (part.kind == "float" && part.bytes == 2) {
      throw_usage("arrays are not joined by float16: make it a float32, by astype(numpy.float32)");
    }
    key.push_back(key_part(part));
  }
  return key;
}

}  // namespace xxl::python
