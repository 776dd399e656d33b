#include "cluster/cluster_sort.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/machine_limits.h"
#include "base/mailbox.h"
#include "base/memory_name.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "base/workers.h"
#include "cluster/input_share.h"
#include "cluster/message.h"
#include "cluster/rank_output.h"
#include "cluster/remote_blocks.h"
#include "cluster/run_slices.h"
#include "cluster/run_split.h"
#include "job/fixed_sort/fixed_sorting.h"
#include "job/fixed_sort/run_merge.h"
#include "job/job_io.h"
#include "job/phase_meter.h"
#include "run/sinks.h"

namespace xxl {
namespace {

// One sort. What is under way at a failure is not waited for before peers are told: it is all in
// here.
class ClusterSort {
 public:
  ClusterSort(const FixedSortOptions& options, Peers& peers) : options_(options), peers_(peers) {}
  ClusterReport run();

 private:
  void open();
  void divide(std::uint64_t records);
  void form_runs();
  void split();
  void merge();
  void check();
  // Records of equal keys become one, so they must be in one part.
  bool makes_groups() const { return options_.unique || options_.fold.folds(); }

  FixedSortOptions options_;
  Peers& peers_;
  ClusterReport report_;
  PhaseMeter meter_{report_, options_};
  std::uint64_t all_records_ = 0;
  std::uint64_t sending_bytes_ = 0;
  std::unique_ptr<RankOutput> output_;
  std::vector<std::uint64_t> starts_;      // of parts, in records, and the end of the last one
  std::unique_ptr<FixedSorting> sorting_;  // with the runs
  MemoryRegion sending_;
  MemoryRegion region_;
  Mailbox mailbox_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<io::IoService> io_;
  std::unique_ptr<RunStore> scratch_;
  std::unique_ptr<ScratchServer> server_;
  RunSlices<Run> slices_;
  std::unique_ptr<RemoteBlocks> blocks_;
  std::unique_ptr<RunMerge> merge_;
  MultisetHash output_hash_;
};

ClusterReport ClusterSort::run() {
  open();
  form_runs();
  split();
  merge();
  meter_.begin(Phase::finishing, 0);
  check();
  peers_.serve(nullptr);
  output_->publish(0);
  meter_.end("finish");
  meter_.finish(sorting_->scratch());
  report_.scratch_bytes += output_->scratch_bytes();
  return report_;
}

// All ranks plan for the same, the least that one of them has: so their blocks are of one size.
void ClusterSort::open() {
  XXL_CHECK(options_.acceleration != Acceleration::if_it_pays);
  InputShare share = open_share(options_.inputs, options_.format.record_bytes, peers_);
  all_records_ = share.all_bytes / options_.format.record_bytes;
  output_ = std::make_unique<RankOutput>(options_, !makes_groups(), peers_);
  if (!makes_groups()) {
    divide(all_records_);
    std::vector<std::uint64_t> starts;
    for (const std::uint64_t start : starts_) {
      starts.push_back((start - starts_.front()) * options_.format.record_bytes);
    }
    output_->place_parts(std::move(starts));
  }
  options_.memory_bytes = least(peers_, options_.memory_bytes);
  if (options_.threads == 0) options_.threads = available_processors();
  options_.threads = least(peers_, options_.threads);
  sending_bytes_ = round_down<std::uint64_t>(options_.memory_bytes / kSendingPart, kSectorBytes);
  FixedSortOptions sort = options_;
  sort.memory_bytes -= sending_bytes_;
  sort.output = "-";
  sort.merge_on_accelerator = AcceleratedMerge::never;
  sorting_ = std::make_unique<FixedSorting>(sort, std::move(share.inputs));
  sorting_->plan_again(sort, {.may_stay_in_memory = false,
                              .in_order = true,
                              .ranks = peers_.ranks(),
                              .largest_input_bytes = share.largest_bytes,
                              .agree = [this](AcceleratorPlan& plan) {
                                plan.chunk_bytes = least(peers_, plan.chunk_bytes);
                                plan.host_bytes = most(peers_, plan.host_bytes);
                              }});
  if (sorting_->geometry().block_bytes > sending_bytes_) {
    throw Error(ErrorCode::no_space,
                memory_given(options_.memory_bytes) + " is too small for records of " +
                    format_count(options_.format.record_bytes, "byte") + ": give at least " +
                    memory_to_give(kSendingPart * sorting_->geometry().block_bytes));
  }
}

// Cuts what is to be written of `records`, those in the runs of all ranks.
void ClusterSort::divide(std::uint64_t records) {
  const std::uint64_t alignment = output_->alignment();
  const std::uint64_t step = alignment / std::gcd(options_.format.record_bytes, alignment);
  const std::uint64_t first = std::min(options_.skip, records);
  const std::uint64_t written = options_.written_of(records), ranks = peers_.ranks();
  starts_.clear();
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t start = written / ranks * rank + written % ranks * rank / ranks;
    starts_.push_back(first + start / step * step);
  }
  starts_.push_back(first + written);
}

void ClusterSort::form_runs() {
  const Geometry& geometry = sorting_->geometry();
  region_ = MemoryRegion(std::max(geometry.region_bytes, geometry.merge_region_bytes));
  sending_ = MemoryRegion(sending_bytes_);
  sorting_->make_runs(region_.span());
  report_.runs = sorting_->runs().size();
  report_.device = sorting_->plan().device;
  const SortReport& formed = sorting_->report();
  report_.phases.insert(report_.phases.end(), formed.phases.begin(), formed.phases.end());
  workers_ = std::make_unique<Workers>(geometry.threads);
  io_ = open_io(options_, region_.span());
  meter_.watch(*io_, *workers_);
  XXL_CHECK(sorting_->scratch() != nullptr);
  scratch_ = std::make_unique<RunStore>(*sorting_->scratch(), *io_, sorting_->packer());
  if (!makes_groups()) return;
  std::uint64_t records = 0;
  for (const Run& run : sorting_->runs()) records += run.records;
  const std::vector<std::uint64_t> counts = gather(peers_, records);
  divide(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
}

void ClusterSort::split() {
  const std::vector<Run>& runs = sorting_->runs();
  const std::size_t block_bytes = sorting_->geometry().block_bytes;
  meter_.begin(Phase::merging, 0);
  const auto own_block = [this, &runs](BlockName name) {
    return OwnBlock{*scratch_, runs[name.run], runs[name.run].blocks[name.block]};
  };
  server_ = std::make_unique<ScratchServer>(own_block, sending_.span(), block_bytes);
  peers_.serve(server_.get());
  const RunCuts cuts = split_runs(sorting_->run_layout(), runs, *scratch_, starts_, makes_groups(),
                                  region_.span(), block_bytes, peers_);
  blocks_ = std::make_unique<RemoteBlocks>(*sorting_->scratch(), *scratch_, *io_, peers_);
  slices_ = exchange_slices(runs, cuts, blocks_->scratch(), peers_);
  report_.merged_runs = slices_.runs.size();
  report_.bytes_received = blocks_->add(slices_);
  meter_.end("split runs");
}

void ClusterSort::merge() {
  const Geometry& geometry = sorting_->geometry();
  std::uint64_t records = 0;
  for (const Run& run : slices_.runs) records += run.records - run.skipped;
  const std::size_t record_bytes = sorting_->run_layout().record_bytes();
  output_->share();
  meter_.begin(Phase::merging, records * record_bytes, 1, 1);
  WaitTimes waits = meter_.no_waits();
  OutputRules rules = sorting_->output_rules();
  rules.skip = 0;  // what is left out has been cut off
  rules.limit = OutputRules::kNoLimit;
  rules.parts = output_->parts();
  merge_ = std::make_unique<RunMerge>(
      RunMergeContext{sorting_->run_layout(), geometry, rules, *io_, *workers_, mailbox_,
                      sorting_->scratch(), sorting_->packer(), nullptr, true, blocks_.get()},
      region_.span(), slices_.runs, geometry.final_block_bytes, [&](io::BufferPool& buffers) {
        return std::make_unique<OutputSink>(output_->make_sink(geometry.final_block_bytes, *io_),
                                            geometry.final_block_bytes, buffers, mailbox_);
      });
  RunMerger& merger = merge_->merger();
  for (merger.pump(); !merger.finished(); merger.pump()) {
    meter_.advance(merge_->wait(waits) * record_bytes);
  }
  merge_->stage().finish();
  while (merge_->sink().pending() > 0) mailbox_.wait_and_run();
  merge_->sink().finish();
  output_hash_ = merge_->stage().hash();
  report_.records = merge_->stage().records();
  meter_.end("merge", waits);
}

// A step of all ranks, after which none needs another one's blocks.
void ClusterSort::check() {
  struct Sums {
    MultisetHash input, output, accounted;
    std::uint64_t folded;
  };
  const OutputStage& stage = merge_->stage();
  MultisetHash accounted = output_hash_;
  accounted += sorting_->removed_hash();
  accounted += stage.removed();
  Sums all{};
  for (const Sums& sums : gather(
           peers_, Sums{sorting_->input_hash(), output_hash_, accounted, stage.records_folded()})) {
    all.input += sums.input;
    all.output += sums.output;
    all.accounted += sums.accounted;
    all.folded += sums.folded;
  }
  report_.all_records = all.output.records;
  report_.checksum = all.output.sum;
  const bool is_range = options_.limit || options_.skip > 0;
  if (!is_range) check_permutation(all.input, all.accounted, all_records_);
  const bool lost_some = all.input.records != all_records_ ||
                         (is_range && all.output.records != options_.written_of(all_records_)) ||
                         (options_.fold.count && all.folded != all_records_);
  if (!lost_some) return;
  throw Error(
      ErrorCode::corrupt,
      "records were lost on the way: the output was discarded; check these machines' memory "
      "and disks");
}

}  // namespace

ClusterReport cluster_sort(const FixedSortOptions& options, Peers& peers) {
  ClusterSort sort(options, peers);
  return work_of_rank(peers, [&] { return sort.run(); });
}

}  // namespace xxl
