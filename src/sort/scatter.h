// Copies records to the places of their buckets: the inner loop of dividing records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sort/segment.h"

namespace xxl {

namespace scatter_detail {

template <std::size_t kRecordBytes, class Index>
void scatter_of(const Segment& from, std::size_t record_bytes, const std::uint16_t* ids,
                Index* places, std::byte* to) {
  if constexpr (kRecordBytes != 0) record_bytes = kRecordBytes;
  const std::byte* record = from.records;
  for (std::size_t i = 0; i < from.count; ++i, record += record_bytes) {
    std::memcpy(to + std::size_t{places[ids[i]]++} * record_bytes, record, record_bytes);
  }
}

}  // namespace scatter_detail

// `ids`: the bucket of each record. `places`: of each bucket, the number of the record in `to` that
// the next one becomes; goes up with each.
template <class Index>
void scatter(const Segment& from, std::size_t record_bytes, const std::uint16_t* ids, Index* places,
             std::byte* to) {
  using namespace scatter_detail;
  switch (record_bytes) {
    case 4:
      return scatter_of<4>(from, 4, ids, places, to);
    case 8:
      return scatter_of<8>(from, 8, ids, places, to);
    case 16:
      return scatter_of<16>(from, 16, ids, places, to);
    case 100:
      return scatter_of<100>(from, 100, ids, places, to);
    default:
      return scatter_of<0>(from, record_bytes, ids, places, to);
  }
}

}  // namespace xxl
