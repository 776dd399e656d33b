// A GPU, or its simulation in tests.
//
// Device gives memory and streams; a Stream has the operations of which sorting and joining are
// made. They are done in order; finish() waits for them. A stream is used by the one thread that
// owns it (stream_thread.h), so that code that orchestrates several devices (chunk_engine.h) is
// plain C++ that sees tasks end, the same for CUDA (cuda_device.h) and for devices that are
// simulated in host memory (simulated_device.h).
//
// Memory of a device is handed around as std::byte*. The host never follows such a pointer, but
// other devices may, once they are peers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "gpu/device/device_hash_table.h"
#include "gpu/device/key_view.h"
#include "gpu/device/match.h"
#include "record/key_layout.h"

namespace xxl::gpu {

// All areas in memory of a device begin at multiples of this, as that memory itself does.
inline constexpr std::size_t kAreaAlignment = 256;
inline std::size_t aligned(std::size_t bytes) {
  return round_up(bytes, kAreaAlignment);
}

// Sizes of an item's key word (4 or 8 bytes) and value (0, 4 or 8 bytes).
struct ItemShape {
  unsigned key_bytes = 8;
  unsigned value_bytes = 0;

  std::size_t bytes() const { return key_bytes + value_bytes; }
  // Bytes of memory for `count` items.
  std::size_t area_bytes(std::size_t count) const {
    return aligned(count * key_bytes) + aligned(count * value_bytes);
  }
  friend bool operator==(const ItemShape&, const ItemShape&) = default;
};

// `count` items: two arrays in device memory, the second one null if there are no values.
struct Items {
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  std::size_t count = 0;

  Items part(const ItemShape& shape, std::size_t first, std::size_t items) const {
    return {keys + first * shape.key_bytes,
            values == nullptr ? nullptr : values + first * shape.value_bytes, items};
  }
};

// How records become items and back.
struct RecordShape {
  ItemShape item;
  std::size_t record_bytes = 0;  // of text 0: it varies
  KeyTransform transform;        // of records that are items themselves
  bool by_address = false;       // the value is the record's address
};

// Consecutive sorted text, to be gathered at once.
struct GeneralSlice {
  std::size_t first = 0;  // item
  std::size_t count = 0;
  std::uint64_t bytes = 0;  // of its records and their terminators
};

struct DeviceInfo {
  int index = 0;  // as the driver numbers them
  std::string name;
  std::string bus;  // PCI address
  int numa_node = -1;
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  // now; other processes use the rest
};

// A failure is thrown as Error{device}, or as Error{no_space} if memory of the device is short; by
// the operation itself, or by one that follows. Operations that return results wait for them.
class Stream {
 public:
  virtual ~Stream() = default;

  // Waits until all operations so far are done.
  virtual void finish() = 0;

  virtual void copy_in(std::byte* device, const std::byte* host, std::size_t bytes) = 0;
  virtual void copy_out(std::byte* host, const std::byte* device, std::size_t bytes) = 0;
  // Between any two places in memory of devices that are peers, or of one.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

  // Items of the `items.count` records at `records`. For records by address, values are the
  // records' addresses; for others the values may be null: then they are left out.
  virtual void load(const RecordShape& shape, const KeyView& view, const std::byte* records,
                    const Items& items) = 0;
  // Sorts `from` into `to` by key words, stably; `from` is destroyed. `scratch`:
  // Device::sort_scratch_bytes.
  virtual void sort(const ItemShape& shape, const Items& from, const Items& to,
                    std::span<std::byte> scratch) = 0;
  // Of items by address that are sorted by their first words: sorts those that tie by the words
  // that follow, stably. `scratch`: Device::refine_scratch_bytes.
  virtual void refine(const KeyView& view, const Items& items, std::span<std::byte> scratch) = 0;
  // Cuts sorted sequences at ranks: entry [r * sequences.size() + s] says how many items of
  // sequence s are among the first ranks[r] of all. Where keys are equal, items of earlier
  // sequences come first. Sequences may be on peers. `view` is used where items are by address.
  virtual std::vector<std::uint64_t> cut(const ItemShape& shape, const KeyView& view,
                                         bool by_address, std::span<const Items> sequences,
                                         std::span<const std::uint64_t> ranks) = 0;
  // Concatenates `parts`, which may be on peers, at `to`.
  virtual void concatenate(const ItemShape& shape, std::span<const Items> parts,
                           const Items& to) = 0;
  // Writes the records of `items` consecutively to `records`; not for text.
  virtual void store(const RecordShape& shape, const Items& items, std::byte* records) = 0;
  // Divides entries of text into slices of at most `most_bytes`, with a byte after each record.
  // `offsets`: items.count + 1 words, which gather_text() needs. `scratch`: as for refine(). Throws
  // Error{no_space} if a record is longer than a slice may be.
  virtual std::vector<GeneralSlice> slice_text(const Items& items, std::uint64_t most_bytes,
                                               std::uint64_t* offsets,
                                               std::span<std::byte> scratch) = 0;
  // Writes the records of `slice`, each followed by `terminator`.
  virtual void gather_text(const Items& items, const GeneralSlice& slice,
                           const std::uint64_t* offsets, char terminator, std::byte* records) = 0;
  // Of items sorted by keys of `key_bytes`, each fewer than 2^32: for each item of `r` the range of
  // `s` with its key, unless `ranges` is null, and the totals of each tile of `r`, which may be in
  // shared memory. Values are ignored.
  virtual void match(unsigned key_bytes, const Items& r, const Items& s, MatchRange* ranges,
                     TileTotals* totals) = 0;
  // Writes rows of a part that has been matched. `tile_rows` (in host memory): the number of the
  // first row of each tile of R, and of the end.
  virtual void write_matches(const DeviceRows& rows, std::span<const std::uint64_t> tile_rows,
                             std::byte* to) = 0;

