#include "job/fixed_sort/sort_plan.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "io/open_files.h"
#include "job/job_io.h"
#include "job/output.h"
#include "run/folded_piece.h"

namespace xxl {
namespace {

const char* kind_name(RecordKind kind) {
  switch (kind) {
    case RecordKind::key32:
      return "key32";
    case RecordKind::key64:
      return "key64";
    case RecordKind::pair32:
      return "pair32";
    case RecordKind::pair64:
      return "pair64";
    case RecordKind::generic:
      return "generic";
  }
  return "";
}

PlanInput plan_input(const FixedSortOptions& options, const Inputs& inputs,
                     const SortSurroundings& surroundings) {
  PlanInput input;
  input.memory_bytes =
      memory_beside_decoders(inputs.memory_beside_names(options.memory_bytes), {&inputs}) -
      output_packing_bytes(options);
  input.beside_bytes = options.given_memory_bytes() - input.memory_bytes;
  input.input_bytes = std::max(inputs.bytes, surroundings.largest_input_bytes);
  input.input_size_known = inputs.size_known;
  input.threads = options.thread_count();
  input.scratch_disks = static_cast<unsigned>(options.scratch_dirs.size());
  input.batch_size = options.batch_size;
  if (options.merge_only) {
    const std::size_t others = io::kQueueDescriptors + 2 * options.scratch_dirs.size() +
                               (options.in_parts() ? io::allow_part_files() : 0);
    const std::size_t most = io::files_to_merge(inputs.files.size(), others);
    if (most < inputs.files.size() && (input.batch_size == 0 || most < input.batch_size)) {
      input.batch_size = static_cast<unsigned>(most);
    }
  }
  input.merge_only = options.merge_only;
  input.in_order = options.unique || options.fold.folds() || surroundings.in_order;
  if (options.fold.folds()) {
    input.folding_bytes = FoldedPiece::memory_bytes(options.output_format().record_bytes);
  }
  input.limit = options.needed();
  input.merge_inputs = inputs.files.size();
  if (options.merge_only && inputs.size_known) {
    for (const io::File& file : inputs.files) {
      input.largest_input = std::max(input.largest_input, file.size());
    }
  }
  input.merge_memory_bytes = surroundings.merge_memory_bytes;
  input.ranks = surroundings.ranks;
  input.scratch_codec = options.scratch_codec;
  input.scratch_level = options.scratch_level;
  return input;
}

// Plans reading and merging, for any sorter: `plan` already knows how long runs are.
void finish_plan(const FixedSortOptions& options, const KeyLayout& layout, const Inputs& inputs,
                 const SortSurroundings& surroundings, PlannedSort& planned) {
  const Geometry& geometry = planned.geometry;
  SortPlan& plan = planned.plan;
  plan.input_bytes = inputs.bytes;
  plan.input_size_known = inputs.size_known;
  plan.memory_bytes = options.memory_bytes;
  plan.skip = options.skip;
  plan.limit = options.limit;
  plan.block_bytes = geometry.block_bytes;
  plan.merge_degree = geometry.merge_degree;
  plan.threads = geometry.threads;
  plan.record_kind = kind_name(layout.kind());
  const bool in_memory =
      plan.expected_runs == 1 && !options.merge_only && surroundings.may_stay_in_memory;
  plan.passes =
      in_memory ? 0 : std::max(1U, merge_passes(plan.expected_runs, geometry.merge_degree));
  if (in_memory || (options.merge_only && plan.passes == 1)) return;
  std::uint64_t blocks =
      ceil_div<std::uint64_t>(inputs.bytes / layout.record_bytes(), geometry.records_per_block);
  if (options.limit && !options.fold.folds()) {
    const std::uint64_t of_run = *options.needed() / geometry.records_per_block + 1;
    blocks = of_run < blocks ? std::min(blocks, of_run * plan.expected_runs) : blocks;
  }
  // The last block of a run is partly filled; blocks that a pass holds in memory keep their places.
  if (!options.merge_only) blocks += plan.expected_runs;
  if (plan.passes > 1) {
    blocks += ceil_div<std::uint64_t>(plan.expected_runs, geometry.merge_degree) +
              std::min<std::uint64_t>(geometry.merge_blocks, blocks);
  }
  plan.scratch_bytes = (blocks + 16) * geometry.block_bytes;
}

// Who asks for threads, or for an accelerator, gets them.
bool sort_is_little(const FixedSortOptions& options, const Inputs& inputs) {
  return options.threads == 0 && options.acceleration != Acceleration::always &&
         is_little(options, inputs.size_known ? std::optional(inputs.bytes) : std::nullopt);
}

}  // namespace

PlannedSort plan_sort_on_cpu(const FixedSortOptions& options, const KeyLayout& layout,
                             const Inputs& inputs, const SortSurroundings& surroundings) {
  PlannedSort planned;
  PlanInput input = plan_input(options, inputs, surroundings);
  input.merge_accelerated = options.merge_only && options.acceleration == Acceleration::always;
  planned.is_little = sort_is_little(options, inputs);
  if (planned.is_little) input.threads = 1;
  const KeyLayout runs(options.output_format());
  input.input_layout = &layout;
  planned.geometry = plan_geometry(input, runs);
  const CpuChunkGeometry& chunk = planned.geometry.chunk;
  SortPlan& plan = planned.plan;
  plan.device = "cpu";
  plan.sort_memory_bytes = chunk.resident_bytes;
  if (options.merge_only) {
    plan.expected_runs = inputs.files.size();
  } else if (inputs.size_known && inputs.bytes <= chunk.resident_bytes) {
    plan.expected_runs = 1;
  } else {
    plan.expected_runs =
        std::max<std::uint64_t>(2, ceil_div(2 * inputs.bytes, plan.sort_memory_bytes));
  }
  finish_plan(options, layout, inputs, surroundings, planned);
  return planned;
}

namespace {

// 0: nothing is known of their size. A caller's is what it expects.
std::uint64_t known_bytes(const Inputs& inputs) {
  if (inputs.size_known) return std::max<std::uint64_t>(inputs.bytes, 1);
  return inputs.files.front().caller() != nullptr ? inputs.bytes : 0;
}

// Nothing if the accelerator cannot do it; `reason` says why.
std::optional<PlannedSort> plan_for_accelerator(const FixedSortOptions& options,
                                                const KeyLayout& layout, const Inputs& inputs,
                                                const SortSurroundings& surroundings,
                                                std::string& reason) {
  if (layout.labels() != nullptr) {
    reason = "a comparator runs on processors: sort by members";
    return std::nullopt;
  }
  PlanInput input = plan_input(options, inputs, surroundings);
  input.accelerated = true;
  input.merge_accelerated = options.merge_on_accelerator != AcceleratedMerge::never;
  const std::uint64_t bytes = std::max(known_bytes(inputs), surroundings.largest_input_bytes);
  input.chunk_bytes = ~std::uint64_t{0};
  const KeyLayout runs(options.output_format());
  input.input_layout = &layout;
  // The slices are the same however long the runs are.
  const std::size_t slice_bytes = plan_geometry(input, runs).slice_bytes;
  auto accelerator_plan = options.accelerator->plan(
      layout, bytes, slice_bytes, most_driver_bytes(options.acceleration, options.memory_bytes),
      reason);
  if (!accelerator_plan) return std::nullopt;
  if (surroundings.agree) surroundings.agree(*accelerator_plan);
  PlannedSort planned;
  input.chunk_bytes = accelerator_plan->chunk_bytes;
  // The driver's memory counts, unless that leaves next to nothing.
  input.memory_bytes -= std::min(accelerator_plan->host_bytes, input.memory_bytes / 2);
  planned.geometry = plan_geometry(input, runs);
  accelerator_plan->slice_bytes = planned.geometry.slice_bytes;
  SortPlan& plan = planned.plan;
  plan.device = accelerator_plan->description;
  plan.sort_memory_bytes = accelerator_plan->chunk_bytes * accelerator_plan->chunks;
  plan.expected_runs =
      accelerator_plan->chunks == 1
          ? 1
          : std::max<std::uint64_t>(2, ceil_div(inputs.bytes, accelerator_plan->chunk_bytes));
  finish_plan(options, layout, inputs, surroundings, planned);
  planned.accelerator = std::move(accelerator_plan);
  return planned;
}

}  // namespace

PlannedSort make_sort_plan(const FixedSortOptions& options, const KeyLayout& layout,
                           const Inputs& inputs, const SortSurroundings& surroundings) {
  const bool always = options.acceleration == Acceleration::always;
  std::string reason;
  if (always && options.merge_only) {
    if (options.merge_on_accelerator == AcceleratedMerge::never) {
      throw Error(ErrorCode::usage, "--gpu-merge=never excludes --device=gpu with -m");
    }
    if (options.accelerator->merge_rate(reason) == 0) throw Error(ErrorCode::device, reason);
    return plan_sort_on_cpu(options, layout, inputs, surroundings);
  }
  if (always) {
    if (auto planned = plan_for_accelerator(options, layout, inputs, surroundings, reason))
      return *planned;
    throw Error(ErrorCode::device, reason);
  }
  PlannedSort planned = plan_sort_on_cpu(options, layout, inputs, surroundings);
  // Starting an accelerator takes as long as sorting a little on the CPU, and what fits in memory
  // is sorted there as fast as disks deliver it.
  const std::uint64_t bytes = known_bytes(inputs);
  if (options.acceleration == Acceleration::if_it_pays && !options.merge_only &&
      bytes >= options.worth_accelerating && bytes > planned.geometry.chunk.resident_bytes) {
    if (auto accelerated = plan_for_accelerator(options, layout, inputs, surroundings, reason)) {
      return *accelerated;
    }
    planned.plan.no_accelerator = reason;
  }
  return planned;
}

}  // namespace xxl
