// The GPUs that calls on arrays use (xxl/array.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/device/device.h"
#include "gpu/find/find_gpus.h"
#include "xxl/array.h"

namespace xxl::detail {

class ArrayGpus {
 public:
  using Devices = std::vector<gpu::Device*>;

  explicit ArrayGpus(const array_options& options);

  // True if GPUs are to work on `bytes` of records; then they have been found. Otherwise `reason`
  // says why not; throws that, as Error{device}, if they were asked for. Throws Error{usage} if a
  // GPU that was asked for is not there.
  bool wanted(std::uint64_t bytes, std::string& reason);
  // True if processors must not do what GPUs cannot.
  bool required() const { return options_.device == Device::gpu; }
  std::uint64_t memory_bytes() const { return options_.gpu_memory_bytes; }

  // After wanted(). Those that each do a part.
  const Devices& apart() const { return best_; }
  // Those that sort one array together: the best ones first, then those with more memory.
  const std::vector<Devices>& together() const { return together_; }

 private:
  void find();

  array_options options_;
  GpuFinder finder_;
  std::vector<std::unique_ptr<gpu::Device>> devices_;
  Devices best_;
  std::vector<Devices> together_;
};

// Adds them to what did the work, each once.
void report_use(array_report& report, const ArrayGpus::Devices& devices);
void report_use(array_report& report, const std::string& device);

// options.threads, or the processors there are.
unsigned threads_of(const array_options& options);

}  // namespace xxl::detail
