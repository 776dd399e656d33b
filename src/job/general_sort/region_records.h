// The records of regions that have been read: those that are to be sorted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "job/general_sort/general_reader.h"
#include "job/general_sort/general_sort_options.h"
#include "job/inputs.h"
#include "job/row_faults.h"
#include "record/record_rules.h"

namespace xxl {

// Where a record of a region begins, or its end.
struct RegionPlace {
  std::size_t segment = 0;
  std::size_t offset = 0;   // in it, in bytes
  std::size_t checked = 0;  // segments before this one have been checked (RegionRecords)

  bool at_start() const { return segment == 0 && offset == 0; }
};

// Leaves out records that are malformed, if they are to be skipped. From any thread.
class RegionRecords {
 public:
  // The references must outlive it. Malformed records that do not end the job are added to `log`.
  RegionRecords(const GeneralSortOptions& options, const Inputs& inputs, RowFaultLog& log)
      : options_(options), inputs_(inputs), log_(log) {}

  // True if records are checked, which costs more than finding them.
  bool are_checked() const { return options_.malformed != nullptr; }

  // To be called before visits that move records, which is to say, that tag them: a message about a
  // malformed one could not say any more where it is. Throws Error{bad_input}.
  void check(const GeneralSegment& segment) {
    if (!are_checked_before()) return;
    LineOf line(segment, options_.syntax);
    visit_segment(segment, 0, options_.syntax, [&](std::string_view record) {
      if (const auto fault = options_.malformed(record)) note(segment, record, *fault, line);
      return true;
    });
  }

  // Calls visit(record) for each record of `segment` from `offset` on, until it returns false.
  // Returns where the unvisited records begin. Throws Error{bad_input}.
  template <class Visit>
  std::size_t visit(const GeneralSegment& segment, std::size_t offset, Visit&& visit) {
    const bool was_checked = are_checked_before();
    if (!are_checked() || (was_checked && !options_.syntax.tolerant)) {
      return visit_segment(segment, offset, options_.syntax, visit);
    }
    LineOf line(segment, options_.syntax);
    return visit_segment(segment, offset, options_.syntax, [&](std::string_view record) {
      const auto fault = options_.malformed(record);
      if (!fault) return visit(record);
      if (fault->fate == Fate::keep && !visit(record)) return false;
      if (!was_checked) note(segment, record, *fault, line);
      return true;
    });
  }

 private:
  using Fate = RecordFault::Fate;

  // The lines of records of a segment, in ascending order.
  class LineOf {
   public:
    LineOf(const GeneralSegment& segment, const RecordSyntax& syntax)
        : segment_(segment), syntax_(syntax), line_(segment.lines + 1) {}

    std::uint64_t operator()(std::string_view record) {
      const auto at = static_cast<std::size_t>(record.data() - segment_.text.data());
      line_ += lines_in(segment_.text.substr(counted_, at - counted_), syntax_);
      counted_ = at;
      return line_ + lines_before_open_quote(record, syntax_);
    }

   private:
    const GeneralSegment& segment_;
    const RecordSyntax& syntax_;
    std::size_t counted_ = 0;
    std::uint64_t line_;
  };

  bool are_checked_before() const { return are_checked() && options_.tags.any(); }

  void note(const GeneralSegment& segment, std::string_view record, const RecordFault& fault,
            LineOf& line) {
    const std::string& path = inputs_.files[segment.input].path();
    if (fault.fate == Fate::error) {
      throw_malformed(segment, record, options_.syntax, fault.what, path);
    }
    const auto at = static_cast<std::uint64_t>(record.data() - segment.text.data());
    log_.add(fault, {segment.input, segment.offset + at, path}, record,
             [&] { return line(record); });
  }

  const GeneralSortOptions& options_;
  const Inputs& inputs_;
  RowFaultLog& log_;
};

}  // namespace xxl
