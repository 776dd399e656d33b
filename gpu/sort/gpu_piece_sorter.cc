#include "gpu/sort/gpu_piece_sorter.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "gpu/sort/key_tables.h"

namespace xxl::gpu {

std::uint64_t GpuPieceSorter::memory_bytes(Device& device, const KeyLayout& layout,
                                           std::size_t capacity) {
  const ChunkFormat format = ChunkFormat::of(layout);
  // Records that are items are gathered where they arrived.
  const unsigned copies = format.shape.by_address ? 2 : 1;
  return copies * aligned(capacity * layout.record_bytes()) +
         2 * format.shape.item.area_bytes(capacity) +
         aligned(ChunkGeometry::scratch_bytes(device, format, capacity)) + kKeyTableBytes;
}

GpuPieceSorter::GpuPieceSorter(Device& device, const KeyLayout& layout, bool unique,
                               std::size_t capacity, std::span<std::byte> staging,
                               std::string track, TimeLine* time_line)
    : layout_(layout),
      unique_(unique),
      capacity_(capacity),
      track_(std::move(track)),
      time_line_(time_line),
      staged_(staging.data(), layout.record_bytes()),
      memory_(device, memory_bytes(device, layout, capacity)) {
  XXL_CHECK(staging.size() >= capacity * layout.record_bytes());
  const ChunkFormat format = ChunkFormat::of(layout);
  shape_ = format.shape;
  MemoryCutter areas(memory_.data());
  records_ = areas.take(capacity * layout.record_bytes());
  stored_ = shape_.by_address ? areas.take(capacity * layout.record_bytes()) : records_;
  loaded_ = areas.take_items(shape_.item, capacity);
  sorted_ = areas.take_items(shape_.item, capacity);
  const std::size_t scratch_bytes = ChunkGeometry::scratch_bytes(device, format, capacity);
  scratch_ = {areas.take(scratch_bytes), scratch_bytes};
  std::byte* const table = areas.take(kKeyTableBytes);
  XXL_CHECK(areas.end() == memory_.data() + memory_.size());
  stream_ = device.make_stream();
  view_ = upload_key_view(layout, table, *stream_);
}

void GpuPieceSorter::sort(std::span<const Segment> segments) {
  const auto start = TimeLine::now();
  const std::size_t count = gather(segments);
  const std::size_t bytes = count * layout_.record_bytes();
  const Items loaded = loaded_.part(shape_.item, 0, count);
  const Items sorted = sorted_.part(shape_.item, 0, count);
  stream_->copy_in(records_, staged_.data(), bytes);
  stream_->load(shape_, view_, records_, loaded);
  stream_->sort(shape_.item, loaded, sorted, scratch_);
  if (shape_.by_address) stream_->refine(view_, sorted, scratch_);
  stream_->store(shape_, sorted, stored_);
  stream_->copy_out(staged_.data(), stored_, bytes);
  stream_->finish();
  staged_.set(count);
  if (unique_) staged_.deduplicate(layout_);
  removed_ = staged_.removed();
  if (time_line_ != nullptr) {
    time_line_->add(track_, "merge piece", start, TimeLine::now(), bytes);
  }
}

// Returns the number of records.
std::size_t GpuPieceSorter::gather(std::span<const Segment> segments) const {
  std::size_t count = 0;
  for (const Segment& segment : segments) {
    XXL_CHECK(segment.count <= capacity_ - count);
    std::memcpy(staged_.data() + count * layout_.record_bytes(), segment.records,
                segment.count * layout_.record_bytes());
    count += segment.count;
  }
  return count;
}

}  // namespace xxl::gpu
