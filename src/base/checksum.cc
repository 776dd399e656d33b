#include "base/checksum.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/load.h"

namespace xxl {
namespace {

// Folds the 128-bit product of two numbers made from one 8-byte word: one multiplication, in which
// both halves of the word meet, as in wyhash and MUM. A changed word changes its hash, except with
// a chance of about 2^-64.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_word(std::uint64_t word) {
  return fold(word ^ 0x9e3779b97f4a7c15u, std::rotl(word, 32) ^ 0xd6e8feb86659fd93u);
}

inline std::uint64_t hash_words(std::uint64_t first, std::uint64_t second) {
  return fold(first ^ 0x9e3779b97f4a7c15u, second ^ 0xd6e8feb86659fd93u) +
         hash_word(first + std::rotl(second, 23));
}

}  // namespace

std::uint64_t block_checksum(std::span<const std::byte> data, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

std::uint64_t block_checksum(std::initializer_list<std::span<const std::byte>> parts) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  for (const auto part : parts) XXH3_64bits_update(&state, part.data(), part.size());
  return XXH3_64bits_digest(&state);
}

void add_records(MultisetHash& hash, const std::byte* records, std::size_t count,
                 std::size_t record_bytes) {
  std::uint64_t sum = 0;
  switch (record_bytes) {
    case 4:
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t record = load<std::uint32_t>(records + 4 * i);
        sum += hash_word(record | record << 32);
      }
      break;
    case 8:
      for (std::size_t i = 0; i < count; ++i) {
        sum += hash_word(load<std::uint64_t>(records + 8 * i));
      }
      break;
    case 16:
      for (std::size_t i = 0; i < count; ++i) {
        sum += hash_words(load<std::uint64_t>(records + 16 * i),
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

void add_record(MultisetHash& hash, std::string_view record) {
  ++hash.records;
  hash.sum += XXH3_64bits(record.data(), record.size());
}

}  // namespace xxl
