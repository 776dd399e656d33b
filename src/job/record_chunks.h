// Files of records whose neighbours are compared on all cores: what validate, sort -c and --verify
// run on.
//
// Workers take chunks of whole records, each preceded by the record before it: so every pair of
// neighbours lies in one chunk, and chunks are independent. A file's chunks are read by the workers
// in parallel; a stream's one after the other, by the holder of its lock. Either way chunks are
// handed out in the order of the file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "io/file.h"
#include "io/wake_event.h"
#include "record/key_layout.h"

namespace xxl {

inline constexpr std::uint64_t kNoRecord = ~std::uint64_t{0};

// `count` records whose first is number `first`; unless that is 0, record first - 1 lies in front.
struct RecordChunk {
  std::uint64_t first = 0;
  std::size_t count = 0;
  const std::byte* records = nullptr;
};

// Records by how their keys compare to that of the record before.
struct Neighbours {
  std::uint64_t equal = 0;
  std::uint64_t below = 0;
  std::uint64_t first_unordered = kNoRecord;  // below, or also equal if keys are to be unique
};

Neighbours compare_neighbours(const KeyLayout& layout, const RecordChunk& chunk, bool unique);

class RecordChunks {
 public:
  static constexpr std::uint64_t kMostMemoryBytes = 64 * kMiB;  // of all workers' buffers

  // Chunks of 1 MiB, or less if `memory_bytes` are little, but at least one record. `file` is open;
  // it may be a pipe, or of a caller. Throws Error if it is known to be no whole number of records.
  RecordChunks(const io::File& file, std::size_t record_bytes,
               std::uint64_t memory_bytes = kMostMemoryBytes);

  // For each worker: the chunk, the record before it, and the rest of the sectors at its ends.
  std::size_t buffer_bytes() const;
  // In addition to these.
  std::size_t own_bytes() const { return last_record_.size(); }

  // Calls examine(chunk) for each chunk, on `parallel` threads (0: as many as processors) and a few
  // that wait for the disk, until it returns a record that is out of order; the first of these is
  // returned, or kNoRecord. In `memory`, which holds a buffer at least, or in its own. Throws Error
  // for what fails before that record.
  std::uint64_t scan(unsigned parallel, std::span<std::byte> memory,
                     const std::function<std::uint64_t(const RecordChunk&)>& examine);

 private:
  unsigned workers(unsigned parallel) const;
  bool next(std::span<std::byte> buffer, RecordChunk& chunk);
  bool next_of_stream(std::span<std::byte> buffer, RecordChunk& chunk);

  const io::File& file_;
  const std::size_t record_bytes_;
  const std::uint64_t memory_bytes_;
  const std::size_t chunk_records_;
  const std::uint64_t records_;  // of a file that can be read anywhere; otherwise 0
  std::atomic<std::uint64_t> next_chunk_{0};
  // For a stream:
  std::mutex mutex_;
  std::optional<io::WakeEvent> stopped_;
  std::vector<std::byte> last_record_;
  std::uint64_t records_read_ = 0;
  bool ended_ = false;
};

}  // namespace xxl
