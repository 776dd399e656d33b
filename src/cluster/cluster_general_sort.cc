#include "cluster/cluster_general_sort.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cluster/cluster_general.h"
#include "job/general_sort/general_sort.h"

namespace xxl {

ClusterReport cluster_general_sort(const GeneralSortOptions& options, Peers& peers) {
  GeneralSortOptions sort = options;
  ClusterGeneral cluster(peers);
  return work_of_rank(peers, [&] {
    cluster.open_output(options);
    GeneralShare share = cluster.open_input(sort.inputs, sort.syntax, sort.syntax.header);
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
    return report;
  });
}

}  // namespace xxl
