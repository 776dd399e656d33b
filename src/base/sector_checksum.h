// A checksum of a file whose blocks may come in any order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/checksum.h"
#include "base/units.h"

namespace xxl {

// The sum of the XXH3 hashes (64 bits) of all sectors (kSectorBytes), each seeded with its number
// in the file; the last sector is filled up with zeros. Of several stretches of a file, add up the
// sums.
//
// `data`: from the start of sector `first_sector` on.
inline std::uint64_t sector_checksum(std::span<const std::byte> data, std::uint64_t first_sector) {
  std::uint64_t sum = 0;
  for (; data.size() >= kSectorBytes; data = data.subspan(kSectorBytes)) {
    sum += block_checksum(data.first(kSectorBytes), first_sector++);
  }
  if (data.empty()) return sum;
  std::array<std::byte, kSectorBytes> last{};
  std::memcpy(last.data(), data.data(), data.size());
  return sum + block_checksum(last, first_sector);
}

}  // namespace xxl
