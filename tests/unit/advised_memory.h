// The memory that a message advises.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace xxl {

// In bytes; 0, with a failure of the test, if there is none.
inline std::uint64_t advised_memory(const std::string& message) {
  constexpr std::string_view kAdvice = "give at least memory_bytes = ";
  const std::size_t at = message.find(kAdvice);
  EXPECT_NE(at, message.npos) << message;
  return at == message.npos ? 0 : std::stoull(message.substr(at + kAdvice.size()));
}

}  // namespace xxl
