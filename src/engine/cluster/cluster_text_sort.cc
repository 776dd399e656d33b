#include "engine/cluster/cluster_text_sort.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "engine/cluster/input_share.h"
#include "engine/cluster/message.h"
#include "engine/cluster/rank_directory.h"
#include "engine/cluster/remote_blocks.h"
#include "engine/cluster/text_slices.h"
#include "engine/text_sort/shared_sort.h"
#include "engine/text_sort/text_sort.h"

namespace xxl {
namespace {

// One sort. What is under way at a failure is not waited for before peers are told: it is all in
// here.
class ClusterTextSort final : public SharedSort {
 public:
  ClusterTextSort(const TextSortOptions& options, Peers& peers)
      : options_(options), peers_(peers) {}
  ClusterReport run();

  unsigned sorts() const override { return peers_.ranks(); }
  const std::optional<std::string>& header() const override { return header_; }
  SharedMerge exchange(const std::vector<MergeSource>& runs, TextScratch& scratch,
                       const io::ScratchStore& store, io::IoService& io) override;
  OutputParts& parts() override { return output_->parts(); }
  std::unique_ptr<ByteSink> make_sink(std::size_t block_bytes, io::IoService& io) override {
    return output_->make_sink(block_bytes, io);
  }
  SharedCounts total(const SharedCounts& counts) override;
  void publish() override { output_->publish(1); }

 private:
  void open();
  void serve(TextScratch& scratch);
  OwnBlocks own_blocks() const {
    return [this](BlockName name) {
      const TextRun& run = *runs_[name.run].run;
      return OwnBlock{run, run.blocks[name.block]};
    };
  }

  TextSortOptions options_;
  Peers& peers_;
  ClusterReport report_;
  std::optional<std::string> header_;
  std::optional<RankDirectory> output_;
  std::unique_ptr<CallerSort> sort_;
  std::vector<MergeSource> runs_;  // of this rank
  MemoryRegion sending_;
  std::unique_ptr<ScratchServer> server_;
  std::unique_ptr<LocalScratch> local_scratch_;
  TextSlices slices_;
  std::unique_ptr<RemoteBlocks> blocks_;
};

ClusterReport ClusterTextSort::run() {
  open();
  const SortReport sorted = sort_->run();
  static_cast<Measurements&>(report_) = sorted;
  report_.runs = sorted.runs;
  report_.records = sorted.records_out;
  return report_;
}

void ClusterTextSort::open() {
  if (!is_rank_directory(options_, peers_)) {
    throw Error(ErrorCode::usage,
                "several ranks write text to a directory only, as the sizes of parts are not "
                "known: give its name with a slash",
                options_.output);
  }
  TextShare share = open_text_share(options_.inputs, options_.syntax, peers_);
  header_ = std::move(share.header);
  output_.emplace(options_, peers_);
  options_.memory_bytes = least(peers_, options_.memory_bytes);
  if (options_.parallel == 0) options_.parallel = available_processors();
  const std::uint64_t sending_bytes =
      round_down<std::uint64_t>(options_.memory_bytes / kSendingPart, kSectorBytes);
  sending_ = MemoryRegion(sending_bytes);
  options_.memory_bytes -= sending_bytes;
  options_.most_input_bytes =
      std::max<std::uint64_t>(share.all_bytes, 1);  // runs of all are merged
  options_.shared = this;
  sort_ = make_text_caller_sort(options_, std::move(share.inputs));
}

// Other ranks may fetch blocks from now on.
void ClusterTextSort::serve(TextScratch& scratch) {
  std::size_t largest = kSectorBytes;
  for (const MergeSource& source : runs_) {
    if (source.run->parts != nullptr) {
      throw Error(
          ErrorCode::no_space,
          "the tables of a rank's runs take more memory than -S leaves: give twice as much");
    }
    largest = std::max(largest, source.run->largest_block);
  }
  if (largest > sending_.span().size()) {
    throw Error(ErrorCode::no_space,
                "a record is too long to be sent to another rank: give at least -S " +
                    std::to_string(ceil_div<std::uint64_t>(kSendingPart * largest, kMiB)) + "M");
  }
  server_ =
      std::make_unique<ScratchServer>(own_blocks(), scratch.store(), sending_.span(), largest);
  peers_.serve(server_.get());
}

SharedMerge ClusterTextSort::exchange(const std::vector<MergeSource>& runs, TextScratch& scratch,
                                      const io::ScratchStore& store, io::IoService& io) {
  runs_ = runs;
  serve(scratch);
  local_scratch_ = std::make_unique<LocalScratch>(store, scratch.store(), io, peers_);
  // How many records come before a range is not known, so one rank counts them all.
  const bool is_range = options_.limit || options_.skip > 0;
  const std::vector<std::string> cuts =
      is_range ? std::vector<std::string>() : choose_text_cuts(runs, peers_);
  slices_ = exchange_text_slices(runs, cuts, *local_scratch_, peers_);
  report_.merged_runs = slices_.runs.size();
  SharedMerge merge;
  SliceOrigins origins;
  for (std::size_t i = 0; i < slices_.runs.size(); ++i) {
    TextRun& run = *slices_.runs[i];
    origins[&run] = slices_.origins[i];
    merge.sources.emplace_back().run = &run;
    merge.records += run.records;
    merge.bytes += run.bytes;
    if (local_scratch_->of(slices_.origins[i].rank) != nullptr) continue;
    for (const TextBlock& block : run.blocks) report_.bytes_received += block.stored_bytes;
  }
  // A rank without a range has no runs either.
  merge.range = range_of_rank(cuts, peers_.rank()).value_or(KeyRange{});
  blocks_ = std::make_unique<RemoteBlocks>(std::move(origins), *local_scratch_, peers_);
  scratch.read_from(*blocks_);
  return merge;
}

// A step of all ranks, after which none needs another one's blocks.
SharedCounts ClusterTextSort::total(const SharedCounts& counts) {
  SharedCounts all{};
  for (const SharedCounts& sums : gather(peers_, counts)) {
    all.input += sums.input;
    all.written += sums.written;
    all.removed += sums.removed;
  }
  report_.all_records = all.written.records;
  report_.checksum = all.written.sum;
  peers_.serve(nullptr);
  return all;
}

}  // namespace

ClusterReport cluster_text_sort(const TextSortOptions& options, Peers& peers) {
  ClusterTextSort sort(options, peers);
  return work_of_rank(peers, [&] { return sort.run(); });
}

}  // namespace xxl
