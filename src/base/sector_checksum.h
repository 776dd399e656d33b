// A checksum of a file whose blocks may come in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace xxl {

// The sum of the XXH3 hashes (64 bits) of all sectors (kSectorBytes), each seeded with its number
// in the file; the last sector is filled up with zeros. Of several stretches of a file, add up the
// sums.
//
// `data`: from the start of sector `first_sector` on.
std::uint64_t sector_checksum(std::span<const std::byte> data, std::uint64_t first_sector);

}  // namespace xxl
