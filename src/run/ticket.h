// The turn of a piece of work: 0, 1, 2, ... A type of its own, as it stands beside numbers of bytes
// and of cells.
#pragma once

#include <cstdint>
#include <utility>

namespace xxl {

enum class Ticket : std::uint64_t {};

constexpr Ticket operator+(Ticket ticket, std::uint64_t later) {
  return Ticket{static_cast<std::uint64_t>(ticket) + later};
}
constexpr Ticket operator++(Ticket& ticket, int) {
  return std::exchange(ticket, ticket + 1);
}

}  // namespace xxl
