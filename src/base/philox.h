// Random numbers by number: each is a function of a key and of where it stands in the sequence, so
// that any of them is there at once, on any thread.
//
// Source: Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"
// (Philox4x64 of 10 rounds, which passes all of TestU01's BigCrush).
#pragma once

#include <array>
#include <cstdint>

namespace xxl {

using PhiloxKey = std::array<std::uint64_t, 2>;
using PhiloxBlock = std::array<std::uint64_t, 4>;

// 256 random bits: those of the sequence of `key` at `counter`.
inline PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) {
  constexpr unsigned kRounds = 10;
  constexpr std::uint64_t kMultipliers[] = {0xd2e7470ee14c6c93u, 0xca5a826395121157u};
  constexpr std::uint64_t kWeyl[] = {0x9e3779b97f4a7c15u, 0xbb67ae8584caa73bu};
  for (unsigned round = 0; round < kRounds; ++round) {
    const auto a = static_cast<unsigned __int128>(kMultipliers[0]) * counter[0];
    const auto b = static_cast<unsigned __int128>(kMultipliers[1]) * counter[2];
    counter = {
        static_cast<std::uint64_t>(b >> 64) ^ counter[1] ^ key[0], static_cast<std::uint64_t>(b),
        static_cast<std::uint64_t>(a >> 64) ^ counter[3] ^ key[1], static_cast<std::uint64_t>(a)};
    key[0] += kWeyl[0];
    key[1] += kWeyl[1];
  }
  return counter;
}

}  // namespace xxl
