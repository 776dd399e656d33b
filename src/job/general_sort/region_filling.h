// How much of a region is filled with input, so that there is room for the items of its records,
// and for tags: as records move to the front, where each takes so many bytes more, the free bytes
// shrink to nothing.
//
//     |  free    | fox.cow.dog. |            |        before
//     | 0fox4cow8dog            | items |             after
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "job/general_sort/general_plan.h"

namespace xxl {

struct RegionFilling {
  std::size_t free_bytes = 0;  // at its start
  std::size_t data_bytes = 0;  // of input, behind what the chunk before left
};

// Records that were found so far, in bytes of the input.
struct SeenRecords {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

// `tag_growth`: by how many bytes a record grows if it gets a tag, for which there must be room
// before the first one in any case. `headroom` and `carried_bytes` as of GeneralReader.
RegionFilling fill_region(const GeneralGeometry& geometry, std::optional<std::size_t> tag_growth,
                          std::size_t headroom, std::size_t carried_bytes, SeenRecords seen);

}  // namespace xxl
