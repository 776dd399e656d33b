#include "cluster/run_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "cluster/thread_peers.h"
#include "merge/runs_on_disk.h"
#include "simulated_queue.h"
#include "sort_test_support.h"
#include "watchdog.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;
using test::merge::RunsOnDisk;

struct Parameter {
  std::string name;
  RecordFormat format;
};

class RunSplitOfFormat : public testing::TestWithParam<Parameter> {};

INSTANTIATE_TEST_SUITE_P(
    Formats, RunSplitOfFormat,
    testing::Values(Parameter{"u32", format_of("u32")}, Parameter{"kv64", format_of("kv64")},
                    Parameter{"gensort", format_of("gensort")},
                    Parameter{"long_key", format_of("fixed:60", {"5:bytes40"})},
                    Parameter{"large_record", format_of("fixed:1500", {"3:u8"})}),
    [](const auto& info) { return info.param.name; });

// A record of a run, in the order of all.
struct Placed {
  const std::byte* record;
  std::size_t rank, run;
};

TEST_P(RunSplitOfFormat, cuts_runs_where_a_stable_sort_of_all_records_does) {
  const RecordFormat& format = GetParam().format;
  const KeyLayout layout(format);
  std::uint64_t seed = 100;
  for (const test::Distribution& distribution : test::distributions()) {
    for (const unsigned ranks : {1u, 2u, 5u}) {
      ++seed;
      SCOPED_TRACE(distribution.name + " on " + std::to_string(ranks));
      Random random(seed);
      const std::size_t block_bytes = round_up(format.record_bytes, kSectorBytes);
      std::vector<std::unique_ptr<RunsOnDisk>> scratch;
      std::vector<std::vector<Bytes>> runs(ranks);
      std::vector<Placed> all;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        scratch.push_back(std::make_unique<RunsOnDisk>(format, 1, block_bytes, seed));
        const std::size_t count = random.below(5);
        for (std::size_t run = 0; run < count; ++run) {
          runs[rank].push_back(
              test::sorted_records(format, distribution.make(format, random.below(2000), random)));
          scratch[rank]->add_scratch_run(runs[rank].back());
        }
        for (std::size_t run = 0; run < count; ++run) {
          const Bytes& records = runs[rank][run];
          for (std::size_t at = 0; at < records.size(); at += format.record_bytes) {
            all.push_back({records.data() + at, rank, run});
          }
        }
      }
      std::stable_sort(all.begin(), all.end(), [&](const Placed& a, const Placed& b) {
        return layout.compare(a.record, b.record) < 0;
      });
      std::vector<std::uint64_t> starts;
      for (unsigned i = 0; i <= ranks; ++i) starts.push_back(random.below(all.size() + 1));
      std::sort(starts.begin(), starts.end());
      if (random.below(2) == 0) starts.front() = 0;
      const bool whole_keys = random.below(2) == 0;
      if (whole_keys || random.below(2) == 0) starts.back() = all.size();

      std::vector<RunCuts> cuts(ranks);
      test::run_ranks(ranks, true, [&](Peers& peers) {
        RunsOnDisk& own = *scratch[peers.rank()];
        io::IoService io(test::simulated_queues(seed));
        RunStore store(own.store(), io);
        const MemoryRegion memory(split_buffers(own.runs().size(), ranks) * block_bytes + 1);
        cuts[peers.rank()] = split_runs(layout, own.runs(), store, starts, whole_keys,
                                        memory.span(), block_bytes, peers);
      });
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        for (std::size_t part = 0; part <= ranks; ++part) {
          std::uint64_t start = starts[part];
          const auto has_key_of_one_before = [&] {
            return start > 0 && start < all.size() &&
                   layout.compare(all[start - 1].record, all[start].record) == 0;
          };
          while (whole_keys && has_key_of_one_before()) --start;
          std::vector<std::uint64_t> expected(runs[rank].size());
          for (std::uint64_t i = 0; i < start; ++i) {
            if (all[i].rank == rank) ++expected[all[i].run];
          }
          ASSERT_EQ(cuts[rank][part], expected) << "rank " << rank << ", part " << part;
        }
      }
    }
  }
}

}  // namespace
}  // namespace xxl
