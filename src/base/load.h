// Numbers at any address.
#pragma once

#include <cstddef>
#include <cstring>

namespace xxl {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace xxl
