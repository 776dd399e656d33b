#include "errors.h"

#include <cerrno>
#include <exception>
#include <string>

namespace xxl::python {
namespace {

const char* code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::bad_input:
      return "bad_input";
    case ErrorCode::io:
      return "io";
    case ErrorCode::no_space:
      return "no_space";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::device:
      return "device";
  }
  return "io";
}

ErrorCode code_of(int number) {
  if (number == ENOSPC || number == ENOMEM) return ErrorCode::no_space;
  if (number == EINVAL) return ErrorCode::bad_input;
  return ErrorCode::io;
}

// Names of files and contents of lines are bytes, which Python keeps in a str as it does with
// names.
nb::object text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

void raise(ErrorCode code, const std::string& message, int number, const std::string& path,
           std::uint64_t offset) {
  try {
    const nb::object none = nb::none();
    const nb::object error =
        nb::module_::import_("xxl._errors")
            .attr("make_error")(code_name(code), text(message),
                                number != 0 ? nb::int_(number) : none,
                                path.empty() ? none : text(path),
                                offset == Error::kNoOffset ? none : nb::int_(offset));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (nb::python_error& error) {
    error.restore();
  }
}

void translate(const std::exception_ptr& failure, void*) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    raise(error.code(), error.what(), error.sys_errno(), error.path(), error.offset());
  } catch (const StreamFailure& error) {
    raise(code_of(error.number()), error.what(), error.number(), {}, Error::kNoOffset);
  }
}

}  // namespace

void throw_usage(const std::string& message) {
  throw Error(ErrorCode::usage, message);
}

void translate_errors() {
  nb::register_exception_translator(translate);
}

}  // namespace xxl::python
