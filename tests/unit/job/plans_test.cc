// Plans of memory of all kinds, equal number by number to those of plans.golden. Whoever changes
// how memory is divided makes that file anew, with XXL_WRITE_PLANS=1, and looks at what changed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "job/fixed_sort/plan.h"
#include "job/general_sort/general_job_plan.h"
#include "job/general_sort/general_plan.h"
#include "job/join/general_join_budget.h"
#include "job/join/hash_plan.h"
#include "job/join/join_plan.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

// Numbers of a plan, with the names of those that are not 0.
class Numbers {
 public:
  template <class T>
  Numbers& add(const char* name, T value) {
    if (value != T{}) text_ << ' ' << name << '=' << +value;
    return *this;
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool one_in(unsigned n) { return below(n) == 0; }
  // Of all magnitudes from 2^low to 2^high.
  std::uint64_t size(double low, double high) {
    const double share = static_cast<double>(below(1 << 20)) / (1 << 20);
    return static_cast<std::uint64_t>(std::exp2(low + (high - low) * share));
  }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

 private:
  std::mt19937_64 random_;
};

std::string numbers_of(const Geometry& g) {
  const CpuChunkGeometry& c = g.chunk;
  return Numbers()
      .add("region", g.region_bytes)
      .add("table", g.table_bytes)
      .add("threads", g.threads)
      .add("block", g.block_bytes)
      .add("block_records", g.records_per_block)
      .add("slot", g.slot_bytes)
      .add("read_block", g.read_block_bytes)
      .add("read_blocks", g.read_blocks)
      .add("output_blocks", g.output_blocks)
      .add("piece", g.piece_capacity)
      .add("sorted_region", c.region_bytes)
      .add("buckets", c.buckets)
      .add("max_buckets", c.max_buckets())
      .add("chunk_piece", c.piece_capacity)
      .add("push", c.push_records)
      .add("early", c.leaves_early)
      .add("resident", c.resident_bytes)
      .add("chunk", c.memory_bytes)
      .add("keeps_rest", c.keeps_rest)
      .add("keeps_all", c.keeps_all)
      .add("unsorted", g.cells_unsorted)
      .add("slice", g.slice_bytes)
      .add("slices", g.slices)
      .add("merge", g.merge_region_bytes)
      .add("merge_piece", g.merge_piece_records)
      .add("merge_capacity", g.merge_piece_capacity)
      .add("merge_output", g.merge_output_bytes)
      .add("final_block", g.final_block_bytes)
      .add("merge_blocks", g.merge_blocks)
      .add("degree", g.merge_degree)
      .add("large", g.large_sorters)
      .add("large_piece", g.large_piece_records)
      .add("large_capacity", g.large_piece_capacity)
      .add("large_staging", g.large_staging_bytes)
      .text();
}

std::string numbers_of(const GeneralGeometry& g) {
  return Numbers()
      .add("memory", g.memory_bytes)
      .add("write", g.write_bytes)
      .add("output", g.output_bytes)
      .add("items", g.item_capacity)
      .add("keys", g.key_bytes)
      .add("region", g.region_bytes)
      .add("regions", g.regions)
      .add("merge", g.merge_bytes)
      .add("block", g.block_bytes)
      .add("slot", g.slot_bytes)
      .add("packed_block", g.packed_block_bytes)
      .add("output_block", g.output_block_bytes)
      .add("chunk", g.chunk_bytes)
      .add("table", g.table_bytes)
      .add("degree", g.merge_degree)
      .add("runs", g.runs)
      .add("passes", g.passes)
      .add("cost", g.merge_cost)
      .text();
}

std::string numbers_of(const JoinGeometry& g) {
  return Numbers()
      .add("R", g.side_bytes[0])
      .add("S", g.side_bytes[1])
      .add("R_block", g.read_block_bytes[0])
      .add("S_block", g.read_block_bytes[1])
      .add("output", g.output_bytes)
      .add("output_block", g.output_block_bytes)
      .add("part", g.part_bytes)
      .add("piece", g.piece_records)
      .add("list", g.list_bytes)
      .add("group", g.group_bytes)
      .text();
}

std::string numbers_of(const HashGeometry& g) {
  return Numbers()
      .add("region", g.region_bytes)
      .add("threads", g.threads)
      .add("read_block", g.read_block_bytes)
      .add("read", g.read_bytes)
      .add("output_block", g.output_block_bytes)
      .add("output", g.output_bytes)
      .add("lists", g.lists)
      .add("matches", g.list_matches)
      .add("records", g.table.records)
      .add("partitions", g.table.partitions)
      .add("numbers", g.table.numbers)
      .add("shift", g.slab_shift)
      .add("slabs", g.slabs)
      .add("build", g.records_bytes)
      .add("table", g.table_bytes)
      .add("scatter_records", g.scatter_records)
      .add("scatter", g.scatter_bytes)
      .add("batch_slab", g.batch_slab_bytes)
      .add("batch_records", g.batch_records)
      .add("batch", g.batch_bytes)
      .text();
}

std::string plan_records(Draws& draws) {
  PlanInput input;
  const std::string format =
      draws.of<const char*>({"u32", "u64", "kv32", "kv64", "gensort", "fixed:3000", "fixed:2"});
  input.memory_bytes = draws.size(18, 38);
  input.input_bytes = draws.size(10, 43);
  input.input_size_known = !draws.one_in(8);
  if (!input.input_size_known && draws.one_in(2)) input.input_bytes = 0;
  input.threads = static_cast<unsigned>(draws.size(0, 7));
  input.scratch_disks = 1 + static_cast<unsigned>(draws.below(4));
  if (draws.one_in(8)) input.batch_size = 2 + static_cast<unsigned>(draws.below(100));
  input.merge_only = draws.one_in(5);
  input.in_order = draws.one_in(5);
  if (draws.one_in(8)) input.limit = draws.size(0, 30);
  if (input.merge_only) {
    input.merge_inputs = draws.size(0, 12);
    if (draws.one_in(2)) input.largest_input = input.input_bytes / input.merge_inputs + 1;
  } else if (draws.one_in(5)) {
    input.accelerated = true;
    input.chunk_bytes = draws.size(24, 36);
  }
  input.merge_accelerated = draws.one_in(5);
  if (draws.one_in(6)) input.scratch_codec = draws.of({Codec::zstd, Codec::lz4});
  if (draws.one_in(8)) input.folding_bytes = draws.size(10, 20);
  if (draws.one_in(8)) input.merge_memory_bytes = input.memory_bytes / (2 + draws.below(4));
  if (draws.one_in(8)) input.ranks = 2 + static_cast<unsigned>(draws.below(7));
  if (draws.one_in(8)) input.beside_bytes = draws.size(16, 24);
  return numbers_of(plan_geometry(input, KeyLayout(test::format_of(format))));
}

GeneralPlanInput text_input(Draws& draws) {
  GeneralPlanInput input;
  input.memory_bytes = draws.size(20, 38);
  input.input_bytes = draws.size(10, 43);
  input.size_known = !draws.one_in(6);
  if (!input.size_known) input.input_bytes = 0;
  input.threads = static_cast<unsigned>(draws.size(0, 7));
  input.keys_are_records = !draws.one_in(2);
  if (draws.one_in(6)) input.scratch_codec = draws.of({Codec::zstd, Codec::lz4});
  input.temp_program = draws.one_in(12);
  if (draws.one_in(8)) input.output_codec = draws.of({Codec::gzip, Codec::zstd});
  if (draws.one_in(8)) input.decoder_bytes = input.memory_bytes / (4 + draws.below(30));
  if (draws.one_in(8)) {
    input.staging_bytes =
        round_down(static_cast<std::size_t>(input.memory_bytes / 4), kSectorBytes);
    input.accelerator_bytes = draws.size(24, 36);
  }
  if (draws.one_in(8)) input.spare_table_bytes = draws.size(10, 24);
  return input;
}

std::string too_small(const GeneralPlanInput& input) {
  return " error: memory_bytes (" + format_bytes(input.memory_bytes) +
         ") is too small for 1 thread: give more";
}

std::string plan_lines(Draws& draws) {
  const GeneralPlanInput input = text_input(draws);
  const auto best = with_best_threads(input);
  return best ? numbers_of(*plan_general(*best)) : too_small(input);
}

std::string plan_long_lines(Draws& draws) {
  GeneralPlanInput input = text_input(draws);
  LongRecords needs{static_cast<std::size_t>(draws.size(10, 30)), 0};
  if (draws.one_in(2)) needs.merged = 2 * needs.longest;
  const auto geometry = geometry_for(input, needs);
  return geometry ? numbers_of(*geometry) : " nothing";
}

std::string plan_join(Draws& draws) {
  JoinPlanInput input;
  for (auto& side : input.sides) {
    side.input_bytes = draws.size(10, 43);
    side.size_known = !draws.one_in(8);
    side.presorted = draws.one_in(4);
    side.record_bytes = draws.of({4, 8, 16, 100, 3000});
    side.table_bytes = draws.size(8, 24);
  }
  input.memory_bytes = draws.size(18, 38);
  input.row_bytes = input.sides[0].record_bytes + input.sides[1].record_bytes;
  input.threads = static_cast<unsigned>(draws.size(0, 7));
  const auto geometry = plan_join_memory(input);
  return geometry ? numbers_of(*geometry) : " nothing";
}

std::string plan_hash(Draws& draws) {
  HashPlanInput input;
  input.memory_bytes = draws.size(18, 38);
  input.threads = static_cast<unsigned>(draws.size(0, 7));
  input.build_records = draws.size(2, 33);
  input.build_record_bytes = draws.of({4, 8, 16, 100, 3000});
  input.probe_record_bytes = draws.of({4, 8, 16, 100, 3000});
  input.row_bytes = input.build_record_bytes + input.probe_record_bytes;
  if (draws.one_in(2)) input.probe_bytes = draws.size(10, 43);
  const auto geometry = plan_hash_geometry(input);
  if (geometry) return numbers_of(*geometry);
  const auto least = least_hash_memory(input);
  return least ? " least=" + std::to_string(*least) : " never";
}

std::string plan_join_of_lines(Draws& draws) {
  GeneralJoinOptions options;
  options.memory_bytes = draws.size(20, 38);
  options.threads = static_cast<unsigned>(draws.size(0, 7));
  options.output = "-";
  JoinInputs inputs;
  JoinLongRecords longest{};
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    inputs[i] = {draws.size(10, 43), !draws.one_in(8), draws.one_in(4)};
    options.presorted[i] = inputs[i].presorted;
    if (draws.one_in(4)) longest[i] = {draws.size(10, 26), draws.size(8, 10), 100};
  }
  const bool is_little = draws.one_in(8);
  const GeneralJoinBudget budget = make_budget(options, options.memory_bytes, is_little);
  Numbers numbers;
  numbers.add("threads", budget.threads)
      .add("group", budget.group_bytes)
      .add("rows", budget.rows_bytes)
      .add("file", budget.file_bytes)
      .add("record", budget.record_bytes)
      .add("rest", budget.rest);
  for (const GeneralPlanInput& plan : plan_inputs(options, budget, inputs)) {
    numbers.add("side", plan.memory_bytes).add("spare", plan.spare_table_bytes);
  }
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const GeneralPlanInput plan = plan_inputs(options, budget, inputs)[i];
    if (!inputs[i].presorted && !with_best_threads(plan)) return too_small(plan);
  }
  numbers.add("has_room", has_room_for(options, budget, inputs, longest));
  return numbers.text();
}

