// The random numbers are a linear congruential generator modulo 2^128, X(n+1) = a X(n) + c with
// X(0) = 0. Record n begins with X(n+1), and can be made without the ones before it because
// X(n) is a linear function that squaring composes in 128 steps (jump()).
//
// A binary record has ten pieces of 10 bytes; piece j is the top of X(n+1+j), XORed with a constant
// for j > 0. So X(i) is piece 0 of record i-1, piece 1 of record i-2 and so on, one step of the
// generator makes one record, and the loop below goes over the numbers:
//
//   record n    | X(n+1) | X(n+2) | X(n+3) | ...
//   record n+1           | X(n+2) | X(n+3) | ...     each at its own 10 bytes
#include "testdata/gensort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace xxl {
namespace {

static_assert(std::endian::native == std::endian::little);

using U128 = RecordNumber;

constexpr U128 u128(std::uint64_t high, std::uint64_t low) {
  return (static_cast<U128>(high) << 64) | low;
}

constexpr U128 kMultiplier = u128(0x2360ed051fc65da4, 0x4385df649fccf645);
constexpr U128 kIncrement = u128(0x4a696d4772617952, 0x4950202020202001);

std::uint64_t high_half(U128 x) {
  return static_cast<std::uint64_t>(x >> 64);
}

std::uint64_t low_half(U128 x) {
  return static_cast<std::uint64_t>(x);
}

U128 next(U128 x) {
  return x * kMultiplier + kIncrement;
}

// X(n): the generator applied n times to 0.
U128 jump(RecordNumber n) {
  U128 x = 0;
  U128 a = kMultiplier, c = kIncrement;  // x -> a x + c is 2^i steps
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) x = x * a + c;
    c = (a + 1) * c;
    a *= a;
  }
  return x;
}

// Skewed keys begin like the entry for the bit length of the record number. 6 bytes each.
struct SkewPrefix {
  std::uint64_t binary;
  std::uint64_t ascii;
};
constexpr unsigned kSkewBits = 48;
constexpr unsigned kSkewBytes = 6;

