#include "job/general_sort/run_reducer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/in_flight.h"
#include "job/fixed_sort/plan.h"
#include "job/general_sort/emit_rules.h"
#include "merge/record_emitter.h"
#include "run/general_scratch.h"
#include "run/run_tables.h"

namespace xxl {
namespace {

// Memory for blocks that a merge needs for a source: long ones are not read ahead.
std::size_t cost(const MergeSource& source) {
  return source.run == nullptr ? 0 : RunCursor::memory_bytes(*source.run);
}

std::size_t largest_block(const std::vector<MergeSource>& sources) {
  std::size_t largest = 0;
  for (const MergeSource& source : sources) {
    if (source.run != nullptr) largest = std::max(largest, source.run->largest_block);
  }
  return largest;
}

// Likewise for the record before, which is held to find groups and may be a block by itself.
std::size_t held_bytes(const std::vector<MergeSource>& sources, bool has_groups) {
  return has_groups ? BlockSource::buffer_bytes(largest_block(sources)) : 0;
}

std::size_t runs_in_scratch(const std::vector<MergeSource>& sources) {
  return static_cast<std::size_t>(std::count_if(
      sources.begin(), sources.end(), [](const MergeSource& s) { return s.run != nullptr; }));
}

}  // namespace

std::size_t RunReducer::bytes_for_runs(const std::vector<MergeSource>& sources) {
  std::size_t bytes = 0;
  for (const MergeSource& source : sources) bytes += cost(source);
  return bytes;
}

std::vector<MergeSource> RunReducer::reduce(std::vector<MergeSource> sources, BlockMemory& blocks,
                                            std::size_t most_bytes) {
  const std::size_t most = most_for_runs(blocks);  // while runs are merged
  for (;;) {
    if (GeneralScratch* const scratch = scratch_.opened()) scratch->wait_for_writes();
    const std::size_t needed = bytes_for_runs(sources) + held_bytes(sources, options_.has_groups());
    const std::size_t in_scratch = runs_in_scratch(sources);
    const std::size_t batch = options_.batch_size != 0 ? options_.batch_size : in_scratch;
    if (in_scratch <= 1 || (needed <= most_bytes && in_scratch <= batch)) return sources;
    // As many groups at a time as there are workers; each as large as its share of the memory.
    const std::size_t degree = balanced_degree(in_scratch, merge_passes(in_scratch, batch), batch);
    std::vector<MergeGroup> groups = groups_of(sources, degree, most / workers_.width());
    if (groups.size() == sources.size()) {
      if (needed <= most_bytes) return sources;  // runs in memory lie between those of scratch
      throw BlockTooLong(largest_block(sources));
    }
    ++passes_;
    sources = merge_groups(groups, most, blocks,
                           tables_fit(sources) ? Table::in_memory : Table::in_scratch);
  }
}

// True if there is room for the tables of the runs that `sources` are merged to: the old tables,
// the new ones, and these once more while they grow. A table in scratch is there for lack of room.
bool RunReducer::tables_fit(const std::vector<MergeSource>& sources) const {
  const bool in_memory = std::none_of(sources.begin(), sources.end(), [](const MergeSource& s) {
    return s.run != nullptr && s.run->parts != nullptr;
  });
  return in_memory && 3 * table_bytes(sources) <= memory_.geometry().table_bytes;
}

std::vector<MergeSource> RunReducer::compact(const std::vector<MergeSource>& sources,
                                             BlockMemory& blocks) {
  if (GeneralScratch* const scratch = scratch_.opened()) scratch->wait_for_writes();
  const std::size_t most = most_for_runs(blocks);
  const std::size_t batch = options_.batch_size != 0 ? options_.batch_size : sources.size();
  std::vector<MergeGroup> groups = groups_of(sources, batch, most / workers_.width());
  passes_ = std::max(passes_, 1U);  // each record goes through one
  return merge_groups(groups, most, blocks, Table::in_scratch);
}

// Groups of at most `degree` runs that need no more than `most_bytes`, but always of two. A run in
// memory is alone in its group.
std::vector<RunReducer::MergeGroup> RunReducer::groups_of(const std::vector<MergeSource>& sources,
                                                          std::size_t degree,
                                                          std::size_t most_bytes) const {
  std::vector<MergeGroup> groups;
  for (std::size_t i = 0; i < sources.size();) {
    MergeGroup& group = groups.emplace_back();
    while (i < sources.size() && sources[i].run != nullptr && group.sources.size() < degree &&
           (group.sources.size() < 2 || group.bytes + cost(sources[i]) <= most_bytes)) {
      group.bytes += cost(sources[i]);
      group.sources.push_back(sources[i++]);
    }
    if (group.sources.empty()) group.sources.push_back(sources[i++]);
    group.bytes += held_bytes(group.sources, options_.has_groups());
  }
  return groups;
}

std::vector<MergeSource> RunReducer::merge_groups(std::vector<MergeGroup>& groups,
                                                  std::size_t most_bytes, BlockMemory& blocks,
                                                  Table table) {
  std::size_t taken = 0;  // memory that the groups that are being merged may need
  {
    InFlight in_flight;  // on every path, the tasks end before what they use
    for (MergeGroup& group : groups) {
      if (group.sources.size() < 2) continue;
      {
        // Two runs with long records may need more than a share.
        auto lock = monitor_.lock();
        while (taken > 0 && taken + group.bytes > most_bytes) monitor_.wait_whatever(lock);
        taken += group.bytes;
      }
      workers_.run([&, &group = group, token = in_flight.begin()](unsigned) mutable {
        monitor_.guard([&] { merge_group(group, group.bytes <= most_bytes, blocks, table); });
        monitor_.change([&] { taken -= group.bytes; });
        token.reset();
      });
    }
  }
  monitor_.check();
  std::vector<MergeSource> merged;
  for (const MergeGroup& group : groups) {
    MergeSource& source = merged.emplace_back(group.sources.front());
    if (group.merged != nullptr) source.run = group.merged;
  }
  return merged;
}

void RunReducer::merge_group(MergeGroup& group, bool reads_ahead, BlockMemory& blocks,
                             Table table) {
  group.merged = &merge_to_run(
      cursors_of(group.sources, &scratch_.get(), blocks, {.ahead = reads_ahead, .releases = true}),
      table);
  for (const MergeSource& source : group.sources) *source.run = {};
}

GeneralRun& RunReducer::merge_to_run(std::vector<std::unique_ptr<RecordCursor>> cursors,
                                     Table table, RecordMerge::OnDisorder on_disorder) {
  GeneralRun* run;
  {
    auto lock = monitor_.lock();
    run = &runs_.emplace_back();
  }
  if (table == Table::in_scratch) GeneralScratch::begin_parts(*run);
  const EmitRules rules = emit_rules_of_run(options_, keys_);
  RecordMerge merge(std::move(cursors), keys_, rules.kept.has_groups(), std::move(on_disorder));
  GeneralRunWriter writer(*run, keys_, scratch_.get(), memory_.write_buffers(),
                          memory_.geometry().block_bytes);
  RecordEmitter emitter(writer, rules);
  while (merge.next() && emitter.add(merge.record(), merge.same_key())) {
  }
  const GeneralTotals& totals = emitter.finish();
  writer.finish();
  auto lock = monitor_.lock();
  removed_ += totals.removed;
  return *run;
}

}  // namespace xxl
