// How the memory of a job is divided: slots, each a share of it within bounds, and the most threads
// for which all of them fit. Plans say what is too little; only refuse_memory() makes the message.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/least_memory.h"
#include "base/units.h"

namespace xxl {

// A part of the memory for one use.
struct MemorySlot {
  std::uint64_t share;   // of the memory: one share-th
  std::uint64_t least;   // in bytes
  std::uint64_t wanted;  // in bytes: more is of no use

  constexpr std::size_t of(std::uint64_t memory) const {
    return static_cast<std::size_t>(std::clamp(memory / share, least, wanted));
  }
  constexpr std::size_t power_of_two(std::uint64_t memory) const {
    return static_cast<std::size_t>(std::clamp(std::bit_floor(memory / share), least, wanted));
  }
};

// What slots leave of a region of memory.
class MemoryLeft {
 public:
  explicit MemoryLeft(std::uint64_t bytes) : left_(bytes) {}

  // A slot of whole sectors.
  void take(std::uint64_t bytes) {
    bytes = round_up<std::uint64_t>(bytes, kSectorBytes);
    fits_ &= bytes <= left_;
    left_ -= std::min(bytes, left_);
  }
  bool fits() const { return fits_; }  // all that was taken
  std::size_t bytes() const { return static_cast<std::size_t>(left_); }

 private:
  std::uint64_t left_;
  bool fits_ = true;
};

// The first plan that there is for `threads`, half of them, and so on: fewer threads have more
// memory each. `plan(threads)` gives an optional.
template <class Plan>
auto with_most_threads(unsigned threads, Plan&& plan) {
  auto planned = plan(threads);
  while (!planned && threads > 1) planned = plan(threads /= 2);
  return planned;
}

// Throws Error{no_space}: `too_small` says what the memory `given` is too small for.
// `accepts(bytes)` says whether that much would do, for the least advice.
template <class Accepts>
[[noreturn]] void refuse_memory(std::uint64_t given, const std::string& too_small,
                                Accepts&& accepts) {
  throw Error(ErrorCode::no_space,
              too_small + ": " + memory_advice(least_memory(given + 1, accepts)));
}

}  // namespace xxl
