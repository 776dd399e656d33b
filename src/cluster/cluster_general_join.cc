#include "cluster/cluster_general_join.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "cluster/cluster_general.h"
#include "job/join/general_join.h"

namespace xxl {

ClusterReport cluster_general_join(const GeneralJoinOptions& options, Peers& peers) {
  GeneralJoinOptions join = options;
  ClusterGeneral cluster(peers);
  return work_of_rank(peers, [&] {
    if (!join.count_only) cluster.open_output(options);
    std::array<Inputs, kJoinSides> inputs;
    for (std::size_t side = 0; side < kJoinSides; ++side) {
      auto& first_record = join.first_record[side];
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
    return cluster.report(report, report.sides[0].runs + report.sides[1].runs);
  });
}

}  // namespace xxl
