// Arrow's C structures: owned, copied and shared, and the capsules that Python hands them over in.
//
// Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "xxl/arrow_c.h"

namespace xxl::python {

namespace nb = nanobind;

// A structure that is released with its owner. T: ArrowSchema, ArrowArray or ArrowArrayStream.
template <class T>
class Owned {
 public:
  Owned() = default;
  // Takes over what `from` has.
  explicit Owned(T* from) : value_(*from) { from->release = nullptr; }
  Owned(Owned&& other) noexcept : Owned(&other.value_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Owned() { reset(); }

  void reset() {
    if (value_.release != nullptr) value_.release(&value_);
    value_.release = nullptr;
  }
  // Gives it away.
  void move_to(T* to) {
    *to = value_;
    value_.release = nullptr;
  }
  bool empty() const { return value_.release == nullptr; }
  T* get() { return &value_; }
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_{};
};

// The same array, whose buffers live as long as `owner`, which owns `from`. That must be well
// formed.
void share_array(const ArrowArray& from, const std::shared_ptr<const void>& owner, ArrowArray* to);

// `stream` with batches of at most `rows` rows: larger ones are given in slices. These share the
// children of the batch, so the consumer must not move children away, as others may.
Owned<ArrowArrayStream> slice_batches(Owned<ArrowArrayStream> stream, std::int64_t rows);

// A stream of one batch.
Owned<ArrowArrayStream> stream_of(Owned<ArrowSchema> schema, Owned<ArrowArray> batch);

// A capsule that owns `value` until it is taken.
template <class T>
nb::object make_capsule(Owned<T> value);

// What a capsule holds. Throws Error{usage} if it is none of that kind, or empty.
template <class T>
Owned<T> take(nb::handle capsule);

}  // namespace xxl::python