// clang-format off
constexpr std::array<SkewPrefix, 65> kSkewPrefixes{{
    {0x4a696d477261, 0x417366414748},  // 0
    {0x95e0e48262b3, 0x7e734864306a},  // 1
    {0x45979353dbed, 0x75495e45596d},  // 2
    {0x882a02c31536, 0x51294a4e2952},  // 3
    {0x5c90ab38ae52, 0x6f34466f426b},  // 4
    {0x72dc0ca51e33, 0x2a7d2d577a31},  // 5
    {0x10431af6a0d8, 0x30667373787d},  // 6
    {0x5efc4abfaca2, 0x6d7a3456434e},  // 7
    {0x44f78c8b40bf, 0x6d792b3d3572},  // 8
    {0x84c0992f3b94, 0x3548415c7a25},  // 9
    {0xb3e9689de16b, 0x60506b58513c},  // 10
    {0xf8f64263fd0b, 0x474c536e6c6d},  // 11
    {0xda7a45a182de, 0x7377427a5123},  // 12
    {0x9b6b4825e251, 0x3953433c7a20},  // 13
    {0xdc682a00647e, 0x6f377e647273},  // 14
    {0xf25bd15439d1, 0x4b7e2571345d},  // 15
    {0xf2fa42ed1872, 0x676a3c6d3553},  // 16
    {0x6a59451be8d0, 0x267e3243687b},  // 17
    {0x2729b9771471, 0x425d617a277e},  // 18
    {0x879b2fb7bb35, 0x2c324b2c444b},  // 19
    {0x68d0cc3c1999, 0x7d5b763e7a79},  // 20
    {0x27d80879d79e, 0x6b5872475e65},  // 21
    {0xb0795011b782, 0x76255e52475e},  // 22
    {0x464fb84ab848, 0x7669403e386a},  // 23
    {0x21f03ee8ac41, 0x7d6441372a3c},  // 24
    {0xe7961c0d827f, 0x3e59244b6329},  // 25
    {0x84d904457a61, 0x75463f543b2a},  // 26
    {0x5359d35da884, 0x7e252e40402c},  // 27
    {0x4e385466525c, 0x4a5072414b63},  // 28
    {0x870fa6459011, 0x2a69406c4633},  // 29
    {0xff00463adfc8, 0x3955483e2546},  // 30
    {0x89ca67c29c93, 0x2d5e317e3d61},  // 31
    {0x755090c0177d, 0x2e5c4b715426},  // 32
    {0xeb4d81a5c9ea, 0x395274735061},  // 33
    {0x8a8568b3086f, 0x4671797e5d4f},  // 34
    {0x5da69a3d8667, 0x576a2d253f65},  // 35
    {0x6a974359eaab, 0x52765d51486f},  // 36
    {0x63b6044b8e78, 0x312065216f67},  // 37
    {0x33414912cb67, 0x4e2c676b3e33},  // 38
    {0x226df2b79c9b, 0x732e3732592e},  // 39
    {0x1e58396c599a, 0x6a2a30606763},  // 40
    {0x4d676091dcfe, 0x522b53683d4b},  // 41
    {0xc98f259b150d, 0x785d775d3d44},  // 42
    {0xa827dc9aff7e, 0x6d615521556f},  // 43
    {0x0696c9a1ba3b, 0x736d4e246920},  // 44
    {0x6d16e338d777, 0x547d23206039},  // 45
    {0xac35a43ba662, 0x47326f4d5648},  // 46
    {0x7ee1e4007163, 0x28747631273e},  // 47
    {0xa16b6fa9f1ea, 0x5245255a7b6f},  // 48
    {0x2cb7a1bb9362, 0x27253a59593f},  // 49
    {0x2f4b08267ce7, 0x4e284a754725},  // 50
    {0x86d192c54184, 0x6045242c7852},  // 51
    {0xf6e4143fdeaa, 0x6a7a7524466e},  // 52
    {0x458369e83cb9, 0x7c7861504f5c},  // 53
    {0x6c15f70f8176, 0x474355346766},  // 54
    {0xc0b487026b7f, 0x4a5539733033},  // 55
    {0xae9031f87d14, 0x444076392222},  // 56
    {0x6b25dc59e09e, 0x4f6666423828},  // 57
    {0x88382362424b, 0x2d5f29205227},  // 58
    {0xafb96f95d32b, 0x277a34507c6e},  // 59
    {0xc1d4fcf577db, 0x5b214e627826},  // 60
    {0xc68d66d18453, 0x703f225c5c36},  // 61
    {0x74fe19dc5268, 0x2b32415e7850},  // 62
    {0x8b6ae036713b, 0x2d63754a7679},  // 63
    {0x33d5b5b15c70, 0x69785e543c53},  // 64
}};
// clang-format on

const SkewPrefix& skew_prefix(std::uint64_t record) {
  return kSkewPrefixes[static_cast<std::size_t>(std::bit_width(record))];
}

constexpr std::size_t kPieces = 10;
constexpr std::size_t kPieceBytes = 10;

// Ten bytes of a binary record as two numbers, to be stored big-endian.
struct TenBytes {
  std::uint64_t first_8;
  std::uint16_t last_2;
};

constexpr std::array<TenBytes, kPieces> kPieceMasks{{{0, 0},
                                                     {0xF0E8E4E2E1D8D4D2, 0xD1CC},
                                                     {0xCAC9C6C5C3B8B4B2, 0xB1AC},
                                                     {0xAAA9A6A5A39C9A99, 0x9695},
                                                     {0x938E8D8B87787472, 0x716C},
                                                     {0x6A696665635C5A59, 0x5655},
                                                     {0x534E4D4B473C3A39, 0x3635},
                                                     {0x332E2D2B271E1D1B, 0x170F},
                                                     {0xC8C4C2C198949291, 0x8CE0},
                                                     {0x170F332E2D2B271E, 0x1D1B}}};

