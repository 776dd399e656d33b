// The measurements of a job as fields of a report in Python.
#pragma once

#include <nanobind/nanobind.h>

#include "text.h"
#include "xxl/job.h"

namespace xxl::python {

namespace nb = nanobind;

inline void add_measurements(nb::dict& report, const Measurements& measured) {
  report["seconds"] = measured.seconds;
  report["peak_memory_bytes"] = measured.peak_memory_bytes;
  report["scratch_bytes"] = measured.scratch_bytes;
  report["output_in_place"] = measured.output_in_place;
  nb::list phases;
  for (const PhaseReport& phase : measured.phases) {
    nb::dict entry;
    entry["name"] = phase.name;
    entry["seconds"] = phase.seconds;
    entry["bytes_read"] = phase.bytes_read;
    entry["bytes_written"] = phase.bytes_written;
    phases.append(entry);
  }
  report["phases"] = phases;
}

}  // namespace xxl::python
