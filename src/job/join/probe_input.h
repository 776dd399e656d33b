// The records that are looked up in the table of a hash join, piece by piece: as they come, or in
// batches divided into the partitions of the table, so that what is read of the table for a piece
// is in a cache from the piece before.
//
//     reader ──▶ batch 0, being distributed      partition 0 [slab][slab]  1 [slab] ...
//                batch 1, being looked up        partition 0 [slab] ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/workers.h"
#include "io/sequential_reader.h"
#include "job/phase_meter.h"
#include "join/hash_partitions.h"
#include "join/hash_table.h"

namespace xxl {

// Coordinator thread only.
class ProbeInput {
 public:
  // Consecutive records.
  struct Records {
    const std::byte* records = nullptr;
    std::size_t count = 0;
    std::size_t place = 0;  // for the input's use
  };

  virtual ~ProbeInput() = default;
  // At most `most` records, more than 0; nothing if there are none now. They stay until done().
  virtual std::optional<Records> next(std::size_t most) = 0;
  // One of the uses of the piece has ended; it has one, and one more for each again().
  virtual void done(const Records& piece) = 0;
  virtual void again(const Records& piece) = 0;
  // Nothing is left, and nothing is in use.
  virtual bool ended() const = 0;
  // Workers are busy with it.
  virtual bool busy() const = 0;
};

// In the order in which they are read.
class ProbeBlocks final : public ProbeInput {
 public:
  // All must outlive it.
  ProbeBlocks(io::SequentialReader& reader, std::size_t record_bytes, PhaseMeter& meter)
      : reader_(reader), record_bytes_(record_bytes), meter_(meter) {}

  std::optional<Records> next(std::size_t most) override;
  void done(const Records& piece) override;
  void again(const Records& piece) override { ++block(piece).uses; }
  bool ended() const override { return reader_.finished() && blocks_.empty(); }
  bool busy() const override { return false; }

 private:
  struct Block {
    io::RecordBlock block;
    std::size_t records = 0;
    std::size_t cut = 0;   // of them, in pieces
    std::size_t uses = 0;  // of pieces
  };
  Block& block(const Records& piece) { return blocks_[piece.place - first_]; }
  void release();

  io::SequentialReader& reader_;
  const std::size_t record_bytes_;
  PhaseMeter& meter_;
  std::deque<Block> blocks_;
  std::size_t first_ = 0;  // number of blocks_.front()
};

// In batches.
class ProbeBatches final : public ProbeInput {
 public:
  struct Context {
    io::SequentialReader& reader;
    const HashTable& table;
    const KeyLayout& layout;      // of the records
    std::span<std::byte> memory;  // for the slabs of both batches
    std::size_t slab_bytes;
    std::size_t batch_records;                // at most, in one; no less than in a block
    std::span<const ScatterScratch> scratch;  // one a worker
    Workers& workers;
    Mailbox& mailbox;
    PhaseMeter& meter;
  };

  // All of `context` must outlive it.
  explicit ProbeBatches(const Context& context);

  std::optional<Records> next(std::size_t most) override;
  void done(const Records& piece) override;
  void again(const Records& piece) override { ++batches_[piece.place].uses; }
  bool ended() const override;
  bool busy() const override { return distributing_ > 0; }

 private:
  enum class Stage { filling, full, in_use };
  struct Batch {
    Stage stage = Stage::filling;
    std::uint64_t records = 0;
    Ticket tickets{};
    std::size_t distributing = 0;   // blocks
    std::vector<Segment> segments;  // in use: those that are not in pieces, the next one last
    std::size_t uses = 0;           // of pieces
  };

  void fill();
  void distribute(std::size_t batch, const io::RecordBlock& block);

  const Context c_;
  SlabPool slabs_;
  std::array<HashPartitions, 2> partitions_;
  std::array<Batch, 2> batches_;
  std::size_t filling_ = 0;
  std::size_t emptying_ = 0;
  std::size_t distributing_ = 0;            // blocks
  std::optional<io::RecordBlock> waiting_;  // did not fit in the last batch
  InFlight in_flight_;
};

}  // namespace xxl
