#include "cluster/cluster_general_jobs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "cluster/cluster_general.h"
#include "job/general_sort/general_sort.h"
#include "job/join/general_join.h"

namespace xxl {

ClusterReport cluster_general_sort(const GeneralSortOptions& options, Peers& peers) {
  GeneralSortOptions sort = options;
  ClusterGeneral cluster(peers);
  return work_of_rank(peers, [&] {
    cluster.open_output(options);
    GeneralShare share =
        cluster.open_input(sort.inputs, sort.syntax, sort.syntax.header || sort.first_record);
    if (sort.first_record && share.first_record) sort.first_record(*share.first_record);
    sort.first_record = nullptr;  // not that of the share, but that of the input
    cluster.plan(sort);
    // How many records come before a range is not known, so one rank counts them all.
    const bool is_range = sort.limit || sort.skip > 0;
    if (is_range) cluster.merge_at_first();
    if (!is_range && !sort.has_groups()) {
      cluster.reserve_output(share.all_bytes + share.inputs.files.size());
    }
    sort.most_input_bytes = std::max<std::uint64_t>(share.all_bytes, 1);  // runs of all are merged
    sort.shared = &cluster;
    CallerSort& job = cluster.keep(make_general_caller_sort(sort, std::move(share.inputs)));
    const SortReport sorted = cluster.run(job, sort.syntax.rows);
    ClusterReport report = cluster.report(sorted, sorted.runs);
    report.device = sorted.plan.device;
    report.rows = {sorted};
    return report;
  });
}

ClusterReport cluster_general_join(const GeneralJoinOptions& options, Peers& peers) {
  GeneralJoinOptions join = options;
  ClusterGeneral cluster(peers);
  return work_of_rank(peers, [&] {
    if (!join.count_only) cluster.open_output(options);
    std::array<Inputs, kJoinSides> inputs;
    for (std::size_t side = 0; side < kJoinSides; ++side) {
      auto& first_record = join.rules[side].first_record;
      GeneralShare share = cluster.open_input({join.inputs[side]}, join.input_syntax(side),
                                              join.syntax.header || first_record);
      if (!join.syntax.header) {  // not that of the share, but that of the input
        if (first_record && share.first_record) first_record(*share.first_record);
        first_record = nullptr;
      }
      join.shared_bytes[side] = std::max<std::uint64_t>(share.all_bytes, 1);
      inputs[side] = std::move(share.inputs);
    }
    cluster.plan(join);
    join.shared = &cluster;
    GeneralJoin& job = cluster.keep(make_general_join(join, std::move(inputs)));
    const JoinReport report =
        cluster.run(job, join.input_syntax(0).rows || join.input_syntax(1).rows);
    ClusterReport of_rank = cluster.report(report, report.sides[0].runs + report.sides[1].runs);
    of_rank.rows = {report.sides[0], report.sides[1]};
    return of_rank;
  });
}

}  // namespace xxl
