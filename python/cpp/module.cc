// The module xxl._core: what the Python of this package calls in the library. Python's side checks
// and completes arguments, so functions here have no defaults.
#include <nanobind/nanobind.h>

#include "base/memory_name.h"
#include "bindings.h"
#include "errors.h"
#include "means.h"
#include "stream.h"

NB_MODULE(_core, m) {
  using namespace xxl::python;
  // A stream that is alive when Python ends is no mistake.
  nb::set_leak_warnings(false);
  m.attr("version") = XXL_VERSION;
  xxl::set_memory_name(xxl::MemoryName::argument);
  translate_errors();
  bind_means(m);
  bind_streams(m);
  bind_columns(m);
  bind_files(m);
  bind_arrays(m);
}
