#include "gpu/array/het_sort.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl::gpu {
namespace {

// Copied out at once: a small part of a device's share of the array.
constexpr std::size_t kLeastSliceBytes = std::size_t{64} << 10;
constexpr std::size_t kMostSliceBytes = std::size_t{16} << 20;
constexpr std::size_t kSlicesOfChunk = 64;
constexpr std::uint64_t kMostChunks = 256;  // of a device: with more, processors alone are faster
constexpr std::size_t kSlots = 12;          // of a device
constexpr std::uint64_t kLeastSlices = 2;   // of a device, that are worth a round of the merge

}  // namespace

HetSorter::HetSorter(const std::vector<Device*>& devices, const KeyLayout& layout,
                     std::uint64_t most_bytes, std::uint64_t memory_bytes, unsigned threads,
                     TimeLine* time_line)
    : record_bytes_(layout.record_bytes()),
      format_(ChunkFormat::of(layout)),
      merge_(layout, threads, mailbox_, time_line) {
  const std::uint64_t share = ceil_div<std::uint64_t>(most_bytes, devices.size());
  // As large a chunk as fits: with more than one of a device, one leaves while the next arrives.
  ArraySortOptions options{.memory_bytes = memory_bytes, .chunks = 1};
  std::size_t slice_bytes = 0;
  for (std::uint64_t bytes = share;;
       bytes -= ceil_div<std::uint64_t>(bytes, 8), options.chunks = 2) {
    bytes = std::max<std::uint64_t>(bytes, record_bytes_);
    slice_bytes = aligned(std::max<std::size_t>(
        std::clamp<std::uint64_t>(bytes / kSlicesOfChunk, kLeastSliceBytes, kMostSliceBytes),
        record_bytes_));
    try {
      geometry_ = plan_array_sort(devices, 1, format_, bytes, slice_bytes, options);
      break;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space || bytes == record_bytes_ ||
          bytes < share / kMostChunks) {
        throw;
      }
    }
  }
  const CopyWays ways{{}, copying_threads(threads)};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Lane lane{.memory = SharedMemory(*devices[i], kSlots * slice_bytes),
              .engine = std::make_unique<ChunkEngine>(std::vector{devices[i]}, format_, geometry_,
                                                      MultiGpu::independent, mailbox_, time_line,
                                                      share_of(ways, i, devices.size())),
              .feed = nullptr};
    lane.feed = std::make_unique<ArrayFeed>(*lane.engine, geometry_, format_);
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      lane.slots.push_back(lane.memory.data() + slot * slice_bytes);
    }
    lanes_.push_back(std::move(lane));
  }
  plan(most_bytes / record_bytes_);
  // Of a smaller array less is stored, but for what rounding makes of it.
  if (stored_chunks_ > 0) {
    room_ = MemoryRegion((chunk_begin(stored_chunks_) + chunks_) * record_bytes_);
  }
}

std::uint64_t HetSorter::chunk_begin(std::size_t chunk) const {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(records_) * chunk / chunks_);
}

std::uint64_t HetSorter::chunk_records(std::size_t chunk) const {
  return chunk_begin(chunk + 1) - chunk_begin(chunk);
}

// Chunks of equal size, as few as can be, one of each group for each device; all groups but the
// last are stored.
void HetSorter::plan(std::uint64_t records) {
  records_ = records;
  const std::uint64_t most =
      geometry_.capacity(format_, static_cast<double>(record_bytes_)) / record_bytes_;
  XXL_CHECK(most > 0);
  const std::size_t devices = lanes_.size();
  const std::size_t groups =
      std::max<std::uint64_t>(1, ceil_div<std::uint64_t>(records, most * devices));
  chunks_ = groups * devices;
  stored_chunks_ = chunks_ - devices;
}

void HetSorter::begin(const SortedArray& array) {
  XXL_CHECK(array.from.size() == array.to.size() && array.from.size() % record_bytes_ == 0);
  array_ = array;
  plan(array.from.size() / record_bytes_);
  XXL_CHECK(chunk_begin(stored_chunks_) * record_bytes_ <= room_.size());
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.first_chunk += lane.chunks.size();
    lane.chunks.clear();
    lane.fed = lane.given = lane.slices_of = 0;
    for (std::size_t chunk = i; chunk < chunks_; chunk += lanes_.size()) {
      if (chunk_records(chunk) > 0) lane.chunks.push_back(chunk);
    }
  }
}

void HetSorter::sort(const SortedArray& array) {
  begin(array);
  std::vector<std::uint64_t> records;
  for (std::size_t chunk = 0; chunk < chunks_; ++chunk) records.push_back(chunk_records(chunk));
  merge_.begin(records, array.to.data());
  const std::uint64_t least = kLeastSlices * lanes_.size() * geometry_.slice_bytes / record_bytes_;
  for (;;) {
    bool waits = false;  // for a copy
    for (Lane& lane : lanes_) {
      feed(lane);
      drain(lane);
      waits = waits || lane.feed->copies() > 0 || !lane.landing.empty();
    }
    merge_.pump(waits ? least : 1);
    if (merge_.done()) return;
    mailbox_.wait_and_run();
  }
}

void HetSorter::feed(Lane& lane) {
  lane.feed->pump();
  while (lane.feed->wants_more() && lane.fed < lane.chunks.size()) {
    const std::size_t chunk = lane.chunks[lane.fed++];
    lane.feed->begin(array_.from.subspan(chunk_begin(chunk) * record_bytes_,
                                         chunk_records(chunk) * record_bytes_));
    lane.feed->pump();
  }
}

// Chunks that are stored go to their place in the room, others to slots, as far as there are some.
void HetSorter::drain(Lane& lane) {
  while (lane.given < lane.chunks.size()) {
    const std::size_t chunk = lane.chunks[lane.given];
    if (!is_stored(chunk) && lane.slots.empty()) return;
    const auto slice = lane.engine->next_slice();
    if (!slice) return;
    XXL_CHECK(slice->chunk == lane.first_chunk + lane.given);
    std::byte* to = nullptr;
    HostMerge::Holder holder;
    if (is_stored(chunk)) {
      to = room_.data() + (chunk_begin(chunk) + slice->first) * record_bytes_;
    } else {
      holder = take_slot(lane, to);
    }
    lane.landing.push_back({chunk, {to, slice->records}, std::move(holder)});
    lane.slices_of += slice->records;
    if (lane.slices_of == chunk_records(chunk)) {
      ++lane.given;
      lane.slices_of = 0;
    }
    Landing& under_way = lane.landing.back();  // a deque does not move what it holds
    lane.engine->copy_out(*slice, to, [this, &lane, &under_way] {
      under_way.here = true;
      land(lane);
    });
  }
}

// Copies end in any order; the merge gets records in theirs.
void HetSorter::land(Lane& lane) {
  while (!lane.landing.empty() && lane.landing.front().here) {
    Landing& landing = lane.landing.front();
    merge_.add(landing.chunk, landing.records, std::move(landing.holder));
    lane.landing.pop_front();
  }
}

HostMerge::Holder HetSorter::take_slot(Lane& lane, std::byte*& slot) {
  slot = lane.slots.back();
  lane.slots.pop_back();
  return {slot, [&lane, slot](void*) { lane.slots.push_back(slot); }};
}

}  // namespace xxl::gpu
