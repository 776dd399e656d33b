// Text of Python as std::string, in place of <nanobind/stl/string.h>: a str becomes UTF-8, and
// bytes stay as they are, since names of files need not be UTF-8.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str | bytes"))

  bool from_python(handle from, std::uint32_t, cleanup_list*) noexcept {
    Py_ssize_t size = 0;
    const char* text = nullptr;
    if (PyBytes_Check(from.ptr())) {
      text = PyBytes_AsString(from.ptr());
      size = PyBytes_Size(from.ptr());
    } else if (PyUnicode_Check(from.ptr())) {
      text = PyUnicode_AsUTF8AndSize(from.ptr(), &size);
    }
    if (text == nullptr) {
      PyErr_Clear();
      return false;
    }
    value.assign(text, static_cast<std::size_t>(size));
    return true;
  }
  static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
};

}  // namespace nanobind::detail
