#include "means.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/machine_limits.h"
#include "base/units.h"
#include "engine/job_defaults.h"
#include "errors.h"

namespace xxl::python {
namespace {

Codec codec_of(const std::string& word) {
  if (word == "none") return Codec::none;
  if (word == "lz4") return Codec::lz4;
  if (word == "zstd") return Codec::zstd;
  throw_usage("scratch space is compressed by 'lz4', 'zstd' or 'none', not '" + word + "'");
}

}  // namespace

std::vector<std::string> texts_of(const std::vector<nb::bytes>& list) {
  std::vector<std::string> texts;
  for (const nb::bytes& bytes : list) texts.emplace_back(bytes.c_str(), bytes.size());
  return texts;
}

Device device_of(const std::string& word) {
  if (word == "auto") return Device::automatic;
  if (word == "gpu") return Device::gpu;
  if (word == "cpu") return Device::cpu;
  throw_usage("a device is 'auto', 'gpu' or 'cpu', not '" + word + "'");
}

void bind_means(nb::module_& m) {
  nb::class_<Means>(m, "Means")
      .def(
          "__init__",
          [](Means* self, std::uint64_t memory, const std::vector<nb::bytes>& scratch,
             unsigned threads, const std::string& device, std::vector<unsigned> gpus,
             std::uint64_t gpu_memory, const std::string& scratch_codec, int scratch_level) {
            new (self) Means({.memory_bytes = memory,
                              .scratch_dirs = texts_of(scratch),
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
