#include "merge/run_cut.h"

#include <algorithm>
#include <utility>

#include "record/record_key.h"

namespace xxl {

RunCut cut_runs(std::span<const MergeSource> runs, const KeyExtractor& keys,
                std::vector<std::size_t> from, std::vector<std::size_t> to,
                std::ptrdiff_t extra_bytes, const IsBehindCut& is_behind) {
  const auto item = [&](std::size_t run, std::size_t i) -> const StringItem& {
    return runs[run].resident.items[i];
  };
  const auto bytes_of = [&](std::size_t run, std::size_t i) {
    return chunk_record_bytes(item(run, i).place()) + static_cast<std::uint64_t>(extra_bytes);
  };
  RunCut cut{std::move(from), 0};
  std::vector<std::size_t> split(runs.size());
  RecordKey key, pivot_key;
  for (;;) {
    std::size_t longest = 0;
    for (std::size_t run = 1; run < runs.size(); ++run) {
      if (to[run] - cut.items[run] > to[longest] - cut.items[longest]) longest = run;
    }
    if (runs.empty() || to[longest] == cut.items[longest]) return cut;
    const std::size_t pivot = cut.items[longest] + (to[longest] - cut.items[longest]) / 2;
    pivot_key.set(keys, chunk_record(runs[longest].resident.memory, item(longest, pivot).place()));
    std::uint64_t before = cut.bytes;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const ResidentRun& resident = runs[run].resident;
      const auto is_before_pivot = [&](const StringItem& each) {
        key.set(keys, chunk_record(resident.memory, each.place()));
        const int order = key.compare(pivot_key);
        return order != 0 ? order < 0 : run < longest;
      };
      const auto left = resident.items.subspan(cut.items[run], to[run] - cut.items[run]);
      split[run] = run == longest
                       ? pivot
                       : cut.items[run] +
                             static_cast<std::size_t>(
                                 std::partition_point(left.begin(), left.end(), is_before_pivot) -
                                 left.begin());
      for (std::size_t i = cut.items[run]; i < split[run]; ++i) before += bytes_of(run, i);
    }
    const std::uint64_t bytes = bytes_of(longest, pivot);
    if (is_behind(before, bytes)) {
      to.swap(split);
    } else {
      cut.items.swap(split);
      ++cut.items[longest];
      cut.bytes = before + bytes;
    }
  }
}

}  // namespace xxl
