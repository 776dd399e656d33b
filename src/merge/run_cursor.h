// The records of a run one after the other, and the memory for its blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/extents.h"
#include "base/in_flight.h"
#include "base/monitor.h"
#include "merge/merge_source.h"
#include "merge/record_merge.h"
#include "run/text_run.h"
#include "run/text_scratch.h"

namespace xxl {

// Memory for blocks that are read. From any thread.
class BlockMemory {
 public:
  explicit BlockMemory(Monitor& monitor) : monitor_(monitor) {}

  Monitor& monitor() { return monitor_; }
  // With the monitor's lock held.
  Extents& extents() { return extents_; }
  // Memory that goes back when nobody uses it any more. If there is none now: null, or with `must`
  // a little more than the memory for blocks, where that is only in pieces that are too small, or
  // else Error{no_space}.
  std::shared_ptr<std::byte> borrow(std::size_t bytes, bool must);

 private:
  Monitor& monitor_;
  Extents extents_;
  InFlight in_flight_;
};

// Reads the blocks of a run, one ahead where there is memory, unless it is long.
class RunCursor : public RecordCursor {
 public:
  static constexpr std::size_t kMostAheadBytes = std::size_t{1} << 20;

  // The references must outlive the cursor. Without `reads_ahead` one block is in memory at a time.
  RunCursor(const TextRun& run, TextScratch& scratch, BlockMemory& memory, bool reads_ahead = true)
      : run_(run),
        scratch_(scratch),
        memory_(memory),
        reads_ahead_(reads_ahead),
        end_block_(run.blocks.size()) {}

  bool advance() override;
  std::string_view record() const override { return record_; }
  std::shared_ptr<const void> hold() override { return current_; }

 protected:
  void set_blocks(std::size_t begin, std::size_t end) {
    next_ = begin;
    end_block_ = end;
  }
  // Narrows what is taken of a block, [begin, end) in bytes.
  virtual void trim(std::size_t, const std::byte*, std::size_t&, std::size_t&) {}

 private:
  struct Read {
    std::shared_ptr<std::byte> buffer;
    bool done = false;
  };
  std::shared_ptr<Read> start(std::size_t index, bool must);
  void open(std::size_t index);

  const TextRun& run_;
  TextScratch& scratch_;
  BlockMemory& memory_;
  const bool reads_ahead_;
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

}  // namespace xxl
