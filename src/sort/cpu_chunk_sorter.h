// Sorts chunks on the CPU, in regions of memory: one fills while another leaves.
//
// A worker divides each block that arrives into buckets of keys, in its cache, and copies it in the
// order of buckets to a place in a region that only this block has. A table of each block says
// where its buckets end. A bucket of a run is what all blocks of the run have of it. It leaves as a
// piece, which a worker sorts in its cache. No two workers write to the same memory, and each
// record is read and written twice in all.
//
//     block 0 |a |b   |c|d  |   block 1 |a|b  |c   |d|   block 2 |a  |b |c |d |
//                 ^^^^                      ^^^                       ^^^         piece b
//
// Splitters are sampled from the first block. When a region is about to leave, a bucket of it that
// is too large for a piece is divided again, in each block by itself, by splitters sampled from all
// of it. So any input is divided evenly. Of sorted input, later keys all lie in the last bucket,
// and are divided twice.
//
// A region whose keys all lie above those of the one before goes on with its run: sorted input of
// any size is one run. Other runs are one region each, or all of the memory where the input ends or
// runs are to be long.
//
// Super Scalar Sample Sort divides by splitters in the same way (Sanders and Winkel, ESA 2004);
// blocks that are divided in the cache, and gathered later, are those of Axtmann et al., "In-Place
// Parallel Super Scalar Samplesort", ESA 2017, section 4.1.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/random.h"
#include "base/workers.h"
#include "sort/chunk_sorter.h"
#include "sort/key_divider.h"

namespace xxl {

// Memory of a CpuChunkSorter, planned by plan().
struct CpuChunkGeometry {
  static constexpr std::size_t kMostBuckets = 8192;

  std::size_t buckets = 0;         // number wanted
  std::size_t piece_capacity = 0;  // records of a piece, at most
  std::size_t push_records = 0;    // records of one push, at most
  std::size_t regions = 0;         // number, at least two
  std::size_t region_bytes = 0;    // of each
  std::size_t resident_bytes = 0;  // of records that are certainly held before any has to leave
  std::size_t memory_bytes = 0;    // in all
  bool leaves_early = false;       // surely not all of the input fits: a full region leaves at once
  bool long_runs = false;          // all regions leave together, when all are full
  bool keeps_rest = false;  // keeps what is in memory at the end, unless that is all of the input
  bool keeps_all = false;   // with keeps_rest: in that case too

  // Records of a bucket, at most, that is said to be a whole cell: twice those of an average one.
  std::size_t whole_capacity() const { return 2 * piece_capacity / regions; }
  // Room in the tables: dividing buckets again makes up to as many more, unless samples mislead.
  std::size_t max_buckets() const { return 2 * buckets + buckets / 4; }

  // Plans for `memory_bytes` in all, `threads` workers, blocks of up to `push_records`, pieces of
  // up to `piece_capacity` records, and `regions`. Nothing if that is not enough.
  static std::optional<CpuChunkGeometry> plan(std::size_t memory_bytes, const KeyLayout& layout,
                                              unsigned threads, std::size_t push_records,
                                              std::size_t piece_capacity, std::size_t regions = 2);
};

class CpuChunkSorter final : public ChunkSorter {
 public:
  // All references must outlive the sorter, as must `memory` (geometry.memory_bytes).
  // `sorters`: one a worker thread, of geometry.piece_capacity.
  CpuChunkSorter(const KeyLayout& layout, const CpuChunkGeometry& geometry,
                 std::span<std::byte> memory, Workers& workers, Mailbox& mailbox,
                 std::vector<std::unique_ptr<PieceSorter>>& sorters, std::uint64_t seed);

  bool push(const Segment& records, std::function<void()> taken) override;
  void seal() override { sealed_ = true; }
  std::optional<RunPiece> pull() override;
  bool finished() const override;
  bool may_be_several_runs() const override { return left_early_; }
  bool spread(std::size_t streams) override;
  std::span<const SplitterKey> cell_boundaries() const override { return cells_; }
  std::uint64_t kept_records(std::size_t cell) const override;
  void append_kept(std::size_t cell, std::vector<Segment>& segments) const override;
  void spill(const std::function<bool(std::size_t cell)>& spills) override;
  const MultisetHash& input_hash() const override { return input_hash_; }

 private:
  // A block in a region, in the order of its buckets.
  struct Divided {
    std::byte* records;
    std::size_t count;
    std::uint32_t* ends;  // of buckets, in records
  };
  struct Region {
    std::span<std::byte> memory;
    std::byte* begin = nullptr;  // of what is free: records of blocks are before,
    std::byte* end = nullptr;    // their tables behind
    std::vector<Divided> blocks;
    std::size_t tasks = 0;  // blocks that are being divided
    bool leaves = false;

