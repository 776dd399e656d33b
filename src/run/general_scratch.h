// Where runs of text are written to and read from: a RunStore whose failures go to a monitor, and
// runs whose tables are in scratch, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/extents.h"
#include "base/monitor.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "record/key_extractor.h"
#include "run/general_run.h"
#include "run/run_store.h"

namespace xxl {

class WriteBuffers;

// All methods from any thread.
class GeneralScratch {
 public:
  // The references must outlive it. `packer` as RunStore.
  GeneralScratch(io::ScratchStore& scratch, io::IoService& io, Monitor& monitor,
                 BlockPacker packer = {})
      : monitor_(monitor), store_(scratch, io, std::move(packer)) {}

  unsigned disks() const { return source_->disks(); }  // that blocks are read from
  bool packs() const { return store_.packer().packs(); }

  // Writes the first `bytes` of `buffer` as the next block of `run` (checksum and place are set),
  // then calls `written` on a thread of the queue. The content of the buffer may change. A failure
  // of the write goes to the monitor. Throws Error if the block cannot be packed.
  void write(GeneralRun& run, GeneralBlock block, std::byte* buffer, std::size_t bytes,
             std::function<void()> written);

  // Writes `record`, coded, as the next block of `run`: piece by piece, through buffers of a few
  // slots each. For records of any length. If it is packed, waits until it is written.
  void write_long(GeneralRun& run, GeneralBlock block, std::string_view record,
                  WriteBuffers& buffers);

  // Waits until everything is written.
  void wait_for_writes();

  // Where blocks are, as they are written here; from where they are read from now on, which must
  // outlive the scratch.
  RunStore& store() { return store_; }
  // Of a block of `bytes`, what the first one of another run has: another part for each.
  std::size_t first_of_run(std::size_t bytes);
  void read_from(BlockSource& source) { source_ = &source; }

  // Reads what is stored of block `index` of `run` into `buffer` (BlockSource::buffer_bytes()),
  // then calls `arrived`, unless it fails.
  void read(const GeneralRun& run, std::size_t index, std::byte* buffer,
            std::function<void()> arrived);

  // Turns what was read into `buffer` into block `index` of `run`. Throws Error{corrupt} unless it
  // is what was written.
  void open(const GeneralRun& run, std::size_t index, std::byte* buffer) const {
    source_->open(run, run.blocks[index], buffer);
  }

  // For runs whose table is in scratch; begin_parts() before the first block, end_parts() after the
  // last.
  static void begin_parts(GeneralRun& run);
  void end_parts(GeneralRun& run) { write_part(run); }
  // Part `index` of such a run, as a run with its table in memory. Waits for it. Throws Error.
  GeneralRun read_part(const GeneralRun& run, std::size_t index);

  // Gives the place of a block back, to be written again.
  void release(const GeneralRun& run, std::size_t index) { store_.release(run, run.blocks[index]); }

 private:
  void make_room(GeneralRun& run);
  static void append(GeneralRun& run, const GeneralBlock& block) noexcept;
  RunStore::Done write_begins(std::function<void()> written);
  void write_part(GeneralRun& run);
  void write_long_packed(GeneralRun& run, GeneralBlock block, std::string_view record);

  Monitor& monitor_;
  std::size_t writes_ = 0;  // under way; with the monitor's lock
  std::atomic<std::uint64_t> runs_ = 0;
  BlockSource* source_ = &store_;
  RunStore store_;  // last: it waits for them
};

// Buffers for blocks being filled and written. take() waits for one.
class WriteBuffers {
 public:
  WriteBuffers(std::span<std::byte> memory, Monitor& monitor) : monitor_(monitor) {
    extents_.add(memory);
  }
  std::byte* take(std::size_t bytes) {
    auto lock = monitor_.lock();
    std::byte* buffer = nullptr;
    monitor_.wait(lock, [&] { return (buffer = extents_.take(bytes)) != nullptr; });
    return buffer;
  }
  void give_back(std::byte* buffer, std::size_t bytes) {
    monitor_.change([&] { extents_.give_back(buffer, bytes); });
  }
  std::size_t total_bytes() const { return extents_.total_bytes(); }

 private:
  Monitor& monitor_;
  Extents extents_;
};

// Writes one run, record by record. One thread.
//
// The first block of a run is a part of one, another part in each run. Runs are of one size, and so
// are their other blocks: if all began alike, the triggers of all would lie close together, again
// and again, and a merge would find no boundaries for cells in between.
//
//     run 0   |---|-------|-------|-       first blocks alike:   |-------|-------|----
//     run 1   |-----|-------|-------|                            |-------|-------|----
class GeneralRunWriter {
 public:
  // begin_parts() must have been called if its table is to be in scratch. `block_bytes`: of a
  // block, unless a single record is larger.
  GeneralRunWriter(GeneralRun& run, const KeyExtractor& keys, GeneralScratch& scratch,
                   WriteBuffers& buffers, std::size_t block_bytes)
      : run_(run), keys_(keys), scratch_(scratch), buffers_(buffers), block_bytes_(block_bytes) {}
  ~GeneralRunWriter();
  GeneralRunWriter(const GeneralRunWriter&) = delete;
  GeneralRunWriter& operator=(const GeneralRunWriter&) = delete;

  // Records come in order of their keys.
  void add(std::string_view record) {
    const std::size_t bytes = coded_bytes(record.size());
    if (used_ + bytes > room_) {
      if (bytes > block_bytes_) return add_long(record);
      open_block(record);
    }
    last_ = buffer_ + used_;
    put_record(reinterpret_cast<char*>(last_), record);
    used_ += bytes;
    ++run_.records;
  }
  // Does not wait: blocks may still be under way.
  void finish();

 private:
  void open_block(std::string_view first);
  void close_block();
  void add_long(std::string_view record);
  GeneralBlock begin_block(std::string_view first);
  void set_last_key(std::string_view record);

  GeneralRun& run_;
  const KeyExtractor& keys_;
  GeneralScratch& scratch_;
  WriteBuffers& buffers_;
  std::size_t block_bytes_;
  GeneralBlock block_;
  std::byte* buffer_ = nullptr;
  std::byte* last_ = nullptr;  // the record added last
  std::size_t room_ = 0;       // bytes of it to be filled, or 0
  std::size_t used_ = 0;
  std::string last_key_;  // of the block before
  std::string key_;
};

}  // namespace xxl
