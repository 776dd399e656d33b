// Sorts and joins of files (xxl/sort.h, xxl/join.h).
#pragma once

#include <nanobind/nanobind.h>

namespace xxl::python {

namespace nb = nanobind;

void bind_files(nb::module_& m);

}  // namespace xxl::python
