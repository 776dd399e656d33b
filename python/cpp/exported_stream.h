// Objects as Arrow streams.
#pragma once

#include <cerrno>
#include <exception>
#include <memory>
#include <new>

#include "arrow_parts.h"

namespace xxl::python {

namespace detail {

template <class Source>
Source& source_of(ArrowArrayStream* stream) {
  return *static_cast<Source*>(stream->private_data);
}

template <class Function>
int errno_of(Function function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception&) {
    return EIO;
  }
}

}  // namespace detail

// `source` behind Arrow's functions, which has some of the same names:
//
//   int get_schema(ArrowSchema* out);
//   int get_next(ArrowArray* out);
//   const char* last_error();
template <class Source>
Owned<ArrowArrayStream> export_stream(std::unique_ptr<Source> source) {
  ArrowArrayStream out{
      .get_schema =
          [](ArrowArrayStream* self, ArrowSchema* schema) {
            return detail::errno_of(
                [&] { return detail::source_of<Source>(self).get_schema(schema); });
          },
      .get_next =
          [](ArrowArrayStream* self, ArrowArray* array) {
            return detail::errno_of(
                [&] { return detail::source_of<Source>(self).get_next(array); });
          },
      .get_last_error =
          [](ArrowArrayStream* self) { return detail::source_of<Source>(self).last_error(); },
      .release =
          [](ArrowArrayStream* self) {
            delete &detail::source_of<Source>(self);
            self->release = nullptr;
          },
      .private_data = source.release()};
  return Owned<ArrowArrayStream>(&out);
}

}  // namespace xxl::python
