// Sorts and joins tables on several machines (docs/internals/cluster.md).
//
//     (sort_columns)        each rank makes rows of its share of each input, which it sorts
//     shared_schema         of the same columns
//     shared_dictionaries   and which refer to dictionaries of all
//     cluster_text          runs of them are merged as those of text
//     rank_columns          to a part of its own
#pragma once

#include "cluster/cluster_general.h"
#include "cluster/peers.h"
#include "xxl/arrow_c.h"
#include "xxl/columns.h"
#include "xxl/resources.h"
#include "xxl/sort.h"

namespace xxl {

// The other ranks of a job that one rank takes part in, and the report of its part.
struct JobOfRank {
  ClusterGeneral& cluster;
  Peers& peers;
  SortReport& report;
};

// As sort_columns(), of the share of this rank, which is read here; `out` gives its range of the
// rows of all, and has the metadata of rank 0. Both are steps of all ranks, which must be given the
// same options. `shared` is for this sort alone. `report` is filled in with the end of `out`.
// Throws Error{bad_input} also if others have other columns.
//
// When `out` fails, or the work with what it gives, Peers::fail() must be told before it is
// released: others may wait for this rank, or read what it has.
void cluster_sort_columns(ArrowArrayStream* in, ArrowArrayStream* out,
                          const column_sort_options& options, const resources& shared,
                          ClusterGeneral& cluster, Peers& peers, SortReport& report);

// The same of join_columns(), always by sort-merge. `report`: records_in are the rows of both
// tables.
void cluster_join_columns(ArrowArrayStream* left, ArrowArrayStream* right, ArrowArrayStream* out,
                          const column_join_options& options, const resources& shared,
                          ClusterGeneral& cluster, Peers& peers, SortReport& report);

}  // namespace xxl