    void clear();
  };
  struct Bucket {
    SplitterKey low;
    std::size_t cell;
    bool one_key = false;
    bool solid = false;  // no splitters can divide it
    std::uint64_t records = 0;
  };
  // Part of a bucket, or all of it.
  struct Piece {
    std::size_t bucket;
    std::uint64_t skipped;  // records of the bucket in pieces before
    std::size_t records;
    std::uint64_t run;
    std::uint64_t first;  // number of its first record among those that leave with it
    bool whole_cell;
  };
  // Blocks that leave together.
  struct Leaving {
    std::vector<Divided> blocks;
    std::vector<Region*> regions;  // given back when all pieces are done
    std::vector<Bucket> buckets;   // those of the blocks' tables
    std::vector<Piece> pieces;
    std::size_t next = 0;              // piece to be pulled
    bool is_last = false;              // nothing comes after
    bool is_ready = false;             // pieces are known
    std::atomic<std::size_t> done{0};  // pieces

    bool is_pulled() const { return is_ready && next == pieces.size(); }
  };
  // Buckets that are to be divided again.
  struct Division {
    std::vector<Bucket> buckets;
    std::vector<std::size_t> first;  // of `buckets`, for each bucket before; and one more
    KeyDivider divider;
  };
  // Memory of one worker for dividing a block.
  struct Scratch {
    std::byte* records;
    std::uint16_t* ids;
    std::uint32_t* places;
    std::uint32_t* ends;
  };

  void choose_cells(const Segment& records);
  bool gather(const Segment& records);
  bool start_gathered();
  bool start(const Segment& records, std::function<void()> taken);
  Region* region_for(std::size_t records);
  void divide(const Segment& from, const Divided& to, const Scratch& scratch) const;
  void work();
  bool may_leave() const;
  std::shared_ptr<Leaving> take_leaving();
  void count_records(Leaving& leaving) const;
  bool is_spilled(std::size_t cell) const { return !spilled_.empty() && spilled_[cell] != 0; }
  bool divide_again();
  std::vector<SplitterKey> inner_splitters(const Division& division, std::size_t bucket,
                                           std::size_t parts);
  void divide_again(const Divided& block, const Scratch& scratch) const;
  const std::byte* outermost(const Leaving& leaving, std::size_t bucket, bool largest) const;
  void make_pieces(Leaving& leaving);
  void append_segments(const Leaving& leaving, std::size_t first, std::size_t last,
                       std::uint64_t skipped, std::uint64_t count,
                       std::vector<Segment>& segments) const;
  std::vector<Segment> segments_of(const Leaving& leaving, const Piece& piece) const;
  std::pair<std::size_t, std::size_t> kept_buckets(std::size_t cell) const;
  bool keeps_rest() const {
    return geometry_.keeps_rest && sealed_ && (left_early_ || geometry_.keeps_all);
  }

  const KeyLayout& layout_;
  const CpuChunkGeometry geometry_;
  Workers& workers_;
  Mailbox& mailbox_;
  std::vector<std::unique_ptr<PieceSorter>>& sorters_;
  Random random_;
  std::vector<Scratch> scratch_;  // one a worker
  std::vector<Region> regions_;
  Region* filling_ = nullptr;  // null: all are full or leave
  std::deque<Region*> full_;   // in the order of arrival
  std::byte* gathered_;        // records of short blocks, which become one
  std::size_t gathered_count_ = 0;
  bool gathered_busy_ = false;  // they are being divided
  KeyDivider divider_;          // of cells
  std::vector<SplitterKey> cells_;
  std::vector<Bucket> cell_buckets_;  // a bucket for each cell
  std::size_t tasks_ = 0;             // blocks that are being divided
  bool sealed_ = false;
  bool refused_ = false;              // the last push found no room
  bool left_early_ = false;           // a region left before the end of the input was known
  std::shared_ptr<Leaving> current_;  // to be pulled
  std::deque<std::shared_ptr<Leaving>> leaving_;  // pulled, and not all done
  std::shared_ptr<Leaving> kept_;
  std::vector<std::uint8_t> spilled_;   // cells of kept_; empty: none
  std::unique_ptr<Division> division_;  // of current_, under way
  std::size_t dividing_ = 0;            // its blocks that are not done
  std::uint64_t run_ = 0;
  std::vector<std::byte> largest_;  // record that has left in pieces; empty: none has
  MultisetHash input_hash_;
  InFlight in_flight_;
};

}  // namespace xxl
