// The checksum of gensort and valsort: the sum of zlib's crc32 over each record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace xxl {

__extension__ using Sum128 = unsigned __int128;

// Sum of the CRCs (polynomial 0x04c11db7 reflected, as zlib's crc32) of `count` consecutive records
// of `record_bytes` each. count < 2^32, so that the sum fits.
std::uint64_t sum_record_crcs(const std::byte* records, std::size_t count,
                              std::size_t record_bytes);

// "1ea6370b955": a checksum as gensort and valsort print it.
std::string checksum_text(Sum128 checksum);

}  // namespace xxl
