// Sorts and joins of tables (xxl/columns.h).
#pragma once

#include <nanobind/nanobind.h>

namespace xxl::python {

namespace nb = nanobind;

void bind_columns(nb::module_& m);

}  // namespace xxl::python
