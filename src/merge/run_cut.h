// Where sorted runs in memory are cut, so that what lies in front is a beginning of their merge:
// found by selection, without merging them.
//
// All records have one order: that of their keys, equal ones that of the runs. A pivot, from the
// middle of the longest range that is left, cuts all runs; by what lies in front of it the cut is
// either there or before, or behind it. With a cut that is to have 6 letters in front:
//
//     run 0    a  c  e [f] h        pivot f: 4 are in front, so the cut is behind it
//     run 1    b |g  i  k
//
//     run 0    a  c  e  f |h        pivot i: 7 are in front, so it is not behind it; and so on
//     run 1    b  g [i] k           until nothing is left in between: a c e f, b g
//
// (Multisequence selection; Varman, Scheufler, Iyer, Ricard: Merging multiple lists on
// hierarchical- memory multiprocessors, 1991; here by bytes.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "merge/merge_source.h"
#include "record/key_extractor.h"

namespace xxl {

struct RunCut {
  std::vector<std::size_t> items;  // of each run: the first one that is behind
  std::uint64_t bytes = 0;         // of the records in front of these
};

// True if a record of `bytes` belongs behind the cut when `before` bytes lie in front of it. Once
// true, it must be true of all records that follow.
using IsBehindCut = std::function<bool(std::uint64_t before, std::uint64_t bytes)>;

// Cuts items `from` to `to` of each of `runs`, which are all in memory. Each record counts with
// `extra_bytes` more than it has. `keys` are those of all runs.
RunCut cut_runs(std::span<const MergeSource> runs, const KeyExtractor& keys,
                std::vector<std::size_t> from, std::vector<std::size_t> to,
                std::ptrdiff_t extra_bytes, const IsBehindCut& is_behind);

}  // namespace xxl
