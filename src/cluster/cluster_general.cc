#include "cluster/cluster_general.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/memory_name.h"
#include "base/units.h"
#include "cluster/message.h"
#include "job/general_sort/long_records.h"

namespace xxl {

GeneralShare ClusterGeneral::open_input(const std::vector<std::string>& paths,
                                        const RecordSyntax& syntax, bool with_first_record) {
  Input& input = inputs_.emplace_back();
  if (syntax.record_bytes != 0) return {open_share(paths, syntax.record_bytes, peers_), {}};
  terminator_bytes_ = 1;
  GeneralShare share = open_general_share(paths, syntax, with_first_record, peers_);
  if (syntax.header) input.header = share.first_record;
  return share;
}

void ClusterGeneral::plan(JobOptions& job) {
  job.memory_bytes = least(peers_, job.memory_bytes);
  job.all_memory_bytes = given_memory_bytes_ = std::max(given_memory_bytes_, job.memory_bytes);
  if (job.threads == 0) job.threads = available_processors();
  const std::uint64_t sending_bytes =
      round_down<std::uint64_t>(job.memory_bytes / kSendingPart, kSectorBytes);
  sending_ = MemoryRegion(sending_bytes);
  job.memory_bytes -= sending_bytes;
}

// A step of all ranks, each of which has read its rows or met a `malformed` one. Returns if this
// one is to tell that, or none has.
void ClusterGeneral::end_rows(bool malformed) {
  awaits_rows_ = false;
  const std::vector<bool> all = gather(peers_, malformed);
  const auto first = std::find(all.begin(), all.end(), true) - all.begin();
  const auto rank = static_cast<std::ptrdiff_t>(peers_.rank());
  if (first != std::ssize(all) && first != rank) gather(peers_, malformed);  // which it ends
}

bool ClusterGeneral::can_send(std::uint64_t record_bytes, std::uint64_t memory_bytes) const {
  const double part =
      static_cast<double>(sending_.span().size()) / static_cast<double>(given_memory_bytes_);
  // With what its block has beside it.
  return static_cast<double>(record_bytes + kSectorBytes) <=
         part * static_cast<double>(memory_bytes);
}

// Other ranks may fetch blocks from now on.
void ClusterGeneral::serve(std::span<const SharedRuns> inputs) {
  std::size_t largest = kSectorBytes;
  for (const SharedRuns& input : inputs) {
    for (const MergeSource& source : input.sources) {
      if (source.run->parts != nullptr) {
        throw Error(
            ErrorCode::no_space,
            "the tables of a rank's runs take more memory than -S leaves: give twice as much");
      }
      largest = std::max(largest, source.run->largest_block);
      runs_.push_back({source.run, &input.scratch.store()});
    }
  }
  if (largest > sending_.span().size()) {
    throw LongRecordError("records of " + format_bytes(largest) +
                              " are too long to be sent to another rank with " +
                              memory_of_name(given_memory_bytes_) + ": ",
                          {largest, 2 * largest});
  }
  server_ = std::make_unique<ScratchServer>(
      [this](BlockName name) {
        const auto& [run, scratch] = runs_[name.run];
        return OwnBlock{*scratch, *run, run->blocks[name.block]};
      },
      sending_.span(), largest);
  peers_.serve(server_.get());
}

SharedMerge ClusterGeneral::exchange(std::span<const SharedRuns> inputs, io::IoService& io) {
  if (awaits_rows_) end_rows(false);
  serve(inputs);
  std::vector<const GeneralRun*> all;
  for (const OwnRun& own : runs_) all.push_back(own.run);
  const std::vector<std::string> cuts =
      is_cut_ ? choose_key_cuts(all, peers_) : std::vector<std::string>();
  SharedMerge merge;
  std::uint32_t first = 0;  // run of the input
  for (std::size_t side = 0; side < inputs.size(); ++side) {
    const SharedRuns& given = inputs[side];
    Input& input = inputs_[side];
    input.blocks = std::make_unique<RemoteBlocks>(given.store, given.scratch.store(), io, peers_);
    const std::span own = std::span(all).subspan(first, given.sources.size());
    input.slices = exchange_slices(own, first, cuts, input.blocks->scratch(), peers_);
    first += static_cast<std::uint32_t>(own.size());
    for (GeneralRun& run : input.slices.runs) {
      merge.sources.push_back({.run = &run, .resident = {}, .side = side});
      merge.records += run.records;
      merge.bytes += run.bytes;
    }
    report_.bytes_received += input.blocks->add(input.slices);
    given.scratch.read_from(*input.blocks);
  }
  report_.merged_runs = merge.sources.size();
  // A rank without a range has no runs either.
  merge.range = range_of_rank(cuts, peers_.rank()).value_or(KeyRange{});
  return merge;
}

std::vector<MultisetHash> ClusterGeneral::sums(std::span<const MultisetHash> counted) {
  MessageWriter writer;
  for (const MultisetHash& count : counted) writer.put(count);
  std::vector<MultisetHash> all(counted.size());
  for (const Message& message : tell_all(peers_, writer.take())) {
    MessageReader reader(message);
    for (MultisetHash& sum : all) sum += reader.get<MultisetHash>();
  }
  report_.records = counted.front().records;
  report_.all_records = all.front().records;
  report_.checksum = all.front().sum;
  peers_.serve(nullptr);
  return all;
}

ClusterReport ClusterGeneral::report(const Measurements& measured, std::uint64_t runs) const {
  ClusterReport report = report_;
  report.runs = runs;
  static_cast<Measurements&>(report) = measured;
  if (output_) report.scratch_bytes += output_->scratch_bytes();
  return report;
}

}  // namespace xxl
