// The records of regions that have been read: those that are to be sorted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "job/general_sort/general_reader.h"
#include "job/general_sort/general_sort_options.h"
#include "job/inputs.h"

namespace xxl {

// Where a record of a region begins, or its end.
struct RegionPlace {
  std::size_t segment = 0;
  std::size_t offset = 0;  // in it, in bytes

  bool at_start() const { return segment == 0 && offset == 0; }
};

// Leaves out records that are malformed, if they are to be skipped. From any thread.
class RegionRecords {
 public:
  // The references must outlive it.
  RegionRecords(const GeneralSortOptions& options, const Inputs& inputs)
      : options_(options), inputs_(inputs) {}

  // True if records are checked, which costs more than finding them.
  bool are_checked() const { return options_.malformed != nullptr; }

  // To be called before visits that move records, which is to say, that tag them: a message about a
  // malformed one could not say any more where it is. Throws Error{bad_input}.
  void check(const GeneralSegment& segment) {
    if (!are_checked_before()) return;
    visit_segment(segment, 0, options_.syntax,
                  [&](std::string_view record) { return accept(segment, record); });
  }

  // Calls visit(record) for each record of `segment` from `offset` on, until it returns false.
  // Returns where the unvisited records begin. Throws Error{bad_input}.
  template <class Visit>
  std::size_t visit(const GeneralSegment& segment, std::size_t offset, Visit&& visit) {
    if (!are_checked() || are_checked_before()) {
      return visit_segment(segment, offset, options_.syntax, visit);
    }
    return visit_segment(segment, offset, options_.syntax, [&](std::string_view record) {
      return !accept(segment, record) || visit(record);
    });
  }

  // Records left out so far.
  std::uint64_t skipped() const { return skipped_; }

 private:
  bool are_checked_before() const {
    return are_checked() && options_.tags.any() && !options_.syntax.skip_malformed;
  }
  bool accept(const GeneralSegment& segment, std::string_view record) {
    const auto fault = options_.malformed(record);
    if (!fault) return true;
    if (!options_.syntax.skip_malformed) {
      throw_malformed(segment, record, options_.syntax, *fault,
                      inputs_.files[segment.input].path());
    }
    ++skipped_;
    return false;
  }

  const GeneralSortOptions& options_;
  const Inputs& inputs_;
  std::atomic<std::uint64_t> skipped_{0};
};

}  // namespace xxl
