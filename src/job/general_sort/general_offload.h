// Sorts the regions of a general sort on an accelerator.
//
//     regions       packs                  chunks (accelerator)        slices
//     [ read ] ---> [ ][ ] --in order----> [ sorted           ] -----> [ ][ ] ---> run in scratch,
//             workers                                                  workers     or the output
//
// A thread of its own coordinates, and never waits for anything but messages; workers find the
// records and pack them, several regions at a time. If all the input is one chunk, that stays where
// it is until the output is open; otherwise each chunk becomes a run.
//
// A record that is too long for the accelerator ends the chunk, and the rest of its region is
// sorted by the CPU, as a run between two chunks. So nothing needs to be known about the input
// beforehand, and it is read only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/checksum.h"
#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/monitor.h"
#include "base/turns.h"
#include "base/workers.h"
#include "job/first_fault.h"
#include "job/general_sort/general_emission.h"
#include "job/general_sort/general_memory.h"
#include "job/general_sort/general_reader.h"
#include "job/general_sort/general_sort_options.h"
#include "job/general_sort/lazy_scratch.h"
#include "job/general_sort/region_records.h"
#include "merge/record_emitter.h"
#include "run/general_run.h"
#include "run/general_scratch.h"
#include "sort/accelerator.h"
#include "sort/general_sorter.h"
#include "sort/pinned.h"

namespace xxl {

// What runs of text are ordered by: where in the input they begin.
struct RunOrder {
  std::uint64_t region = 0;  // number
  std::size_t part = 0;      // of the region

  friend auto operator<=>(const RunOrder&, const RunOrder&) = default;
};

// References must outlive the offload, `accelerator` too.
struct OffloadContext {
  const GeneralSortOptions& options;
  Accelerator& accelerator;
  std::uint64_t input_bytes = 0;  // 0: not known
  RegionRecords& records;
  FirstFault& faults;
  Monitor& monitor;
  Workers& workers;
  GeneralMemory& memory;
  LazyScratch& scratch;
  std::function<const KeyExtractor&()> keys;  // known once a region is there
  // The region is no longer needed. These two are called from the offload's own thread.
  std::function<void(Region*)> give_back;
  // The records of a region from `place` on are to be sorted by the CPU, to a run, or to several,
  // from `order` on.
  std::function<void(Region*, RegionPlace place, RunOrder order)> sort_rest;
};

class GeneralOffload {
 public:
  explicit GeneralOffload(OffloadContext context);
  // Waits for its tasks and threads.
  ~GeneralOffload();
  GeneralOffload(const GeneralOffload&) = delete;
  GeneralOffload& operator=(const GeneralOffload&) = delete;

  // All by the thread that reads.

  // Sorts the records of region `number` (ascending, not necessarily without gaps).
  void add(std::uint64_t number, Region& region);
  // Waits until all that was added is in runs, so that buffers for writing are not in use.
  void settle();
  // After the last region: waits until all chunks are runs, or a single chunk holds all records.
  // Throws Monitor::Abandoned when something has failed.
  void finish();

  // After finish():

  // True if a chunk holds all records.
  bool holds_all() const { return state_ == State::holding; }
  // Writes them to `output`, in pieces with tickets from `first_ticket` on; returns their totals.
  // `on_progress` is called with bytes done.
  GeneralTotals emit(GeneralOutput& output, Ticket first_ticket,
                     const std::function<void(std::uint64_t)>& on_progress);

  struct FormedRun {
    RunOrder order;
    std::unique_ptr<GeneralRun> run;
    std::uint64_t bytes = 0;  // of its records, terminators included
  };
  std::vector<FormedRun> take_runs();
  const MultisetHash& input_hash() const { return input_hash_; }
  const MultisetHash& removed_hash() const { return formed_.removed; }
  // Of the input's records, terminators included.
  std::uint64_t record_bytes() const { return record_bytes_; }
  const AcceleratorReport& report() const { return report_; }

 private:
  enum class State { adding, holding, done };
  // A region that is being packed, or whose packs have not left.
  struct Packing {
    std::uint64_t number = 0;
    Region* region = nullptr;
    RegionPlace place;      // of what is to be packed next
    std::size_t part = 0;   // chunks that begin in it so far
    bool packing = false;   // by a worker
    bool packed = false;    // as far as it ever will be
    bool too_long = false;  // the record at `place`
    std::deque<GeneralSorter::Pack*> packs;
  };
  // What a worker that has filled a pack found.
  struct Packed {
    MultisetHash hash;
    std::uint64_t bytes = 0;
    bool too_long = false;
  };
  // A chunk on its way out: one worker after the other takes its slices.
  struct LeavingChunk {
    RunOrder order;
    std::deque<GeneralSorter::SortedSlice> waiting;
    bool busy = false;
    std::unique_ptr<GeneralRun> run;  // that it becomes; null if it goes to the output
    std::unique_ptr<GeneralTarget> target;
    bool satisfied = false;  // the target needs no more
    bool written = false;
    GeneralTotals totals;
  };

  void coordinate();
  void pump();
  void make_sorter(const Region& region);
  GeneralSorterSpec describe(const Region& region) const;
  void start_packing();
  Packed pack(Packing& job, GeneralSorter::Pack& pack);
  void pack_filled(Packing& job, GeneralSorter::Pack* pack, const Packed& packed);
  void push_packs();
  void try_to_settle();
  void end_input();
  void take_slices();
  void write_slices(LeavingChunk& chunk);
  void write_slice(LeavingChunk& chunk, const GeneralSorter::SortedSlice& slice);
  void chunk_written(LeavingChunk& chunk);
  void emit_slice(const GeneralSorter::SortedSlice& slice);
  void set_state(State state);
  void run_task(std::function<void()> work, std::function<void()> done);

  OffloadContext context_;
  Mailbox mailbox_;
  // With the monitor's lock:
  State state_ = State::adding;
  MultisetHash input_hash_;
  std::uint64_t record_bytes_ = 0;
  bool settled_ = false;
  GeneralTotals formed_;   // to runs
  GeneralTotals emitted_;  // to the output
  std::uint64_t emitted_bytes_ = 0;

  // The coordinator's:
  bool stopping_ = false;     // the rest is not needed
  bool finished_ = false;     // everything has been written
  bool input_ended_ = false;  // and its consequences have not been handled
  bool sealed_ = false;       // no further chunk will begin; each becomes a run
  bool declined_ = false;     // the accelerator's memory is gone
  // All records may still be one: the CPU sorted none, nothing is written, nor must be for others.
  bool one_chunk_ = context_.options.shared == nullptr;
  bool settling_ = false;
  std::deque<std::unique_ptr<Packing>> jobs_;  // in order
  std::deque<LeavingChunk> chunks_;
  std::size_t chunks_written_ = 0;
  std::vector<FormedRun> runs_;
  GeneralOutput* output_ = nullptr;  // once it is open
  Ticket next_ticket_{};
  std::size_t emitting_ = 0;  // slices
  bool last_emitted_ = false;
  AcceleratorReport report_;

  std::unique_ptr<Pinned> pinned_;
  std::unique_ptr<GeneralSorter> sorter_;
  InFlight in_flight_;  // tasks
  Thread thread_;
};

}  // namespace xxl
