// The bytes that a fuzz target is given, taken apart: choices from the front, text from the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace xxl::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  // A number below `limit` (at most 256); 0 when there are no bytes left.
  unsigned choose(unsigned limit) {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    return byte % limit;
  }
  // All up to `end`, which is dropped, or all there is.
  std::string_view take_until(char end) {
    const std::size_t size = rest_.find(end);
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size == rest_.npos ? rest_.size() : size + 1);
    return text;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Stops the program, for the fuzzer to see.
inline void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace xxl::fuzz
