#include "job/general_sort/general_job_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "job/fixed_sort/plan.h"
#include "job/general_sort/general_reader.h"
#include "job/general_sort/stored_records.h"
#include "job/job_io.h"
#include "record/record_tags.h"

namespace xxl {
namespace {

// About how many bytes the records of `inputs` take with their tags; 0 if that is not known.
std::uint64_t tagged_bytes(const Inputs& inputs, const StoredRecords& stored) {
  return inputs.bytes + stored.records * stored.tag_growth.value_or(0);
}

constexpr std::uint64_t kMinThreadBytes = 4 * kMiB;

// Memory through which an accelerator is reached.
constexpr std::uint64_t kStagingPart = 4;  // of -S
constexpr std::uint64_t kMaxStagingBytes = 256 * kMiB;
// Before any has been seen. An accelerator's memory holds more of longer ones.
constexpr double kAssumedRecordBytes = 16;

GeneralPlanInput plan_for_cpu(const GeneralSortOptions& options, const Inputs& inputs) {
  GeneralPlanInput input;
  input.memory_bytes = inputs.memory_beside_names(options.memory_bytes);
  const bool any_bound = options.most_input_bytes != 0;
  if (options.stored) {
    input.stored = *options.stored;
  } else if (inputs.size_known) {
    input.stored = sample_records(inputs, options.syntax, options.tags);
  }
  input.input_bytes = any_bound ? options.most_input_bytes : tagged_bytes(inputs, input.stored);
  input.size_known = inputs.size_known || any_bound;
  input.scratch_codec = options.scratch_codec;
  input.scratch_level = options.scratch_level;
  input.temp_program = !options.compress_program.empty();
  input.output_codec = options.output_codec();
  if (options.spare_table_bytes) input.spare_table_bytes = *options.spare_table_bytes;
  // With little memory, fewer threads get more of it each.
  input.threads = static_cast<unsigned>(
      std::clamp<std::uint64_t>(options.memory_bytes / kMinThreadBytes, 1, options.thread_count()));
  input.decoder_bytes = inputs.set_aside_for_decoders(options.memory_bytes, options.merge_only);
  const auto keys = sorting_keys(options.tags, options.keys);
  input.keys_are_records = !options.keys_of_header && keys != nullptr && keys->is_in_record();
  return input;
}

// The plan `input` for the CPU, extended for the accelerator; unchanged if that cannot be used.
PlannedGeneral plan_for_accelerator(const GeneralSortOptions& options, const Inputs& inputs,
                                    GeneralPlanInput input) {
  PlannedGeneral planned{input, std::nullopt, {}};
  if (options.tags.any()) {
    planned.no_accelerator = "tagged records are sorted on processors";
    return planned;
  }
  if (options.syntax.counted) {
    planned.no_accelerator = "records of any length are sorted on processors";
    return planned;
  }
  if (options.syntax.rows && !options.malformed) {
    planned.no_accelerator = "rows must be checked to be sorted there";
    return planned;
  }
  if (options.syntax.rows && options.keeps_malformed) {
    planned.no_accelerator = "malformed rows that are kept are sorted on processors";
    return planned;
  }
  input.staging_bytes = round_down(
      static_cast<std::size_t>(std::min(options.memory_bytes / kStagingPart, kMaxStagingBytes)),
      kSectorBytes);
  GeneralSorterSpec spec;
  spec.terminator = options.syntax.terminator;
  // (Others sort what is not in its own inputs.)
  const std::uint64_t bytes = options.shared != nullptr ? inputs.bytes : input.input_bytes;
  spec.input_bytes = input.size_known ? std::max<std::uint64_t>(bytes, 1) : 0;
  spec.record_bytes = kAssumedRecordBytes;
  spec.key_bytes = input.keys_are_records ? 0 : kAssumedRecordBytes;
  spec.threads = input.threads;
  planned.accelerator = options.accelerator->plan_general(
      spec, input.staging_bytes, most_driver_bytes(options.acceleration, options.memory_bytes),
      planned.no_accelerator);
  if (!planned.accelerator) return planned;
  input.accelerator_bytes = planned.accelerator->chunk_bytes;
  // The driver's memory counts, unless that leaves next to nothing.
  input.memory_bytes -= std::min(planned.accelerator->host_bytes, input.memory_bytes / 2);
  planned.input = input;
  return planned;
}

// Throws Error{no_space} if nothing is left to sort with beside the largest decoder.
void check_decoders_fit(GeneralPlanInput input, const Inputs& inputs) {
  if (input.decoder_bytes == 0) return;
  const std::uint64_t given = input.memory_bytes;
  input.threads = 1;
  const auto accepts = [&](std::uint64_t memory) {
    input.memory_bytes = memory;
    return geometry_for(input, {}).has_value();
  };
  if (accepts(given)) return;
  inputs.refuse_decoders(given, least_memory(given, accepts).value_or(given));
}

}  // namespace

bool is_little(const GeneralSortOptions& options, const Inputs& inputs) {
  return is_little(options, inputs.size_known ? std::optional(inputs.bytes) : std::nullopt);
}

PlannedGeneral plan_general_job(const GeneralSortOptions& options, const Inputs& inputs) {
  GeneralPlanInput input = plan_for_cpu(options, inputs);
  check_decoders_fit(input, inputs);
  PlannedGeneral planned;
  if (options.acceleration == Acceleration::always) {
    if (options.merge_only) {
      throw Error(ErrorCode::usage, "files that are sorted already are merged on the CPU");
    }
    planned = plan_for_accelerator(options, inputs, input);
    if (!planned.accelerator) throw Error(ErrorCode::device, planned.no_accelerator);
    return planned;
  }
  // What fits in memory is sorted there as fast as disks deliver it.
  if (options.acceleration == Acceleration::if_it_pays && !options.merge_only &&
      inputs.size_known &&
      inputs.bytes >= std::max(options.worth_accelerating, options.memory_bytes)) {
    // An accelerator wants whole keys.
    if (options.keys == nullptr || !options.keys->is_costly_in_full()) {
      return plan_for_accelerator(options, inputs, input);
    }
    planned.no_accelerator = "whole keys of this locale take longer to make than sorting here";
  }
  planned.input = input;
  if (is_little(options, inputs)) planned.input.threads = 1;
  return planned;
}

std::optional<GeneralGeometry> geometry_for(const GeneralSortOptions& options, const Inputs& inputs,
                                            const LongRecords& needs) {
  try {
    return geometry_for(plan_general_job(options, inputs).input, needs);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) throw;
    return std::nullopt;
  }
}

