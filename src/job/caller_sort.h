// A sort that may have callers at its ends (io/caller_queue.h): its steps.
#pragma once

#include <cstddef>
#include <span>

#include "xxl/sort.h"

namespace xxl {

// run() and write_again() are for one thread.
class CallerSort {
 public:
  virtual ~CallerSort() = default;

  // Sorts into the output, once.
  virtual SortReport run() = 0;
  // If its options say that it is repeatable, after run(): writes the output of a caller again.
  virtual void write_again() = 0;
  // Of the output, nothing more is wanted: run() or write_again() returns as soon as it can. From
  // any thread.
  virtual void stop_writing() = 0;

  // The bytes of whole records in `wanted`, at least of one, as far as an input of so many is
  // small. 0: none is.
  virtual std::size_t small_bytes(std::size_t /*wanted*/) const { return 0; }
  // In place of all these, if the input is small: sorts `records` into `sorted`,
  // which has as much room, without threads or scratch space. Returns the part of it that is the
  // output. Once.
  virtual std::span<const std::byte> sort_small(std::span<const std::byte> /*records*/,
                                                std::span<std::byte> /*sorted*/) {
    return {};
  }
  virtual SortReport report_of_small() const { return {}; }
};

}  // namespace xxl
