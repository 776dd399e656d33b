// The functions and classes of the module, by the public headers that they wrap.
#pragma once

#include <nanobind/nanobind.h>

namespace xxl::python {

void bind_arrays(nanobind::module_& m);   // xxl/array.h
void bind_columns(nanobind::module_& m);  // xxl/columns.h
void bind_files(nanobind::module_& m);    // xxl/sort.h, xxl/join.h

}  // namespace xxl::python
