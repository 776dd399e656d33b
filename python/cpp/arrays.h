// Sorts and joins of NumPy's arrays (xxl/gpu.h).
#pragma once

#include <nanobind/nanobind.h>

namespace xxl::python {

namespace nb = nanobind;

void bind_arrays(nb::module_& m);

}  // namespace xxl::python
