// Sorts a cache-sized piece: the one inner loop that run formation and merging share.
//
// A piece is a list of segments that together hold all records between two keys: a bucket while
// runs are formed, a slice through all runs while they are merged. The sorter gathers the keys,
// sorts them, and writes the records, each moved once, to wherever they go next. Merging a slice by
// sorting it costs the same whatever the number of runs, and on cache-sized pieces beats a loser
// tree for every record format measured (docs/internals/piece-sort.md).
//
// Segments in stable order (of arrival, or of runs) make the result stable.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "record/key_layout.h"
#include "sort/segment.h"

namespace xxl {

// A piece on its way out.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  virtual std::size_t size() const = 0;  // in records
  // Writes records [first, first + count) to `out`.
  virtual void write(std::size_t first, std::size_t count, std::byte* out) const = 0;
  // What `unique` left out.
  const MultisetHash& removed() const { return removed_; }

 protected:
  MultisetHash removed_;
};

class PieceSorter : public RecordSource {
 public:
  // Sorts the records of `segments`, at most `capacity` in all. The records must stay where they
  // are until the last write(). With `unique`, only the first record of each key is kept.
  virtual void sort(std::span<const Segment> segments) = 0;
};

// Records in the order of their segments.
class UnsortedPiece final : public RecordSource {
 public:
  // `records` must stay where they are until the last write().
  UnsortedPiece(std::vector<Segment> segments, std::size_t record_bytes);

  std::size_t size() const override { return records_; }
  void write(std::size_t first, std::size_t count, std::byte* out) const override;

 private:
  std::vector<Segment> segments_;
  std::size_t record_bytes_;
  std::size_t records_ = 0;
};

}  // namespace xxl
