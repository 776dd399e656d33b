#include "errors.h"

#include <cerrno>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

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

// The library says which option of the program gives it more memory; here that is an argument:
// "give at least -S 8M" becomes "give at least memory=8M".
std::string with_argument(std::string message, std::size_t begin) {
  constexpr std::string_view kOption = "-S", kArgument = "memory=";
  const auto has = [&message](std::size_t place, std::string_view set) {
    return set.find(message[place]) != std::string_view::npos;
  };
  for (std::size_t place = begin; (place = message.find(kOption, place)) != std::string::npos;) {
    const std::size_t end = place + kOption.size();
    const bool is_word =
        (place == begin || has(place - 1, " (")) && (end == message.size() || has(end, " ,.;:)"));
    if (!is_word) {
      place = end;
      continue;
    }
    const bool has_value =
        end + 1 < message.size() && message[end] == ' ' && has(end + 1, "0123456789");
    message.replace(place, kOption.size() + (has_value ? 1 : 0), kArgument);
    constexpr std::string_view kSame = "the memory of ";
    if (std::string_view(message).substr(begin, place - begin).ends_with(kSame)) {
      place -= kSame.size();
      message.erase(place, kSame.size());
    }
    place += kArgument.size();
  }
  return message;
}

void raise(ErrorCode code, const std::string& message, int number, const std::string& path,
           std::uint64_t offset) {
  try {
    // The name of a file stays as it is.
    const std::string shown =
        code == ErrorCode::no_space
            ? with_argument(message, message.starts_with(path) ? path.size() : 0)
            : message;
    const nb::object none = nb::none();
    const nb::object error =
        nb::module_::import_("xxl._errors")
            .attr("make_error")(code_name(code), text(shown), number != 0 ? nb::int_(number) : none,
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
