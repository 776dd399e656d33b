// Sorters of arrays (xxl/array.h).
#include <chrono>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/of_process.h"
#include "callers/array_gpus.h"
#include "callers/array_sorting.h"
#include "callers/key_fields.h"
#include "gpu/cuda/cuda_device.h"
#include "job/phase_meter.h"
#include "xxl/array.h"

namespace xxl::detail {
namespace {

// True if they share some memory but are not the same.
bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<> before;
  return a.data() != b.data() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

}  // namespace

class ArraySorterCore::Job : public OfProcess {
 public:
  Job(std::size_t record_bytes, const std::vector<KeyPart>& key, const array_options& options)
      : layout_({.name = "records", .record_bytes = record_bytes, .key = key_fields(key)}),
        gpus_(options),
        sorting_(layout_, gpus_, threads_of(options)) {}

  array_report sort(std::span<const std::byte> from, std::span<std::byte> to) {
    if (from.size() != to.size() || overlap(from, to)) {
      throw Error(ErrorCode::usage,
                  "an array is sorted in place, or to another of its size apart from it");
    }
    array_report report;
    const auto start = std::chrono::steady_clock::now();
    sorting_.sort(from, to, report);
    report.seconds = seconds_since(start);
    return report;
  }

 private:
  const KeyLayout layout_;
  ArrayGpus gpus_;
  ArraySorting sorting_;  // last: uses the others
};

ArraySorterCore::ArraySorterCore(std::size_t record_bytes, const std::vector<KeyPart>& key,
                                 const array_options& options)
    : job_(std::make_unique<Job>(record_bytes, key, options)) {}
ArraySorterCore::ArraySorterCore(ArraySorterCore&&) noexcept = default;
ArraySorterCore& ArraySorterCore::operator=(ArraySorterCore&&) noexcept = default;
ArraySorterCore::~ArraySorterCore() {
  leave_to_parent(job_);
}

array_report ArraySorterCore::sort(std::span<const std::byte> from, std::span<std::byte> to) {
  return job_->sort(from, to);
}

std::shared_ptr<void> pin(std::span<std::byte> memory) {
  std::string reason;
  auto devices = gpu::cuda_devices(reason);
  if (devices.empty() || memory.empty()) return nullptr;
  const std::shared_ptr<gpu::Device> device = std::move(devices.front());
  try {
    device->pin(memory);
  } catch (const Error&) {  // the GPU cannot be started
    return nullptr;
  }
  return {nullptr, [device, memory](void*) { device->unpin(memory); }};
}

}  // namespace xxl::detail
