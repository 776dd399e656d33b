// Bytes, wherever they come from.
#pragma once

#include <cstddef>
#include <span>

namespace xxl {

// Bytes that come one after the other.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `to`; returns fewer bytes only at the end. Throws Error.
  virtual std::size_t read(std::span<std::byte> to) = 0;
};

}  // namespace xxl
