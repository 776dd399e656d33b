#include "arrow_parts.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "errors.h"
#include "exported_stream.h"

namespace xxl::python {
namespace {

// --- shared arrays ---

struct SharedParts {
  std::shared_ptr<const void> owner;
  std::vector<Owned<ArrowArray>> children;
  std::vector<ArrowArray*> child_pointers;
  Owned<ArrowArray> dictionary;
};

void release_shared(ArrowArray* array) {
  delete static_cast<SharedParts*>(array->private_data);
  array->release = nullptr;
}

// --- streams ---

class SlicedStream {
 public:
  SlicedStream(Owned<ArrowArrayStream> stream, std::int64_t rows)
      : stream_(std::move(stream)), rows_(rows) {}

  int get_schema(ArrowSchema* out) { return stream_->get_schema(stream_.get(), out); }
  int get_next(ArrowArray* out) {
    if (batch_ == nullptr) {
      Owned<ArrowArray> batch;
      const int result = stream_->get_next(stream_.get(), batch.get());
      if (result != 0) return result;
      if (batch.empty() || !is_sliced(*batch)) {
        batch.move_to(out);
        return 0;
      }
      batch_ = std::make_shared<Owned<ArrowArray>>(std::move(batch));
      next_row_ = 0;
    }
    const ArrowArray& batch = **batch_;
    auto owner = std::make_unique<std::shared_ptr<Owned<ArrowArray>>>(batch_);
    *out = batch;
    out->offset = batch.offset + next_row_;
    out->length = std::min(rows_, batch.length - next_row_);
    if (batch.null_count != 0) out->null_count = -1;
    out->private_data = owner.release();
    out->release = [](ArrowArray* slice) {
      delete static_cast<std::shared_ptr<Owned<ArrowArray>>*>(slice->private_data);
      slice->release = nullptr;
    };
    next_row_ += out->length;
    if (next_row_ == batch.length) batch_.reset();
    return 0;
  }
  const char* last_error() { return stream_->get_last_error(stream_.get()); }

 private:
  // What is malformed is left to those who check it.
  bool is_sliced(const ArrowArray& batch) const {
    return batch.length > rows_ && batch.offset >= 0 &&
           batch.offset <= std::numeric_limits<std::int64_t>::max() - batch.length;
  }

  Owned<ArrowArrayStream> stream_;
  const std::int64_t rows_;
  std::shared_ptr<Owned<ArrowArray>> batch_;  // that is being sliced
  std::int64_t next_row_ = 0;
};

class StreamOfOne {
 public:
  StreamOfOne(Owned<ArrowSchema> schema, Owned<ArrowArray> batch)
      : schema_(std::move(schema)), batch_(std::move(batch)) {}

  int get_schema(ArrowSchema* out) {
    schema_.move_to(out);  // the only reader asks once
    return 0;
  }
  int get_next(ArrowArray* out) {
    batch_.move_to(out);  // an empty one is the end
    return 0;
  }
  const char* last_error() { return "out of memory"; }

 private:
  Owned<ArrowSchema> schema_;
  Owned<ArrowArray> batch_;
};

// --- capsules ---

template <class T>
constexpr const char* kCapsuleName = nullptr;
template <>
constexpr const char* kCapsuleName<ArrowSchema> = "arrow_schema";
template <>
constexpr const char* kCapsuleName<ArrowArray> = "arrow_array";
template <>
constexpr const char* kCapsuleName<ArrowArrayStream> = "arrow_array_stream";

template <class T>
void destroy_capsule(PyObject* capsule) {
  delete static_cast<Owned<T>*>(PyCapsule_GetContext(capsule));
}

}  // namespace

void share_array(const ArrowArray& from, const std::shared_ptr<const void>& owner, ArrowArray* to) {
  auto parts = std::make_unique<SharedParts>();
  parts->owner = owner;
  for (std::int64_t i = 0; i < from.n_children; ++i) {
    share_array(*from.children[i], owner, parts->children.emplace_back().get());
  }
  for (Owned<ArrowArray>& child : parts->children) parts->child_pointers.push_back(child.get());
  if (from.dictionary != nullptr) share_array(*from.dictionary, owner, parts->dictionary.get());
  *to = from;
  to->children = parts->child_pointers.data();
  to->dictionary = from.dictionary != nullptr ? parts->dictionary.get() : nullptr;
  to->release = release_shared;
  to->private_data = parts.release();
}

Owned<ArrowArrayStream> slice_batches(Owned<ArrowArrayStream> stream, std::int64_t rows) {
  return export_stream(std::make_unique<SlicedStream>(std::move(stream), rows));
}

Owned<ArrowArrayStream> stream_of(Owned<ArrowSchema> schema, Owned<ArrowArray> batch) {
  return export_stream(std::make_unique<StreamOfOne>(std::move(schema), std::move(batch)));
}

template <class T>
nb::object make_capsule(Owned<T> value) {
  auto held = std::make_unique<Owned<T>>(std::move(value));
  nb::object capsule = nb::steal(PyCapsule_New(held->get(), kCapsuleName<T>, destroy_capsule<T>));
  if (!capsule.is_valid()) nb::raise_python_error();
  PyCapsule_SetContext(capsule.ptr(), held.release());
  return capsule;
}

template <class T>
Owned<T> take(nb::handle capsule) {
  auto* const held = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), kCapsuleName<T>));
  if (held == nullptr) {
    PyErr_Clear();
    throw_usage(std::string("this is no capsule '") + kCapsuleName<T> + "' of Arrow");
  }
  if (held->release == nullptr) throw_usage("what this capsule held has been used already");
  return Owned<T>(held);
}

template nb::object make_capsule(Owned<ArrowSchema>);
template nb::object make_capsule(Owned<ArrowArray>);
template nb::object make_capsule(Owned<ArrowArrayStream>);
template Owned<ArrowSchema> take(nb::handle);
template Owned<ArrowArray> take(nb::handle);
template Owned<ArrowArrayStream> take(nb::handle);

}  // namespace xxl::python
