// Forms sorted runs of text from the input: in memory, as long as there is room, and in scratch.
// Or, with an accelerator, from what it has sorted (general_offload.h); the CPU then sorts the
// rest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/in_flight.h"
#include "base/monitor.h"
#include "base/workers.h"
#include "io/io_queue.h"
#include "job/first_fault.h"
#include "job/general_sort/general_memory.h"
#include "job/general_sort/general_offload.h"
#include "job/general_sort/general_reader.h"
#include "job/general_sort/general_sort_options.h"
#include "job/general_sort/lazy_scratch.h"
#include "job/general_sort/limit_threshold.h"
#include "job/general_sort/region_filling.h"
#include "job/general_sort/region_records.h"
#include "job/general_sort/run_reducer.h"
#include "merge/general_merger.h"

namespace xxl {

// What run formation is given. References and pointers must outlive it.
struct FormationContext {
  const GeneralSortOptions& options;
  Inputs& inputs;
  Monitor& monitor;
  Workers& workers;
  io::IoService& io;
  GeneralMemory& memory;     // divided here, perhaps again, for records that need larger regions
  LazyScratch& scratch;      // opened if it is needed
  Accelerator* accelerator;  // to be used; null: the CPU sorts everything
  RowFaultLog& row_faults;
  GeneralReader::OnHeader on_header;
  // Known once the first header has been read.
  std::function<const KeyExtractor&()> keys;
};

class GeneralFormation {
 public:
  explicit GeneralFormation(FormationContext context);

  // Reads and sorts all of the input. Throws Error. Afterwards all runs are in scratch, if others
  // merge them too; otherwise at most a third of the regions is
  // still held by resident runs, if there are runs in scratch as well. When the tables of the runs
  // reach their limit of memory, runs are compacted to longer ones, whose tables are in scratch.
  void run();

  // In the order of the input. Those that were compacted last as long as this.
  std::vector<MergeSource> sources();
  // What compacts runs; also for merging the rest.
  RunReducer& reducer();
  // Parts of the memory for regions that are not held by resident runs.
  std::vector<std::span<std::byte>> free_memory() const;
  // Hands over the runs: they belong to the caller.
  std::vector<std::unique_ptr<GeneralRun>> take_runs();

  // Not null if the accelerator holds all records, sorted: then there are no sources.
  GeneralOffload* offload_that_holds_all() const {
    return offload_ != nullptr && offload_->holds_all() ? offload_.get() : nullptr;
  }

  // What the accelerator did, when it is no longer needed.
  AcceleratorReport accelerator_report() const {
    return offload_ != nullptr ? offload_->report() : AcceleratorReport{};
  }

  const MultisetHash& input_hash() const { return input_hash_; }
  const MultisetHash& removed_hash() const { return removed_hash_; }
  // Of the records of the runs, with frames; without tags, as the output has them.
  std::uint64_t record_bytes() const { return record_bytes_; }
  std::uint64_t output_bytes() const { return output_bytes_; }

 private:
  struct Chunk {
    RunOrder order;
    Region* region;
    RegionPlace place;  // of the first record
    bool spill;
  };
  struct Formed {
    RunOrder order;
    std::unique_ptr<GeneralRun> run;  // null: resident
    Region* region = nullptr;
    std::span<StringItem> items;
    std::uint64_t bytes = 0;
  };

  const GeneralGeometry& geometry() const { return context_.memory.geometry(); }
  void make_regions(std::size_t longest_record);
  bool make_larger_regions();
  [[noreturn]] void refuse_carried();
  RegionFilling filling() const;
  void start_reading(Region& region);
  Region* try_take_region();
  Region* take_region();
  void give_back(Region* region);
  bool spill_oldest();
  void wait_for_workers();
  void wait_until_all_is_written();
  bool tables_are_full();
  void compact();
  void make_offload();
  void finish_offload();
  bool merges_at_once(std::size_t in_scratch, std::size_t resident) const;
  bool has_long_records() const;
  void submit(Region* region);
  void run_sort(const Chunk& chunk);
  void sort_chunk(const Chunk& chunk, unsigned thread);
  void write_run(Formed& formed, std::span<const StringItem> items, const char* memory);
  std::size_t load_items(const Region& region, std::span<StringItem> items, RegionPlace& place,
                         MultisetHash& hash);
  std::size_t input_bytes(std::string_view record) const;

  FormationContext context_;
  RegionRecords records_;
  FirstFault faults_{context_.monitor};
  GeneralReader reader_;
  bool fits_in_memory_ = false;
  std::deque<Region> regions_;
  std::uint64_t chunks_ = 0;
  std::optional<RunReducer> reducer_;   // once it is needed
  std::vector<MergeSource> compacted_;  // they come before all that is formed
  std::atomic<std::uint64_t> seen_records_{0};
  std::atomic<std::uint64_t> seen_bytes_{0};

  // With the monitor's lock:
  std::vector<Region*> free_;
  std::size_t running_ = 0;  // tasks
  std::vector<Formed> formed_;
  std::size_t table_bytes_ = 0;  // of runs
  MultisetHash input_hash_;
  MultisetHash removed_hash_;
  std::uint64_t record_bytes_ = 0;
  std::uint64_t output_bytes_ = 0;
  LimitThreshold threshold_;
  InFlight in_flight_;
  std::unique_ptr<GeneralOffload> offload_;  // last: its threads use the rest
};

}  // namespace xxl
