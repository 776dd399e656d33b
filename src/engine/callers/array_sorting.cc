#include "engine/callers/array_sorting.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.h"
#include "gpu/sort/host_link.h"

namespace xxl::detail {

void ArraySorting::sort(std::span<const std::byte> from, std::span<std::byte> to,
                        array_report& report) {
  if (from.empty()) return;
  if (sort_on_gpus(from, to, report)) return;
  cpu_.sort(from, to);
  report_use(report, "cpu");
}

bool ArraySorting::sort_on_gpus(std::span<const std::byte> from, std::span<std::byte> to,
                                array_report& report) {
  if (!gpus_.wanted(from.size(), report.no_gpu)) return false;
  bool begun = false;
  try {
    make_sorter(from.size());
    begun = true;
    const gpu::SortedArray array{from, to};
    if (sorter_) {
      sorter_->sort({&array, 1});
    } else {
      het_sorter_->sort(array);
    }
  } catch (const Error& error) {
    drop_sorter();
    if (gpus_.required() || (begun && from.data() == to.data())) throw;
    report.no_gpu = error.what();
    return false;
  } catch (...) {
    drop_sorter();  // what is under way uses the caller's memory
    throw;
  }
  report_use(report, sorter_devices_);
  if (het_sorter_) report_use(report, "cpu");
  return true;
}

void ArraySorting::drop_sorter() {
  sorter_.reset();
  het_sorter_.reset();
}

// Device memory is taken anew for a larger array only.
void ArraySorting::make_sorter(std::uint64_t bytes) {
  if ((sorter_ || het_sorter_) && bytes <= sorter_bytes_) return;
  drop_sorter();
  sorter_bytes_ = bytes;
  for (const ArrayGpus::Devices& devices : gpus_.together()) {
    if (make_sorter_of(devices, bytes)) return;
  }
  het_sorter_.emplace(gpus_.apart(), layout_, bytes, gpus_.memory_bytes(), threads_);
  sorter_devices_ = gpus_.apart();
}

// In the memory of `devices`; those that have too little, because others use it, only lend their
// links. False if the array does not fit.
bool ArraySorting::make_sorter_of(ArrayGpus::Devices devices, std::uint64_t bytes) {
  std::stable_sort(devices.begin(), devices.end(), [](gpu::Device* a, gpu::Device* b) {
    return a->info().free_bytes > b->info().free_bytes;
  });
  for (std::size_t count = devices.size(); count > 0; --count) {
    const auto idle = devices.begin() + static_cast<std::ptrdiff_t>(count);
    gpu::ArraySortOptions options{.memory_bytes = gpus_.memory_bytes()};
    std::copy_if(idle, devices.end(), std::back_inserter(options.idle), [](gpu::Device* device) {
      return device->info().free_bytes > gpu::HostLink::kPeerBytes;
    });
    try {
      sorter_.emplace(ArrayGpus::Devices(devices.begin(), idle), layout_, bytes, options);
      sorter_devices_ = devices;
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space) throw;
    }
  }
  return false;
}

}  // namespace xxl::detail
