#include "base/checksum.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace xxl {
namespace {

// A 64-bit finalizer (Stafford's mix 13, as in SplitMix64): a bijection, so two different 8-byte
// records never share a hash, and two multiplications, so it keeps up with memory.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class T>
inline T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

std::uint64_t block_checksum(std::span<const std::byte> data, std::uint64_t identity) {
  return XXH3_64bits_withSeed(data.data(), data.size(), identity);
}

void add_records(MultisetHash& hash, const std::byte* records, std::size_t count,
                 std::size_t record_bytes) {
  constexpr std::uint64_t kOffset = 0x9e3779b97f4a7c15u;
  std::uint64_t sum = 0;
  switch (record_bytes) {
    case 4:
      for (std::size_t i = 0; i < count; ++i)
        sum += mix(load<std::uint32_t>(records + 4 * i) + kOffset);
      break;
    case 8:
      for (std::size_t i = 0; i < count; ++i)
        sum += mix(load<std::uint64_t>(records + 8 * i) + kOffset);
      break;
    case 16:
      for (std::size_t i = 0; i < count; ++i) {
        sum += mix(mix(load<std::uint64_t>(records + 16 * i) + kOffset) +
                   load<std::uint64_t>(records + 16 * i + 8));
      }
      break;
    default:
      for (std::size_t i = 0; i < count; ++i) {
        sum += XXH3_64bits(records + record_bytes * i, record_bytes);
      }
  }
  hash.records += count;
  hash.sum += sum;
}

}  // namespace xxl
