// The sorter of run formation on GPUs: blocks of the reader go to the engine as they arrive; sorted
// slices return to pinned host memory, and leave from there as pieces.
//
// Each chunk of the engine is a run. The host only hashes records and copies them from the staging
// memory to the output's blocks (where `unique` also leaves out equal keys).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/time_line.h"
#include "base/workers.h"
#include "gpu/sort/chunk_engine.h"
#include "gpu/sort/staged_slice.h"
#include "sort/chunk_sorter.h"
#include "sort/piece_sorter.h"

namespace xxl::gpu {

class GpuChunkSorter final : public ChunkSorter {
 public:
  // All references must outlive the sorter, as must `staging`, which is cut into slices of
  // geometry.slice_bytes. Throws Error{no_space} if other processes have taken a device's memory.
  GpuChunkSorter(const KeyLayout& layout, bool unique, std::vector<Device*> devices,
                 const ChunkGeometry& geometry, MultiGpu strategy, std::span<std::byte> staging,
                 Workers& workers, Mailbox& mailbox, TimeLine* time_line);
  ~GpuChunkSorter() override;

  bool push(const Segment& records, std::function<void()> taken) override;
  void seal() override;
  std::optional<RunPiece> pull() override;
  bool finished() const override;
  bool may_be_several_runs() const override { return chunks_ > 1; }
  const MultisetHash& input_hash() const override { return input_hash_; }

  const ChunkEngine& engine() const { return engine_; }

 private:
  // A block on its way to the devices.
  struct Arrival {
    Segment records;
    std::size_t sent = 0;     // records
    std::size_t pending = 0;  // copies and the hashing
    std::function<void()> taken;
  };
  // A slice on its way to the host, or there.
  struct Coming {
    ChunkEngine::DeviceSlice slice;
    StagedSlice* slot;
    bool there = false;
  };

  void send();
  void ended(Arrival& arrival);
  void close_piece();
  void end_input();
  void fetch();

  const KeyLayout& layout_;
  const bool unique_;
  const std::size_t piece_records_;
  Workers& workers_;
  Mailbox& mailbox_;
  std::deque<std::unique_ptr<Arrival>> arrivals_;  // the last one may not be sent yet
  ChunkEngine::DevicePiece* piece_ = nullptr;      // that is being filled
  std::size_t piece_filled_ = 0;                   // records
  bool chunk_open_ = false;
  std::uint64_t chunks_ = 0;  // begun
  bool sealed_ = false;
  MultisetHash input_hash_;
  std::vector<std::unique_ptr<StagedSlice>> slots_;
  std::vector<StagedSlice*> free_;
  std::deque<std::unique_ptr<Coming>> coming_;
  InFlight in_flight_;
  ChunkEngine engine_;  // last: its threads end first
};

}  // namespace xxl::gpu
