#include "callers/array_gpus.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/machine_limits.h"
#include "gpu/device/topology.h"

namespace xxl::detail {
namespace {

using Devices = ArrayGpus::Devices;

bool are_peers(const Devices& devices) {
  for (gpu::Device* device : devices) {
    for (gpu::Device* peer : devices) {
      if (device != peer && !device->make_peer(*peer)) return false;
    }
  }
  return true;
}

// The first ones of `order` that have a link of their own to the host.
std::vector<std::size_t> with_own_links(const gpu::GpuLinks& links,
                                        const std::vector<std::size_t>& order) {
  std::vector<std::size_t> own;
  for (const std::size_t index : order) {
    if (std::none_of(own.begin(), own.end(), [&](std::size_t other) {
          return gpu::share_host_link(links, index, other);
        })) {
      own.push_back(index);
    }
  }
  return own;
}

}  // namespace

ArrayGpus::ArrayGpus(const array_options& options)
    : options_(options), finder_(options.finder != nullptr ? *options.finder : GpuFinder()) {
  gpu::check_gpu_list(options_.gpus, "array_options::gpus");
}

bool ArrayGpus::wanted(std::uint64_t bytes, std::string& reason) {
  if (options_.device == Device::cpu) return false;
  const std::uint64_t least = devices_.empty() ? finder_.start_bytes : finder_.use_bytes;
  if (!required() && bytes < least) {
    reason = "too little for a GPU: " + format_bytes(bytes);
    return false;
  }
  if (!devices_.empty()) return true;
  try {
    find();
  } catch (const Error& error) {
    devices_.clear();
    if (required() || error.code() == ErrorCode::usage) throw;
    reason = error.what();
    return false;
  }
  return true;
}

void ArrayGpus::find() {
  GpuFinder::Found found = finder_.find();
  const std::vector<std::size_t> all = gpu::choose_from(found, options_.gpus);
  devices_ = std::move(found.devices);
  const bool chosen = !options_.gpus.empty();
  const std::vector<std::size_t> best = chosen ? all : with_own_links(found.links, all);
  const auto devices_of = [&](const std::vector<std::size_t>& indexes) {
    Devices devices;
    for (const std::size_t index : indexes) devices.push_back(devices_[index].get());
    return devices;
  };
  best_ = devices_of(best);
  // Alone, where working together would take longer; together only where one is too small.
  const Devices every = devices_of(all);
  const bool peers = are_peers(best_);
  together_.clear();
  if (best_.size() == 1 || !peers ||
      (!chosen && gpu::choose_strategy(found.links, best) == gpu::MultiGpu::independent)) {
    together_.push_back({best_.front()});
  }
  if (best_.size() > 1 && peers) together_.push_back(best_);
  if (every.size() > best_.size() && are_peers(every)) together_.push_back(every);
}

void report_use(array_report& report, const std::string& device) {
  if (std::find(report.devices.begin(), report.devices.end(), device) == report.devices.end()) {
    report.devices.push_back(device);
  }
}

void report_use(array_report& report, const ArrayGpus::Devices& devices) {
  for (const gpu::Device* device : devices) {
    const gpu::DeviceInfo info = device->info();
    report_use(report, "GPU " + std::to_string(info.index) + ", " + info.name);
  }
}

unsigned threads_of(const array_options& options) {
  return options.threads != 0 ? options.threads : available_processors();
}

}  // namespace xxl::detail
