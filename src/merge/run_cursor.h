// The records of a run one after the other, and the memory for its blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/extents.h"
#include "base/in_flight.h"
#include "base/monitor.h"
#include "merge/merge_source.h"
#include "merge/record_merge.h"
#include "run/general_run.h"
#include "run/general_scratch.h"

namespace xxl {

// A block that does not fit in the memory for blocks.
class BlockTooLong : public Error {
 public:
  explicit BlockTooLong(std::size_t bytes);
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
};

// Memory for blocks that are read. From any thread.
class BlockMemory {
 public:
  explicit BlockMemory(Monitor& monitor) : monitor_(monitor) {}

  Monitor& monitor() { return monitor_; }
  // With the monitor's lock held.
  Extents& extents() { return extents_; }
  // Memory for `bytes`, which goes back when the last copy of the pointer is gone. Null if there is
  // none now. Never null with `must`: if enough is free, but fragmented, the memory is allocated
  // separately; otherwise throws BlockTooLong.
  std::shared_ptr<std::byte> borrow(std::size_t bytes, bool must);

 private:
  Monitor& monitor_;
  Extents extents_;
  InFlight in_flight_;
};

// How the blocks of a run are read.
struct RunReading {
  bool ahead = true;  // read ahead by one, if there is memory and it is short; false: one at a time
  bool releases = false;  // the place of each is freed, as it will not be read again
};

// Reads the blocks of a run, and its table if that is in scratch.
class RunCursor : public RecordCursor {
 public:
  static constexpr std::size_t kMostAheadBytes = std::size_t{1} << 20;

  // The references must outlive the cursor.
  RunCursor(const GeneralRun& run, GeneralScratch& scratch, BlockMemory& memory,
            RunReading reading = {})
      : run_(run),
        scratch_(scratch),
        memory_(memory),
        reading_(reading),
        table_(&run),
        end_block_(run.blocks.size()) {}
  ~RunCursor() override;

  // Memory for a merge that has a cursor for `run`, in bytes.
  static std::size_t memory_bytes(const GeneralRun& run);

  bool advance() override;
  std::string_view record() const override { return record_; }
  std::shared_ptr<const void> hold() override { return current_; }

 protected:
  void set_blocks(std::size_t begin, std::size_t end) {
    next_ = begin;
    end_block_ = end;
  }
  // A block that is in memory anyway, and open, as long as the cursor and what hold() gives last;
  // null: it is to be read.
  virtual std::byte* loaded(std::size_t) { return nullptr; }
  // Narrows the part of a block that is read, [begin, end) in bytes.
  virtual void trim(std::size_t, const std::byte*, std::size_t&, std::size_t&) {}

 private:
  struct Read {
    std::shared_ptr<std::byte> buffer;
    bool done = false;
  };
  bool next_part();
  std::shared_ptr<Read> start(std::size_t index, bool must);
  void open(std::size_t index);
  void read(std::size_t index);

  const GeneralRun& run_;
  GeneralScratch& scratch_;
  BlockMemory& memory_;
  const RunReading reading_;
  GeneralRun part_;          // of a table in scratch, what is being read
  std::size_t parts_ = 0;    // read so far
  const GeneralRun* table_;  // the run, or the part of it
  std::size_t next_ = 0;
  std::size_t end_block_;
  std::shared_ptr<std::byte> current_;
  std::shared_ptr<Read> ahead_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::string_view record_;
};

// The records of a run that is in memory.
class ResidentCursor final : public RecordCursor {
 public:
  explicit ResidentCursor(const ResidentRun& run) : run_(run) {}

  bool advance() override {
    if (next_ == run_.items.size()) return false;
    record_ = chunk_record(run_.memory, run_.items[next_++].place());
    return true;
  }
  std::string_view record() const override { return record_; }

 private:
  ResidentRun run_;
  std::size_t next_ = 0;
  std::string_view record_;
};

// One for each of `sources`. `scratch`: where those in scratch are.
std::vector<std::unique_ptr<RecordCursor>> cursors_of(std::span<const MergeSource> sources,
                                                      GeneralScratch* scratch, BlockMemory& memory,
                                                      RunReading reading = {});

}  // namespace xxl
