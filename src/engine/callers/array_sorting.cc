#include "engine/callers/array_sorting.h"

#include <string>

#include "base/error.h"

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
    sorter_->sort({&array, 1});
  } catch (const Error& error) {
    sorter_.reset();
    if (gpus_.required() || (begun && from.data() == to.data())) throw;
    report.no_gpu = error.what();
    return false;
  } catch (...) {
    sorter_.reset();  // what is under way uses the caller's memory
    throw;
  }
  report_use(report, sorter_devices_);
  return true;
}

// Device memory is taken anew for a larger array only.
void ArraySorting::make_sorter(std::uint64_t bytes) {
  if (sorter_ && bytes <= sorter_bytes_) return;
  sorter_.reset();
  for (const ArrayGpus::Devices& devices : gpus_.together()) {
    try {
      sorter_.emplace(devices, layout_, bytes,
                      gpu::ArraySortOptions{.memory_bytes = gpus_.memory_bytes()});
      sorter_bytes_ = bytes;
      sorter_devices_ = devices;
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space || &devices == &gpus_.together().back()) throw;
    }
  }
}

}  // namespace xxl::detail
