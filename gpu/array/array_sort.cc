#include "gpu/array/array_sort.h"

#include <algorithm>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/units.h"

namespace xxl::gpu {
namespace {

void make_peers(const std::vector<Device*>& devices, const ArraySortOptions& options) {
  for (Device* device : devices) {
    for (Device* peer : devices) {
      if (options.strategy != MultiGpu::independent && device != peer &&
          !device->make_peer(*peer)) {
        throw Error(ErrorCode::usage,
                    "the GPUs cannot read each other's memory: sort independently");
      }
    }
    for (Device* idle : options.idle) {
      if (!idle->make_peer(*device) || !device->make_peer(*idle)) {
        throw Error(ErrorCode::usage, "an idle GPU cannot reach the memory of another one");
      }
    }
  }
}

}  // namespace

unsigned copying_threads(unsigned threads) {
  return threads != 0 ? threads : std::max(available_processors() / 2, 1u);
}

ChunkGeometry plan_array_sort(const std::vector<Device*>& devices, std::size_t sharing,
                              const ChunkFormat& format, std::uint64_t most_bytes,
                              std::size_t slice_bytes, const ArraySortOptions& options) {
  const std::uint64_t memory = usable_memory(devices, options.memory_bytes);
  const auto record_bytes = static_cast<double>(format.shape.record_bytes);
  const ChunkGeometry geometry =
      ChunkGeometry::plan(*devices.front(), sharing, format, record_bytes, memory, most_bytes,
                          slice_bytes, options.chunks);
  if (geometry.capacity(format, record_bytes) * sharing < most_bytes) {
    throw Error(ErrorCode::no_space, "the array does not fit into the memory of the GPUs: " +
                                         format_bytes(memory) + " of each are free or allowed");
  }
  return geometry;
}

ArraySorter::ArraySorter(std::vector<Device*> devices, const KeyLayout& layout,
                         std::uint64_t most_bytes, const ArraySortOptions& options)
    : record_bytes_(layout.record_bytes()), format_(ChunkFormat::of(layout)) {
  const bool alone = options.strategy == MultiGpu::independent;
  geometry_ = plan_array_sort(devices, alone ? 1 : devices.size(), format_, most_bytes, 0, options);
  make_peers(devices, options);
  const CopyWays ways{options.idle, copying_threads(options.threads)};
  const auto add = [&](std::vector<Device*> together, const CopyWays& theirs) {
    auto engine =
        std::make_unique<ChunkEngine>(std::move(together), format_, geometry_, options.strategy,
                                      mailbox_, options.time_line, theirs);
    auto feed = std::make_unique<ArrayFeed>(*engine, geometry_, format_);
    lanes_.push_back({std::move(engine), std::move(feed)});
  };
  if (!alone) add(devices, ways);
  for (std::size_t i = 0; alone && i < devices.size(); ++i) {
    add({devices[i]}, share_of(ways, i, devices.size()));
  }
}

void ArraySorter::sort(std::span<const SortedArray> arrays) {
  arrays_ = arrays;
  next_ = 0;
  records_left_ = 0;
  for (const SortedArray& array : arrays) {
    XXL_CHECK(array.from.size() == array.to.size() && array.from.size() % record_bytes_ == 0);
    records_left_ += array.from.size() / record_bytes_;
  }
  for (Lane& lane : lanes_) {
    lane.first_chunk += lane.arrays.size();
    lane.arrays.clear();
  }
  for (;;) {
    feed();
    std::size_t copies = 0;
    for (Lane& lane : lanes_) {
      drain(lane);
      copies += lane.feed->copies();
    }
    if (records_left_ == 0 && copies == 0) return;
    mailbox_.wait_and_run();
  }
}

// Arrays go to the engines by turns, each to one that has room for it.
void ArraySorter::feed() {
  for (bool begun = true; begun;) {
    begun = false;
    for (Lane& lane : lanes_) {
      lane.feed->pump();
      while (next_ < arrays_.size() && arrays_[next_].from.empty()) ++next_;
      if (next_ == arrays_.size() || !lane.feed->wants_more() || !lane.engine->can_begin_chunk()) {
        continue;
      }
      lane.arrays.push_back(next_);
      lane.feed->begin(arrays_[next_++].from);
      begun = true;
    }
  }
}

void ArraySorter::drain(Lane& lane) {
  while (const auto slice = lane.engine->any_slice()) {
    const std::size_t index = lane.arrays[slice->chunk - lane.first_chunk];
    std::byte* const to = arrays_[index].to.data() + slice->first * record_bytes_;
    lane.engine->copy_out(*slice, to,
                          [this, records = slice->records] { records_left_ -= records; });
  }
}

}  // namespace xxl::gpu
