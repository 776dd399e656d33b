// The plan of a merge: the cells that it is cut into, and which blocks lie in which of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/general_run.h"

namespace xxl {

// The first key of a block or another part of a run, or a lower bound of it.
struct CellSample {
  std::string_view key;     // not owned
  std::uint64_t bytes = 0;  // of that part
  bool whole_key = false;
};

// Keys from `lower` on and, if there is an `upper`, below that.
struct KeyRange {
  std::string lower{};
  std::optional<std::string> upper{};
};

// Ranges of keys: cell i holds the keys with boundary(i) <= key < boundary(i + 1).
class GeneralCells {
 public:
  // Boundaries are chosen among the samples, so that cells have about `cell_bytes`. A key that many
  // samples have gets a cell of its own. Keys outside `range` are in one cell on either side.
  GeneralCells(std::vector<CellSample> samples, std::uint64_t cell_bytes,
               const KeyRange& range = {});
  // Cells with these boundaries, strictly ascending and none of them empty.
  explicit GeneralCells(std::vector<std::string> boundaries) : boundaries_(std::move(boundaries)) {}

  std::size_t count() const { return boundaries_.size() + 1; }
  // Those in the range.
  std::size_t first() const { return is_cut_below_ ? 1 : 0; }
  std::size_t end() const { return count() - (is_cut_above_ ? 1 : 0); }
  // Smallest key of `cell`; of the first one the empty string.
  std::string_view lower(std::size_t cell) const {
    return cell == 0 ? std::string_view() : std::string_view(boundaries_[cell - 1]);
  }
  bool has_upper(std::size_t cell) const { return cell + 1 < count(); }
  std::string_view upper(std::size_t cell) const { return boundaries_[cell]; }
  // Length of the common prefix of all keys of `cell`, in bytes.
  std::size_t common_prefix(std::size_t cell) const;

  // The cell of `key`.
  std::size_t cell_of(std::string_view key) const;
  // The cell of the largest key below `key`.
  std::size_t cell_before(std::string_view key) const;

 private:
  std::vector<std::string> boundaries_;  // strictly ascending
  bool is_cut_below_ = false;
  bool is_cut_above_ = false;
};

// First and last cell that the records of a block can be in.
struct CellRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Of each block of `run`.
std::vector<CellRange> cell_ranges(const GeneralCells& cells, const GeneralRun& run);

}  // namespace xxl
