// Exceptions of comparators, thrown on any thread of a sorter.
#include <exception>
#include <mutex>

#include "xxl/comparator.h"

namespace xxl::detail {
namespace {

std::mutex exceptions_mutex;  // for those of all orders: few, and seldom asked for

}  // namespace

void RecordOrder::keep_exception() const noexcept {
  std::lock_guard lock(exceptions_mutex);
  if (exception_ == nullptr) exception_ = std::current_exception();
}

bool RecordOrder::has_thrown() const noexcept {
  std::lock_guard lock(exceptions_mutex);
  return exception_ != nullptr;
}

void RecordOrder::rethrow() const {
  if (has_thrown()) std::rethrow_exception(exception_);
}

}  // namespace xxl::detail