// Every plan that is drawn, one a line.
std::string all_plans() {
  struct Kind {
    const char* name;
    std::string (*plan)(Draws&);
    unsigned count;
  };
  constexpr Kind kKinds[] = {
      {"records", plan_records, 800},       {"lines", plan_lines, 500},
      {"long lines", plan_long_lines, 200}, {"join", plan_join, 150},
      {"hash join", plan_hash, 200},        {"join of lines", plan_join_of_lines, 150}};
  std::string plans;
  unsigned seed = 0;
  for (const Kind& kind : kKinds) {
    for (unsigned i = 0; i < kind.count; ++i, ++seed) {
      Draws draws(seed);
      std::string plan;
      try {
        plan = kind.plan(draws);
      } catch (const Error& error) {
        plan = std::string(" error: ") + error.what();
      }
      plans += std::string(kind.name) + " " + std::to_string(seed) + ":" + plan + "\n";
    }
  }
  return plans;
}

TEST(Plans, are_those_of_the_golden_file) {
  const std::string plans = all_plans();
  if (std::getenv("XXL_WRITE_PLANS") != nullptr) std::ofstream(XXL_PLANS) << plans;
  std::istringstream now(plans);
  std::ifstream golden(XXL_PLANS);
  std::string wanted, line;
  unsigned lines = 0;
  while (std::getline(golden, wanted) && std::getline(now, line)) {
    EXPECT_EQ(line, wanted);
    ++lines;
  }
  EXPECT_EQ(lines, 2000U);
}

}  // namespace
}  // namespace xxl
