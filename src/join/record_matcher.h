// Finds the matches of two sorted sequences of binary records: the inner loop of a join.
//
//     R   2 3 3 5 8        matches   R [3 3]  x  S [3 3 3]
//     S   1 3 3 3 5 9                R [5]    x  S [5]
//
// A match is a range of R with a range of S, not a pair: all rows are known, and can be counted,
// before one is written. Source: Maltenberger, "Efficiently Joining Large Relations on Multi-GPU
// Systems with Modern Interconnects" (2024), section 3.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "join/join_kind.h"
#include "record/key_layout.h"
#include "sort/segment.h"

namespace xxl {

// A range of each side, by numbers of records in the two sequences.
struct Match {
  enum class Rows : std::uint32_t {
    product,  // each R of the range with each S
    zipped,   // as many of each side, each R with the S at its place
    r_only,   // each R alone
    s_only,   // each S alone
  };
  std::uint32_t r = 0;
  std::uint32_t s = 0;
  std::uint32_t r_count = 0;
  std::uint32_t s_count = 0;
  Rows rows = Rows::product;

  std::uint64_t row_count() const {
    if (rows == Rows::product) return std::uint64_t{r_count} * s_count;
    return rows == Rows::s_only ? s_count : r_count;
  }
};

// Consecutive records in memory, in segments; a sequence of up to 2^32 - 1 in all.
class RecordSequence {
 public:
  explicit RecordSequence(std::size_t record_bytes) : record_bytes_(record_bytes) {}

  void clear() {
    segments_.clear();
    size_ = 0;
  }
  // `segment` must stay where it is.
  void append(const Segment& segment);

  std::size_t size() const { return size_; }
  std::size_t record_bytes() const { return record_bytes_; }
  // Record `index`; `count`: how many there are from it to the end of its segment.
  const std::byte* at(std::size_t index, std::size_t& count) const;
  void add_to(MultisetHash& hash) const;

 private:
  struct NumberedSegment {
    const std::byte* records;
    std::size_t first;  // number in the sequence
    std::size_t count;
  };
  std::size_t record_bytes_;
  std::size_t size_ = 0;
  std::vector<NumberedSegment> segments_;
};

// Totals of matching.
struct MatchTotals {
  std::uint64_t rows = 0;
  std::uint64_t matched_r = 0;  // records that have a partner
  std::uint64_t matched_s = 0;
};

// Stateless; used by many threads at once.
class RecordMatcher {
 public:
  virtual ~RecordMatcher() = default;

  // Matches `r` with `s`, both in order of their keys, for a join of `kind`: rows in the order of
  // R, then S, those of one side in their place by key. `matches`, at least as many as there are
  // different keys in `r` and `s` together, is filled from its start; `count` becomes the number.
  virtual MatchTotals match(const RecordSequence& r, const RecordSequence& s,
                            std::span<Match> matches, std::size_t& count) const = 0;
};

// Both layouts must outlive the matcher, and their keys be comparable (join/output_layout.h).
std::unique_ptr<RecordMatcher> make_record_matcher(const KeyLayout& r, const KeyLayout& s,
                                                   JoinKind kind);

// Order of the key of `a`, of layout `x`, and that of `b`, of layout `y`: negative, 0 or positive.
inline int compare_keys(const KeyLayout& x, const std::byte* a, const KeyLayout& y,
                        const std::byte* b) {
  for (std::size_t i = 0; i < x.words(); ++i) {
    const std::uint64_t v = x.word(a, i), w = y.word(b, i);
    if (v != w) return v < w ? -1 : 1;
  }
  return 0;
}

}  // namespace xxl
