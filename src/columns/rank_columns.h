// Files of columns that ranks write: one of each, in a directory of parts
// (docs/internals/cluster.md).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "cluster/peers.h"
#include "cluster/rank_directory.h"
#include "columns/files/column_target.h"
#include "job/job.h"
#include "job/part_manifest.h"

namespace xxl {

// Is written with PartRules of one part.
class RankColumns final : public ColumnTarget {
 public:
  // A step of all ranks. `options` must outlive it. Throws Error.
  RankColumns(const JobOptions& options, Peers& peers) : directory_(options, peers, false) {}

  // Steps of all ranks.
  void publish(io::ReadBack* /*read_back*/) override { directory_.publish(part_); }

 private:
  void put(std::span<const std::byte> data) override;
  void end_part(const module_table::PartFacts& part) override;

  RankDirectory directory_;
  PartManifest::Part part_;
};

}  // namespace xxl
