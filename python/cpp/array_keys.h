// Keys of NumPy's arrays whose order the library does not have: NumPy has NaN and NaT after all
// others, the library sorts floating-point numbers by totalOrder, with negative NaNs first, and
// knows nothing of NaT and of halves.
//
// Such keys are replaced, in their places, by unsigned numbers of the same order, and put back when
// the array is sorted. Most arrays have no negative NaN and no NaT, and stay as they are.
//
//   bits of a half     -NaN fc01  -inf fc00  -0 8000   +0 0000   +inf 7c00  +NaN 7c01
//   as totalOrder           03fe       03ff     7fff      8000        fc00       fc01
//   replaced                ffff       0000     7c00      7c01        f801       f802
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "xxl/order.h"

namespace xxl::python {

// A part of a key as Python says it; `kind`: "unsigned", "signed", "float" (of 2, 4 or 8 bytes),
// "time" (an integer, the least of which is NaT), or "bytes".
struct ArrayKeyPart {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::string kind;
  bool descending = false;
};

// What is replaced in records, and the key by which they are then sorted.
class ReplacedKeys {
 public:
  // By what is in `records`. Throws Error{usage} if parts that are replaced overlap with others.
  ReplacedKeys(const std::vector<ArrayKeyPart>& parts, std::size_t record_bytes,
               std::span<const std::byte> records, unsigned threads);

  bool any() const { return !replaced_.empty(); }
  const std::vector<::xxl::detail::KeyPart>& key() const { return key_; }
  // All records.
  void replace(std::span<std::byte> records) const;
  void put_back(std::span<std::byte> records) const;

 private:
  template <class Change>
  void change(std::span<std::byte> records, Change new_bits) const;

  std::size_t record_bytes_;
  unsigned threads_;
  std::vector<::xxl::detail::KeyPart> key_;
  std::vector<ArrayKeyPart> replaced_;
};

// As the library says it, for joins: equal bits are equal. Throws Error{usage} for halves.
std::vector<::xxl::detail::KeyPart> key_parts(const std::vector<ArrayKeyPart>& parts);

}  // namespace xxl::python
