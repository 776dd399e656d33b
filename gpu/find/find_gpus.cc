#include "gpu/find/find_gpus.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "gpu/probe/gpu_probe.h"
#include "gpu/simulated/simulated_device.h"

namespace xxl::gpu {
namespace {

constexpr double kUsablePart = 0.9;  // of a GPU's memory; others may use the rest

// Of the links of `gpus` to the host together; GPUs behind one link share it.
double host_rate_of(const GpuLinks& links, const std::vector<std::size_t>& gpus) {
  double rate = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const bool shared =
        std::any_of(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](std::size_t other) { return share_host_link(links, gpus[i], other); });
    if (!shared) rate += links.gpu(gpus[i]).host_rate;
  }
  return rate;
}

}  // namespace

MachineGpus cuda_gpus() {
  MachineGpus machine;
  std::string reason;
  machine.devices = cuda_devices(reason);
  if (machine.devices.empty()) throw Error(ErrorCode::device, "no GPU: " + reason);
  machine.links = find_gpu_links();
  return machine;
}

MachineGpus simulated_gpus(std::size_t count, std::uint64_t memory_bytes) {
  MachineGpus machine;
  machine.links = GpuLinks(count);
  for (std::size_t i = 0; i < count; ++i) {
    SimulatedOptions options;
    // Some of it stays free, as on real GPUs.
    if (memory_bytes != 0) options.memory_bytes = memory_bytes + memory_bytes / 8;
    machine.devices.push_back(
        std::make_unique<SimulatedDevice>(static_cast<int>(i), std::move(options)));
    for (std::size_t j = 0; j < count; ++j) machine.links.link(i, j) = {true, kAssumedNvlinkRate};
  }
  return machine;
}

void check_gpu_list(std::span<const unsigned> list, std::string_view name) {
  for (auto gpu = list.begin(); gpu != list.end(); ++gpu) {
    if (std::find(list.begin(), gpu, *gpu) == gpu) continue;
    throw Error(ErrorCode::usage, std::string(name) + " names a GPU twice");
  }
}

std::vector<std::size_t> choose_from(const MachineGpus& machine, std::span<const unsigned> list) {
  if (list.empty()) return order_gpus(machine.links);
  for (const unsigned gpu : list) {
    if (gpu < machine.devices.size()) continue;
    throw Error(ErrorCode::usage, "there is no GPU " + std::to_string(gpu) + ": there are " +
                                      std::to_string(machine.devices.size()));
  }
  return {list.begin(), list.end()};
}

unsigned take_share(std::vector<std::size_t>& gpus, GpuProcess process) {
  std::vector<std::size_t> own;
  for (std::size_t i = process.number % gpus.size(); i < gpus.size(); i += process.of) {
    own.push_back(gpus[i]);
  }
  unsigned sharing = 0;
  for (std::size_t other = process.number % gpus.size(); other < process.of; other += gpus.size()) {
    ++sharing;
  }
  gpus = std::move(own);
  return sharing;
}

std::function<GpuOptions::Found(std::uint64_t bytes)> find_for_sort(FindGpus find,
                                                                    SortingGpus wanted) {
  return [find = std::move(find), wanted = std::move(wanted)](std::uint64_t bytes) {
    MachineGpus machine = find();
    std::vector<std::size_t> chosen = choose_from(machine, wanted.list);
    const unsigned users = wanted.users * take_share(chosen, wanted.process);
    if (wanted.list.empty() && !wanted.all) {
      const std::uint64_t total = machine.devices[chosen.front()]->info().total_bytes;
      const double usable = kUsablePart * static_cast<double>(total / users);
      const auto needed = static_cast<std::size_t>(static_cast<double>(bytes) / usable) + 1;
      if (needed < chosen.size()) chosen.resize(needed);
    }
    GpuOptions::Found found;
    found.users = users;
    found.strategy = choose_strategy(machine.links, chosen);
    found.host_rate = host_rate_of(machine.links, chosen);
    for (const std::size_t index : chosen) {
      found.devices.push_back(std::move(machine.devices[index]));
    }
    return found;
  };
}

}  // namespace xxl::gpu
