// A sort that may have callers at its ends (io/caller_queue.h): its steps.
#pragma once

#include <memory>

#include "job/small_sort.h"
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

  // In place of all these, for an input that may be small. Must be destroyed before this. Null: for
  // none.
  virtual std::unique_ptr<SmallSort> small_sort() const { return nullptr; }
};

}  // namespace xxl
