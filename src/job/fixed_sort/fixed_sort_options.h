// Options of a sort of records of a fixed size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/job.h"
#include "job/result_range.h"
#include "record/record_fold.h"
#include "record/record_format.h"

namespace xxl {

// Whether the accelerator that forms runs, or that `Acceleration::always` asks for, merges too.
enum class AcceleratedMerge {
  automatic,  // where the processors are measured to be the bottleneck
  never,
  always,  // from the start
};

struct FixedSortOptions : JobOptions, ResultRange {
  RecordFormat format;
  std::vector<std::string> inputs;  // "-" is standard input; empty means {"-"}
  bool unique = false;              // -u: keep the first record of each key
  RecordFold fold;                  // make one record of those of each key (without `unique`)
  bool merge_only = false;          // -m: the inputs are sorted, merge them
  bool repeatable = false;          // the output may be written again (CallerSort)
  AcceleratedMerge merge_on_accelerator = AcceleratedMerge::automatic;

  // Of the records in the output, and in runs that were formed.
  RecordFormat output_format() const { return folded_format(format, fold); }
};

}  // namespace xxl