  // Joining by hash. A table is in memory of the device, except its far part.
  virtual void clear(std::byte* memory, std::size_t bytes) = 0;
  // Appends those of `count` records that are in the near part to `to`, where `selected` are
  // already. Counts all, but writes only as long as there are no more than `most`.
  virtual void select(const DeviceHashTable& table, const std::byte* records, std::size_t count,
                      std::byte* to, std::size_t most, std::uint64_t* selected) = 0;
  // Enters records [first, end) of the near part, all of which belong there, into its slots. Sets
  // `chains` if some key was already there.
  virtual void insert(const DeviceHashTable& table, std::size_t first, std::size_t end,
                      std::uint32_t* chains) = 0;
  // Looks up records: first is the front of the chain. Totals of each tile, without those of S;
  // they may be in shared memory.
  virtual void probe(const DeviceHashTable& table, const ProbeShape& shape,
                     const std::byte* records, std::size_t count, MatchRange* found,
                     TileTotals* totals) = 0;
  // Writes those rows of `count` records that have been looked up whose numbers are in
  // [first_row, first_row + rows). `tile_rows` (in host memory): the number of the first row of
  // each tile, and of the end.
  virtual void write_rows(const DeviceHashTable& table, const ProbeShape& shape,
                          const std::byte* records, std::size_t count, const MatchRange* found,
                          std::span<const std::uint64_t> tile_rows, std::uint64_t first_row,
                          std::uint64_t rows, std::byte* to) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceInfo info() const = 0;
  // Aligned to 256 bytes. Throws Error{no_space}.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory) = 0;
  // Memory of the host that all devices read and write directly, aligned likewise. Zero at first.
  // Throws Error{no_space}.
  virtual std::byte* allocate_shared(std::size_t bytes) = 0;
  virtual void free_shared(std::byte* memory) = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  // Memory that sort() needs for `count` items, refine() and slice_text() for as many.
  virtual std::size_t sort_scratch_bytes(const ItemShape& shape, std::size_t count) = 0;
  virtual std::size_t refine_scratch_bytes(std::size_t count) = 0;
  // Lets this device read and write memory of `peer`; false if it cannot.
  virtual bool make_peer(const Device& peer) = 0;
  // Makes transfers between `memory` of the host and all devices fast, until it is unpinned. Does
  // nothing if it cannot be pinned.
  virtual void pin(std::span<std::byte> memory) = 0;
  virtual void unpin(std::span<std::byte> memory) = 0;
  // True if `memory` of the host, which is pinned as a whole or not at all, has been pinned.
  virtual bool is_pinned(std::span<const std::byte> memory) = 0;
};

// Bytes that may be used on each of `devices`: what is free on all, less a reserve for contexts
// that grow and for other processes. At most `limit_bytes` if that is not 0.
inline std::uint64_t usable_memory(std::span<Device* const> devices, std::uint64_t limit_bytes) {
  constexpr std::uint64_t kSpareBytes = std::uint64_t{512} << 20;
  std::uint64_t memory = limit_bytes == 0 ? ~std::uint64_t{0} : limit_bytes;
  for (const Device* device : devices) {
    const std::uint64_t free = device->info().free_bytes;
    memory = std::min(memory, free - std::min(free / 8, kSpareBytes));
  }
  return memory;
}

// Memory of a device, or shared with it; the destructor frees it.
template <std::byte* (Device::*kAllocate)(std::size_t), void (Device::*kFree)(std::byte*)>
class OwnedMemory {
 public:
  OwnedMemory() = default;
  OwnedMemory(Device& device, std::size_t bytes)
      : device_(&device), data_((device.*kAllocate)(bytes)), bytes_(bytes) {}
  OwnedMemory(OwnedMemory&& other) noexcept { swap(other); }
  OwnedMemory& operator=(OwnedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~OwnedMemory() {
    if (data_ != nullptr) (device_->*kFree)(data_);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  void swap(OwnedMemory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};
using DeviceMemory = OwnedMemory<&Device::allocate, &Device::free>;
using SharedMemory = OwnedMemory<&Device::allocate_shared, &Device::free_shared>;

// Divides memory into areas, one after the other.
class MemoryCutter {
 public:
  explicit MemoryCutter(std::byte* at) : at_(at) {}

  std::byte* take(std::size_t bytes) { return std::exchange(at_, at_ + aligned(bytes)); }
  template <class T>
  T* take_array(std::size_t count) {
    return reinterpret_cast<T*>(take(count * sizeof(T)));
  }
  Items take_items(const ItemShape& shape, std::size_t count) {
    std::byte* const keys = take(count * shape.key_bytes);
    return {keys, shape.value_bytes == 0 ? nullptr : take(count * shape.value_bytes), count};
  }
  std::byte* end() const { return at_; }

 private:
  std::byte* at_;
};

}  // namespace xxl::gpu
