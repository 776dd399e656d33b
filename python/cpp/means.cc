#include "means.h"

#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/machine_limits.h"
#include "base/units.h"
#include "choices.h"
#include "job/job_defaults.h"
#include "text.h"

namespace xxl::python {
namespace {

Codec codec_of(const std::string& word) {
  return choice_of<Codec>("scratch_codec", word,
                          {{"none", Codec::none}, {"lz4", Codec::lz4}, {"zstd", Codec::zstd}});
}

}  // namespace

Device device_of(const std::string& word) {
  return choice_of<Device>(
      "a device", word, {{"auto", Device::automatic}, {"gpu", Device::gpu}, {"cpu", Device::cpu}});
}

void bind_means(nb::module_& m) {
  nb::class_<Means>(m, "Means")
      .def(
          "__init__",
          [](Means* self, std::uint64_t memory, std::vector<std::string> scratch, unsigned threads,
             const std::string& device, std::vector<unsigned> gpus, std::uint64_t gpu_memory,
             const std::string& scratch_codec, int scratch_level) {
            new (self) Means({.memory_bytes = memory,
                              .scratch_dirs = std::move(scratch),
                              .threads = threads,
                              .scratch_codec = codec_of(scratch_codec),
                              .scratch_level = scratch_level,
                              .device = device_of(device),
                              .gpus = std::move(gpus),
                              .gpu_memory_bytes = gpu_memory});
          },
          nb::kw_only(), nb::arg("memory"), nb::arg("scratch"), nb::arg("threads"),
          nb::arg("device"), nb::arg("gpus"), nb::arg("gpu_memory"), nb::arg("scratch_codec"),
          nb::arg("scratch_level"))
      .def("with_memory", &Means::with_memory)
      .def_prop_ro("memory",
                   [](const Means& self) { return self.make({}).options().memory_bytes; });
  m.def("parse_size", [](const std::string& size, const std::string& name) {
    return parse_size(size, name, usable_memory_bytes());
  });
}

}  // namespace xxl::python
