// What is asked of a sort or a join of files: the job of the public headers, what it may use, and
// what only the command line can say. The command line, ranks, Python and C++ fill in one of these;
// only this module turns it into options of an engine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/files/line_join.h"
#include "job/fixed_sort/fixed_sort_options.h"
#include "job/general_sort/general_sort_options.h"
#include "job/job.h"
#include "job/join/fixed_join_options.h"
#include "job/join/general_join_options.h"
#include "record/group_fold.h"
#include "record/group_selection.h"
#include "record/line_order.h"
#include "record/record_format.h"
#include "record/record_tags.h"
#include "xxl/join.h"
#include "xxl/sort.h"

namespace xxl {

struct SortSpec : SortJob, JobMeans {
  // Lines in the order that sort(1) understands, instead of keys, separator, flags and directions.
  std::optional<LineOrder> line_order = {};
  bool check_merged = true;  // with merge_only: an input that is not in order is an error
  GroupSizes group_sizes = GroupSizes::all;  // of text, with unique or count
  bool keep_order = false;  // with unique: records stay where they stood in the input
  std::vector<std::string> per =
      {};  // rows: of each group by these columns, the first `limit` ones
  // A set operation on the inputs, of which the first is read last unless it is a union. Binary
  // records without keys are compared as a whole.
  std::optional<GroupRule> set_rule = {};
  std::optional<PhiloxKey> shuffle_seed = {};  // random order
  std::string compress_program = {};           // as in GeneralSortOptions
  std::function<void(const Error&)> on_no_compress_program = {};
  AcceleratedMerge merge_on_accelerator = AcceleratedMerge::automatic;
};

// A job of the public header. Throws Error{usage} where members do not apply to its records.
SortSpec spec_of(const SortJob& job);

// Binary records with their keys. Throws Error{usage}.
RecordFormat format_of(const SortSpec& spec);
// Whether the engine for records of a fixed size sorts them.
bool is_fixed(const SortSpec& spec);
FixedSortOptions fixed_options(const SortSpec& spec);
GeneralSortOptions general_options(const SortSpec& spec);
// Throws Error{usage} where these functions do. Reads no file.
void check_usage(const SortSpec& spec);

// As the functions of the public header. What `spec` refers to must live until they return.
SortPlan plan_sort(const SortSpec& spec);
SortReport do_job(const SortSpec& spec);
OrderCheck check_order(const SortSpec& spec);

struct JoinSpec : JoinJob, JobMeans {
  std::optional<JoinShape> shape = {};  // which rows, instead of kind
  std::optional<LineJoin> lines = {};   // -t, -i and -e of join(1), instead of the members
  bool cross = false;                   // rows: all pairs, without keys
};

JoinSpec spec_of(const JoinJob& job);
inline const std::vector<std::string>& keys_of(const JoinJob& job, std::size_t side) {
  return side == 0 ? job.left_on : job.right_on;
}

bool is_fixed(const JoinSpec& spec);
FixedJoinOptions fixed_options(const JoinSpec& spec);
GeneralJoinOptions general_options(const JoinSpec& spec);  // also for binary records
void check_usage(const JoinSpec& spec);

JoinPlan plan_join(const JoinSpec& spec);
JoinReport do_job(const JoinSpec& spec);

}  // namespace xxl
