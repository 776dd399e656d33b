// Checksums: of a block (is it the one that was written?) and of a multiset of records (is the
// output a permutation of the input?).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace xxl {

// XXH3 over `data`.
std::uint64_t block_checksum(std::span<const std::byte> data, std::uint64_t seed = 0);

// Of data in several parts, concatenated.
std::uint64_t block_checksum(std::initializer_list<std::span<const std::byte>> parts);

// Order-independent summary of a multiset of records: their number and the sum of their hashes.
struct MultisetHash {
  std::uint64_t records = 0;
  std::uint64_t sum = 0;

  MultisetHash& operator+=(const MultisetHash& other) {
    records += other.records;
    sum += other.sum;
    return *this;
  }
  friend bool operator==(const MultisetHash&, const MultisetHash&) = default;
};

// Adds `count` consecutive records of `record_bytes` each at `records`.
void add_records(MultisetHash& hash, const std::byte* records, std::size_t count,
                 std::size_t record_bytes);

// Adds one record of any size.
void add_record(MultisetHash& hash, std::string_view record);

}  // namespace xxl
