// Sorts text on GPUs: packs of entries go to the engine's pieces; sorted slices return to pinned
// host memory.
//
//     pack (host, pinned)   [words .. | offsets ..  | entries ............... ]
//                                |         | + place     |
//     piece (device)        [words ][ addresses ]   [ entries of several packs ]
//
// A worker packs entries (key_view.h) with their key words, and offsets in place of addresses:
// where in device memory the pack will lie is known only when its turn comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mailbox.h"
#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/device/topology.h"
#include "gpu/sort/chunk_engine.h"
#include "sort/general_sorter.h"

namespace xxl::gpu {

// How staging memory of the host is divided: a half each way.
struct GeneralStaging {
  std::size_t bytes = 0;  // of a pack, and of a slice
  std::size_t count = 0;  // of packs, and of slices

  // Of `bytes` for `threads` workers. Throws Error{no_space} if that is not enough to work with.
  static GeneralStaging plan(std::size_t bytes, unsigned threads);
};

// Average bytes of a record's entry in device memory, without items.
double text_entry_bytes(double record_bytes, double key_bytes);

class GpuGeneralSorter final : public GeneralSorter {
 public:
  // `geometry`: as ChunkGeometry::plan makes it for ChunkFormat::of_text and slices of
  // `staging.bytes`; `memory`: what `staging` divides; should be pinned. The devices, the
  // memory, `spec.keys`, `mailbox` and `time_line` (which may be null) must outlive the sorter.
  // Throws Error{no_space} if other processes have taken a device's memory.
  GpuGeneralSorter(const GeneralSorterSpec& spec, std::vector<Device*> devices,
                   const ChunkGeometry& geometry, MultiGpu strategy, const GeneralStaging& staging,
                   std::span<std::byte> memory, Mailbox& mailbox, TimeLine* time_line);
  ~GpuGeneralSorter() override;

  Pack* take_pack(std::size_t spare) override;
  std::optional<std::uint64_t> push(Pack* pack) override;
  void drop(Pack* pack) override;
  void seal() override;
  std::uint64_t sealed() const override { return sealed_; }
  std::optional<SortedSlice> next_slice() override;
  void release(const SortedSlice& slice) override;

  const ChunkEngine& engine() const { return engine_; }

 private:
  class EntryPack;
  // A slice on its way to the host, or there.
  struct Coming {
    SortedSlice slice;
    bool there = false;
  };

  bool open_piece();
  void close_piece();
  void fetch();

  const ChunkGeometry geometry_;
  const std::size_t slice_bytes_;
  std::vector<std::unique_ptr<EntryPack>> packs_;
  std::vector<EntryPack*> free_packs_;
  std::vector<std::byte*> slices_;
  std::vector<std::size_t> free_slices_;       // places in slices_
  ChunkEngine::DevicePiece* piece_ = nullptr;  // that is being filled
  std::size_t piece_items_ = 0;                // of it
  std::size_t piece_bytes_ = 0;
  std::uint64_t chunk_items_ = 0;           // of the chunk that is being filled
  std::uint64_t sealed_ = 0;                // chunks
  std::deque<std::uint64_t> records_left_;  // to come, of chunks that are sealed
  std::deque<std::unique_ptr<Coming>> coming_;
  ChunkEngine engine_;  // last: its threads end first
};

}  // namespace xxl::gpu
