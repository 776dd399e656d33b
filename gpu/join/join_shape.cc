#include "gpu/join/join_shape.h"

#include <algorithm>

#include "base/error.h"
#include "gpu/sort/chunk_geometry.h"

namespace xxl::gpu {
namespace {

// Some memory stays free: contexts grow, and others may need a little.
constexpr std::uint64_t kSpareBytes = std::uint64_t{512} << 20;

}  // namespace

RecordShape joinable_shape(const KeyLayout& layout) {
  if (layout.kind() == RecordKind::generic) {
    throw Error(ErrorCode::usage, "arrays are joined only by a number at the start of each record");
  }
  return ChunkFormat::of(layout).shape;
}

void check_same_keys(const RecordShape& r, const RecordShape& s) {
  if (r.item.key_bytes != s.item.key_bytes || r.transform.flip != s.transform.flip ||
      r.transform.is_float != s.transform.is_float) {
    throw Error(ErrorCode::usage, "the keys of joined arrays must be of one type and order");
  }
}

std::uint64_t usable_memory(const std::vector<Device*>& devices, std::uint64_t limit_bytes) {
  std::uint64_t memory = limit_bytes == 0 ? ~std::uint64_t{0} : limit_bytes;
  for (Device* device : devices) {
    const std::uint64_t free = device->info().free_bytes;
    memory = std::min(memory, free - std::min(free / 8, kSpareBytes));
  }
  return memory;
}

PinnedArrays::PinnedArrays(Device& device, std::initializer_list<std::span<const std::byte>> arrays)
    : device_(device) {
  for (const auto& array : arrays) {
    if (array.empty()) continue;
    arrays_.emplace_back(const_cast<std::byte*>(array.data()), array.size());
    device_.pin(arrays_.back());
  }
}

PinnedArrays::~PinnedArrays() {
  for (const auto& array : arrays_) device_.unpin(array);
}

}  // namespace xxl::gpu
