// A hash join's share of a device: a table, places for batches of records, and threads with
// streams.
//
// A lane belongs to the coordinator thread. A batch has one place from its copy in until its rows
// are copied out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mailbox.h"
#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/device/stream_thread.h"

namespace xxl::gpu {

// Sizes of a lane, all of them maxima.
struct HashLaneShape {
  static constexpr std::size_t kPlaces = 4;

  std::size_t build_records = 0;  // of the near part of the table, number
  std::size_t build_record_bytes = 0;
  std::size_t batch_records = 0;  // number; as many rows leave at once
  std::size_t probe_record_bytes = 0;
  std::size_t row_bytes = 0;

  // Slots of a table of `records` records: half of them stay empty.
  static std::size_t slots(std::size_t records) { return 2 * records + 2; }
  // Memory of a device.
  std::size_t place_bytes() const;
  std::size_t table_bytes() const;
  std::size_t bytes() const { return kPlaces * place_bytes() + table_bytes(); }
};

struct HashPlace {
  std::byte* records = nullptr;
  std::byte* rows = nullptr;
  MatchRange* found = nullptr;
  TileTotals* totals = nullptr;  // in shared memory
};

struct HashLane {
  // Threads that copy, for each direction: one copies while the other's completion is handled.
  static constexpr std::size_t kCopyThreads = 2;

  // The report of a build.
  struct Notes {
    std::uint64_t selected = 0;
    std::uint64_t chains = 0;
  };

  // `device` and `mailbox` must outlive the lane; `index` is for names in `time_line`, which may be
  // null. Throws Error{no_space}.
  HashLane(Device& device, std::size_t index, const HashLaneShape& shape, Mailbox& mailbox,
           TimeLine* time_line);

  StreamThread& next_in() { return *in[next_in_++ % kCopyThreads]; }
  StreamThread& next_out() { return *out[next_out_++ % kCopyThreads]; }

  DeviceMemory memory;
  HashPart near;  // slots, next and records in that memory
  std::byte* records = nullptr;
  Notes* notes = nullptr;  // in memory of the device
  Notes* host_notes = nullptr;
  std::vector<HashPlace> places;  // free ones

 private:
  SharedMemory shared_;
  std::size_t next_in_ = 0, next_out_ = 0;

 public:
  // Last: tasks use the rest.
  std::array<std::unique_ptr<StreamThread>, kCopyThreads> in;
  std::unique_ptr<StreamThread> work;
  std::array<std::unique_ptr<StreamThread>, kCopyThreads> out;
};

}  // namespace xxl::gpu
