#include "job/general_sort/region_filling.h"

#include <algorithm>

#include "base/units.h"
#include "sort/string_sort.h"

namespace xxl {
namespace {

constexpr double kUnknownRecordBytes = 24;  // before any record has been seen
constexpr double kShorter = 0.95;           // than those before: records that may come
constexpr std::size_t kMostFreePart = 8;    // of a region

}  // namespace

RegionFilling fill_region(const GeneralGeometry& geometry, std::optional<std::size_t> tag_growth,
                          std::size_t headroom, std::size_t carried_bytes, SeenRecords seen) {
  const double record = seen.records == 0
                            ? kUnknownRecordBytes
                            : std::max(1.0, kShorter * static_cast<double>(seen.bytes) /
                                                static_cast<double>(seen.records));
  const std::size_t region = geometry.region_bytes;
  const std::size_t room = region - std::min(region, headroom + 2 * kSectorBytes);
  const auto growth = static_cast<double>(tag_growth.value_or(0));
  const double data = std::min({static_cast<double>(room) * record /
                                    (record + static_cast<double>(sizeof(StringItem)) + growth),
                                static_cast<double>(geometry.item_capacity) * record,
                                static_cast<double>(geometry.chunk_bytes)});
  RegionFilling filling;
  if (tag_growth) {
    // With less than it takes, which long records may leave, they get their tags part by part.
    const auto wanted = static_cast<std::size_t>(data / record * growth);
    const std::size_t most = region / kMostFreePart;
    const std::size_t free = carried_bytes > most ? 0 : std::min(wanted, most);
    filling.free_bytes = round_down(free + kSectorBytes, kSectorBytes);
  }
  // A long record may continue among short ones: then items may find no room here.
  const std::size_t rest = std::min(2 * carried_bytes, room - std::min(room, filling.free_bytes));
  filling.data_bytes =
      round_down(std::max({static_cast<std::size_t>(data), rest, kSectorBytes}), kSectorBytes);
  return filling;
}

}  // namespace xxl