void store_piece(std::byte* out, TenBytes piece) {
  const std::uint64_t first_8 = __builtin_bswap64(piece.first_8);
  const std::uint16_t last_2 = __builtin_bswap16(piece.last_2);
  std::memcpy(out, &first_8, sizeof first_8);
  std::memcpy(out + sizeof first_8, &last_2, sizeof last_2);
}

// The random number says how many bits of the key are replaced; a quarter of the time, none.
std::uint64_t skew_binary_key(std::uint64_t key, U128 random, std::uint64_t record) {
  const unsigned bits = static_cast<unsigned>(low_half(random) >> 32) & 63;
  if (bits == 0 || bits > kSkewBits) return key;
  const std::uint64_t replaced = ~std::uint64_t{0} << (64 - bits);
  return (key & ~replaced) | ((skew_prefix(record).binary << (64 - kSkewBits)) & replaced);
}

void make_binary_records(bool skewed, RecordNumber first, std::size_t count, std::byte* out) {
  U128 x = jump(first + 1);
  for (std::size_t i = 0; i < count + kPieces - 1; ++i, x = next(x)) {
    const TenBytes top{high_half(x), static_cast<std::uint16_t>(low_half(x) >> 48)};
    const std::size_t first_piece = i < count ? 0 : i - count + 1;
    const std::size_t last_piece = std::min(i, kPieces - 1);
    for (std::size_t j = first_piece; j <= last_piece; ++j) {
      const TenBytes& mask = kPieceMasks[j];
      store_piece(
          out + (i - j) * kGensortRecordBytes + j * kPieceBytes,
          {top.first_8 ^ mask.first_8, static_cast<std::uint16_t>(top.last_2 ^ mask.last_2)});
    }
    if (skewed && i < count) {
      store_piece(out + i * kGensortRecordBytes,
                  {skew_binary_key(top.first_8, x, low_half(first + i)), top.last_2});
    }
  }
}

char hex_digit(std::uint64_t value) {
  return "0123456789ABCDEF"[value & 15];
}

// `digits` printable characters (base 95, least significant first) of `value`.
char* put_base_95(char* out, std::uint64_t value, int digits) {
  for (; digits > 0; --digits, value /= 95) *out++ = static_cast<char>(' ' + value % 95);
  return out;
}

char* put_spaces(char* out) {
  *out++ = ' ';
  *out++ = ' ';
  return out;
}

void make_ascii_record(bool skewed, RecordNumber record, U128 random, char* out) {
  const std::uint64_t low = low_half(random);
  char* place = put_base_95(out, high_half(random), 8);
  place = put_base_95(place, low, 2);
  if (const unsigned bytes = static_cast<unsigned>(low >> 32) & 7; skewed && bytes <= kSkewBytes) {
    const std::uint64_t prefix = skew_prefix(low_half(record)).ascii;
    for (unsigned i = 0; i < bytes; ++i) {
      out[i] = static_cast<char>(prefix >> (8 * (kSkewBytes - 1 - i)));
    }
  }
  place = put_spaces(place);
  for (int shift = 124; shift >= 0; shift -= 4) *place++ = hex_digit(low_half(record >> shift));
  place = put_spaces(place);
  for (int shift = 48; shift >= 0; shift -= 4) {
    std::memset(place, hex_digit(low >> shift), 4);
    place += 4;
  }
  *place++ = '\r';
  *place++ = '\n';
}

void make_ascii_records(bool skewed, RecordNumber first, std::size_t count, std::byte* out) {
  U128 x = jump(first + 1);
  for (std::size_t i = 0; i < count; ++i, x = next(x)) {
    make_ascii_record(skewed, first + i, x, reinterpret_cast<char*>(out + i * kGensortRecordBytes));
  }
}

}  // namespace

void make_gensort_records(GensortKind kind, RecordNumber first, std::size_t count, std::byte* out) {
  if (kind.ascii) {
    make_ascii_records(kind.skewed, first, count, out);
  } else {
    make_binary_records(kind.skewed, first, count, out);
  }
}

}  // namespace xxl
