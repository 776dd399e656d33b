#include "base/sector_checksum.h"

#include <array>
#include <cstring>

#include "base/checksum.h"
#include "base/units.h"

namespace xxl {

std::uint64_t sector_checksum(std::span<const std::byte> data, std::uint64_t first_sector) {
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
