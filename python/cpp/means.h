// What a call may use: the options of xxl/resources.h, as Python says them.
#pragma once

#include <nanobind/nanobind.h>

#include <stop_token>
#include <string>
#include <utility>

#include "xxl/array.h"
#include "xxl/resources.h"

namespace xxl::python {

namespace nb = nanobind;

class Means {
 public:
  explicit Means(resource_options options) : options_(std::move(options)) {}

  // For one user, who is stopped by `stop`.
  resources make(std::stop_token stop) const {
    resource_options options = options_;
    options.stop = std::move(stop);
    return resources(std::move(options));
  }
  Means with_memory(std::uint64_t bytes) const {
    Means other = *this;
    other.options_.memory_bytes = bytes;
    return other;
  }

 private:
  resource_options options_;
};

Device device_of(const std::string& word);
void bind_means(nb::module_& m);

}  // namespace xxl::python
