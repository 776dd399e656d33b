#include "gpu/array/array_sort.h"

#include <algorithm>

#include "base/error.h"
#include "base/units.h"

namespace xxl::gpu {
namespace {

// Some memory stays free: contexts grow, and others may need a little.
constexpr std::uint64_t kSpareBytes = std::uint64_t{512} << 20;

ChunkGeometry plan(std::vector<Device*>& devices, const ChunkFormat& format,
                   std::uint64_t most_bytes, const ArraySortOptions& options) {
  std::uint64_t memory = ~std::uint64_t{0};
  for (Device* device : devices) {
    const std::uint64_t free = device->info().free_bytes;
    memory = std::min(memory, free - std::min(free / 8, kSpareBytes));
  }
  if (options.memory_bytes != 0) memory = std::min(memory, options.memory_bytes);
  const bool alone = options.strategy == MultiGpu::independent;
  const std::size_t sharing = alone ? 1 : devices.size();
  const ChunkGeometry geometry = ChunkGeometry::plan(*devices.front(), sharing, format,
                                                     static_cast<double>(format.shape.record_bytes),
                                                     memory, most_bytes, 0, options.chunks);
  const auto record_bytes = static_cast<double>(format.shape.record_bytes);
  if (geometry.capacity(format, record_bytes) * sharing < most_bytes) {
    throw Error(ErrorCode::no_space, "the array does not fit into the memory of the GPUs: " +
                                         format_bytes(memory) + " of each are free or allowed");
  }
  for (Device* device : devices) {
    for (Device* peer : devices) {
      if (!alone && device != peer && !device->make_peer(*peer)) {
        throw Error(ErrorCode::usage,
                    "the GPUs cannot read each other's memory: sort independently");
      }
    }
  }
  return geometry;
}

}  // namespace

ArraySorter::ArraySorter(std::vector<Device*> devices, const KeyLayout& layout,
                         std::uint64_t most_bytes, const ArraySortOptions& options)
    : record_bytes_(layout.record_bytes()),
      format_(ChunkFormat::of(layout)),
      geometry_(plan(devices, format_, most_bytes, options)),
      engine_(devices, format_, geometry_, options.strategy, mailbox_, options.time_line) {}

void ArraySorter::sort(std::span<const SortedArray> arrays) {
  arrays_ = arrays;
  feeding_ = 0;
  fed_ = 0;
  first_chunk_ = chunks_;
  records_left_ = 0;
  for (const SortedArray& array : arrays) {
    XXL_CHECK(array.from.size() == array.to.size() && array.from.size() % record_bytes_ == 0);
    records_left_ += array.from.size() / record_bytes_;
  }
  for (;;) {
    feed();
    drain();
    if (records_left_ == 0 && copies_in_ == 0) return;
    mailbox_.wait_and_run();
  }
}

void ArraySorter::feed() {
  while (feeding_ < arrays_.size()) {
    const std::span<const std::byte> from = arrays_[feeding_].from;
    if (fed_ == from.size()) {
      if (!from.empty()) {
        engine_.seal();
        ++chunks_;
      }
      ++feeding_;
      fed_ = 0;
      continue;
    }
    ChunkEngine::DevicePiece* const piece = engine_.open_piece();
    if (piece == nullptr) {
      XXL_CHECK(!engine_.chunk_is_full());
      return;
    }
    const std::size_t bytes = std::min(geometry_.piece_items * record_bytes_, from.size() - fed_);
    ++copies_in_;
    engine_.copy_in(*piece, piece->records, from.data() + fed_, bytes, [this] { --copies_in_; });
    engine_.close_piece(piece, bytes / record_bytes_, bytes);
    fed_ += bytes;
  }
}

void ArraySorter::drain() {
  while (const auto slice = engine_.any_slice()) {
    // Empty arrays have no chunk.
    std::uint64_t chunk = slice->chunk - first_chunk_;
    std::size_t index = 0;
    for (;; ++index) {
      if (arrays_[index].from.empty()) continue;
      if (chunk-- == 0) break;
    }
    std::byte* const to = arrays_[index].to.data() + slice->first * record_bytes_;
    engine_.copy_out(*slice, to, [this, records = slice->records] { records_left_ -= records; });
  }
}

}  // namespace xxl::gpu