std::optional<GeneralGeometry> geometry_for(GeneralPlanInput input, const LongRecords& needs) {
  const auto best = with_best_threads(input);
  const auto usual = best ? plan_general(*best) : std::nullopt;
  if (!usual || needs.longest == 0) return usual;
  input = *best;
  // As run formation has it: the blocks of runs are those of ordinary records.
  input.block_bytes = usual->block_bytes;
  if (needs.longest + 2 * GeneralReader::kHeadroom > usual->region_bytes) {
    input.longest_record = needs.longest;
  }
  input.merged_bytes = needs.merged;
  return plan_general(input);
}

SortPlan plan_of(const GeneralSortOptions& options, const Inputs& inputs,
                 const PlannedGeneral& planned, const GeneralMemory& memory, bool is_little) {
  const GeneralGeometry& geometry = memory.geometry();
  SortPlan plan;
  plan.input_bytes = inputs.bytes;
  plan.input_size_known = inputs.size_known;
  plan.memory_bytes = options.memory_bytes;
  plan.sort_memory_bytes = geometry.regions * geometry.region_bytes;
  plan.block_bytes = geometry.block_bytes;
  plan.threads = memory.threads();
  plan.backend = backend_name(options, is_little);
  plan.record_kind = options.syntax.record_bytes != 0 ? "records"
                     : options.syntax.rows            ? "rows"
                                                      : "lines";
  plan.merge_degree = geometry.merge_degree;
  if (options.batch_size != 0)
    plan.merge_degree = std::min<std::uint64_t>(plan.merge_degree, options.batch_size);
  plan.no_accelerator = planned.no_accelerator;
  plan.skip = options.skip;
  plan.limit = options.limit;
  plan.expected_runs = geometry.runs;
  if (planned.accelerator) {
    const auto run_bytes = std::max<std::uint64_t>(planned.accelerator->chunk_bytes, 1);
    plan.device = planned.accelerator->description;
    plan.sort_memory_bytes = run_bytes * planned.accelerator->chunks;
    plan.expected_runs = inputs.bytes / run_bytes + 1;
  }
  if (options.merge_only) {
    plan.expected_runs = inputs.files.size();
    plan.passes = 1;
  } else if (memory.holds_input()) {
    plan.expected_runs = 1;
  } else {
    plan.passes = std::max(1U, merge_passes(plan.expected_runs, plan.merge_degree));
    if (!planned.accelerator) plan.passes = std::max(plan.passes, geometry.passes);
    plan.scratch_bytes = memory.scratch_bytes();
  }
  return plan;
}

}  // namespace xxl
