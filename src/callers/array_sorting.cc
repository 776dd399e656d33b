#include "callers/array_sorting.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.h"
#include "gpu/device/host_link.h"

namespace xxl::detail {
namespace {

// Those with most free memory first.
void order_by_memory(ArrayGpus::Devices& devices) {
  std::stable_sort(devices.begin(), devices.end(), [](gpu::Device* a, gpu::Device* b) {
    return a->info().free_bytes > b->info().free_bytes;
  });
}

// Of devices that each use as much memory as the smallest one: those that have most together. Of
// each at most `memory_bytes` count, if that is not 0.
ArrayGpus::Devices with_most_memory(ArrayGpus::Devices devices, std::uint64_t memory_bytes) {
  order_by_memory(devices);
  std::size_t best = 1;
  std::uint64_t most = 0;
  for (std::size_t count = 1; count <= devices.size(); ++count) {
    std::uint64_t each = devices[count - 1]->info().free_bytes;
    if (memory_bytes != 0) each = std::min(each, memory_bytes);
    if (count * each >= most) {
      most = count * each;
      best = count;
    }
  }
  devices.resize(best);
  return devices;
}

}  // namespace

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
    // Whatever it was: records that were sorted in place are lost.
    if (begun && from.data() == to.data()) throw Error(ErrorCode::device, error.what());
    if (gpus_.required()) throw;
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

// Device memory is taken anew for a larger array only; and where a much smaller one may do without
// processors.
void ArraySorting::make_sorter(std::uint64_t bytes) {
  if (sorter_ && bytes <= sorter_bytes_) return;
  if (het_sorter_ && bytes <= sorter_bytes_ && bytes > sorter_bytes_ / 4) return;
  drop_sorter();
  sorter_bytes_ = bytes;
  for (const ArrayGpus::Devices& devices : gpus_.together()) {
    if (make_sorter_of(devices, bytes)) return;
  }
  sorter_devices_ = with_most_memory(gpus_.apart(), gpus_.memory_bytes());
  het_sorter_.emplace(sorter_devices_, layout_, bytes, gpus_.memory_bytes(), threads_);
}

// In the memory of `devices`; those that have too little, because others use it, only lend their
// links. False if the array does not fit.
bool ArraySorting::make_sorter_of(ArrayGpus::Devices devices, std::uint64_t bytes) {
  order_by_memory(devices);
  for (std::size_t count = devices.size(); count > 0; --count) {
    const auto idle = devices.begin() + static_cast<std::ptrdiff_t>(count);
    gpu::ArraySortOptions options{.memory_bytes = gpus_.memory_bytes(),
                                  .threads = std::max(threads_ / 2, 1u)};
    std::copy_if(idle, devices.end(), std::back_inserter(options.idle), [](gpu::Device* device) {
      return device->info().free_bytes > gpu::HostLink::kPeerBytes;
    });
    try {
      sorter_.emplace(ArrayGpus::Devices(devices.begin(), idle), layout_, bytes, options);
      sorter_devices_.assign(devices.begin(), idle);
      sorter_devices_.insert(sorter_devices_.end(), options.idle.begin(), options.idle.end());
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space) throw;
    }
  }
  return false;
}

}  // namespace xxl::detail
