// Failures as exceptions of Python: xxl.Error and what is derived from it (errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

#include "xxl/error.h"

namespace xxl::python {

namespace nb = nanobind;

// What a stream of Arrow reported: an errno value, and a text that is complete.
class StreamFailure : public std::runtime_error {
 public:
  StreamFailure(int number, const std::string& text) : std::runtime_error(text), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

// The caller asked for something invalid.
[[noreturn]] void throw_usage(const std::string& message);

// From now on both become exceptions of Python.
void translate_errors();

}  // namespace xxl::python
