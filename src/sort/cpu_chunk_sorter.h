// Sorts chunks on the CPU: circular replacement selection over a bucket table.
//
// On the way in, workers distribute each block into buckets (bucket_table.h says how that makes
// runs of twice the memory); on the way out, they sort one bucket each, in cache. Both go on at the
// same time: a bucket that has been closed waits only for the distributions that had begun before.
// Splitting buckets needs a moment without distribution.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/workers.h"
#include "sort/bucket_table.h"
#include "sort/chunk_sorter.h"

namespace xxl {

// Memory of a CpuChunkSorter, planned by plan(); all sizes in bytes unless said otherwise.
struct CpuChunkGeometry {
  std::size_t slab_bytes = 0;
  std::size_t slabs = 0;           // number
  std::size_t buckets = 0;         // number wanted
  std::size_t max_buckets = 0;     // number, with those that others were split into
  std::size_t piece_capacity = 0;  // records a piece may have
  std::size_t push_records = 0;    // most records of one push
  std::size_t reserve_slabs = 0;   // kept for splitting buckets
  std::size_t headroom_slabs = 0;  // buckets leave when fewer are free or about to be
  std::size_t first_slabs = 0;     // used from the start; the others as input arrives
  std::size_t resident_bytes = 0;  // of records that are certainly held before any has to leave
  std::size_t memory_bytes = 0;    // of slabs and distribution scratch, in all
  bool keeps_rest = false;  // keeps what is in memory at the end, unless that is all of the input
  bool keeps_all = false;   // with keeps_rest: in that case too

  // Plans for `memory_bytes` in all, `threads` workers, blocks of up to `push_records` and pieces
  // of up to `piece_capacity` records. Nothing if that is not enough.
  static std::optional<CpuChunkGeometry> plan(std::size_t memory_bytes, const KeyLayout& layout,
                                              unsigned threads, std::size_t push_records,
                                              std::size_t piece_capacity);
};

class CpuChunkSorter final : public ChunkSorter {
 public:
  // All references must outlive the sorter, as must `memory` (geometry.memory_bytes).
  // `sorters`: one a worker thread, of geometry.piece_capacity.
  CpuChunkSorter(const KeyLayout& layout, const CpuChunkGeometry& geometry,
                 std::span<std::byte> memory, Workers& workers, Mailbox& mailbox,
                 std::vector<std::unique_ptr<PieceSorter>>& sorters, std::uint64_t seed);

  bool push(const Segment& records, std::function<void()> taken) override;
  void seal() override;
  std::optional<RunPiece> pull() override;
  bool finished() const override;
  bool may_be_several_runs() const override { return closed_early_; }
  bool spread(std::size_t streams) override;
  std::span<const SplitterKey> cell_boundaries() const override { return table_.cells(); }
  std::uint64_t kept_records(std::size_t cell) const override {
    return cell < kept_.size() ? kept_[cell].records : 0;
  }
  void append_kept(std::size_t cell, std::vector<Segment>& segments) const override;
  void spill(const std::function<bool(std::size_t cell)>& spills) override;
  const MultisetHash& input_hash() const override { return input_hash_; }

 private:
  // Records on their way into the table: a block of input, or a part of a bucket that is split.
  struct Arrival {
    std::vector<Segment> segments;
    std::size_t records = 0;
    std::function<void()> taken;  // of a block
    SlabId chain = kNoSlab;       // of a split bucket
    bool stored = false;
    bool failed = false;
    bool from_input() const { return chain == kNoSlab; }
  };
  // A closed bucket, or a part of one; larger than a piece only if it has a single key.
  struct Ready {
    std::uint64_t after;  // distributions with tickets below may still write to it
    std::uint64_t run;
    std::size_t cell;
    bool whole_cell;
    Chain chain;
    std::uint64_t first = 0;  // record of the run, if pieces are spread
  };

  // The kept records of a cell. If the frontier lay inside it, the buckets of its upper part are
  // closed before those of its lower part.
  struct Kept {
    std::uint64_t records = 0;
    std::vector<Chain> upper;  // of the run that was current when the input ended
    std::vector<Chain> lower;  // of the next one
  };

  bool has_room(const Arrival& arrival) const;
  void start(Arrival arrival);
  void arrived(std::uint64_t ticket, bool stored, const MultisetHash& hash);
  void work();
  bool wants_to_close() const;
  void change_table();
  bool split(std::size_t bucket);
  bool close_bucket();
  void break_up_frontier();
  void touch_more(std::size_t records);
  bool keeps_rest() const {
    return geometry_.keeps_rest && sealed_ && (closed_early_ || geometry_.keeps_all);
  }
  void close(const Chain& chain, std::size_t cell, bool whole_cell);
  void keep(const Chain& chain, std::size_t cell);
  void make_ready(const Chain& chain, std::size_t cell, bool whole_cell);
  Ready take_ready();
  bool spread_out();
  std::size_t piece_slabs() const;
  std::size_t slabs_for(std::uint64_t records) const;
  std::size_t leaving_slabs() const { return closed_slabs_ - freed_slabs_; }

  const KeyLayout& layout_;
  CpuChunkGeometry geometry_;
  Workers& workers_;
  Mailbox& mailbox_;
  std::vector<std::unique_ptr<PieceSorter>>& sorters_;
  SlabPool slabs_;
  std::vector<ScatterScratch> scratch_;  // one a worker
  BucketTable table_;
  bool started_ = false;
  bool sealed_ = false;
  bool closed_early_ = false;        // a bucket was closed that later records may belong to
  bool pausing_ = false;             // no new distribution: a bucket is to be split
  bool split_frontier_ = false;      // which is larger than a piece can be
  bool cautious_ = false;            // a distribution found no room: allow for the worst case
  bool refused_ = false;             // the last push found no room
  std::deque<Arrival> waiting_;      // to be distributed before anything else
  std::deque<Arrival> running_;      // of this round, by ticket, from first_running_ on
  std::uint64_t first_running_ = 0;  // all tickets before are done
  std::size_t splitting_ = 0;        // arrivals of split buckets, waiting or running
  std::size_t tasks_ = 0;            // distributions under way
  std::size_t expected_slabs_ = 0;   // slabs that they will take
  std::deque<Ready> ready_;
  std::uint64_t given_records_ = 0;  // pulled
  std::size_t streams_ = 1;          // of spread()
  bool is_spread_ = false;           // ready_ is in their order
  std::uint64_t table_records_ = 0;  // in the table, or on their way there
  std::uint64_t input_records_ = 0;
  std::size_t closed_slabs_ = 0;             // of all buckets ever closed
  std::atomic<std::size_t> freed_slabs_{0};  // of these, given back by workers
  std::uint64_t run_ = 0;
  std::vector<Kept> kept_;                // by cell
  std::optional<std::uint64_t> end_run_;  // current when the input ended
  MultisetHash input_hash_;
  InFlight in_flight_;
};

}  // namespace xxl
