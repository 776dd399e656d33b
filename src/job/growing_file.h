// Reserves space for a file that grows, ahead of what is written.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/units.h"

namespace xxl {

// One thread at a time.
class GrowingFile {
 public:
  // Reserves [offset, offset + bytes); throws Error{no_space}.
  using Reserve = std::function<void(std::uint64_t offset, std::uint64_t bytes)>;

  static constexpr std::uint64_t kMaxStepBytes = 256 * kMiB;

  // `reserved`: what is reserved already. `most`: the file will not be larger. `most_step`: no more
  // is reserved ahead.
  explicit GrowingFile(Reserve reserve, std::uint64_t reserved = 0,
                       std::uint64_t most = ~std::uint64_t{0},
                       std::uint64_t most_step = kMaxStepBytes)
      : reserve_(std::move(reserve)),
        reserved_bytes_(reserved),
        most_bytes_(most),
        most_step_(most_step) {}

  // Makes sure that there is space for `end` bytes: in growing steps, or if a disk has no room for
  // one, just as much as is needed. Throws Error{no_space}.
  void reserve_up_to(std::uint64_t end);

 private:
  Reserve reserve_;
  std::uint64_t reserved_bytes_;
  std::uint64_t most_bytes_;
  std::uint64_t most_step_;
};

}  // namespace xxl
