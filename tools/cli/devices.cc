#include "cli/devices.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cli/machine.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/device/topology.h"
#include "gpu/probe/gpu_probe.h"
#include "gpu/simulated/simulated_device.h"
#include "gpu/sort/gpu_accelerator.h"

namespace xxl::cli {
namespace {

using gpu::GpuOptions;
using gpu::MultiGpu;

constexpr std::size_t kMaxSimulated = 16;
constexpr double kUsablePart = 0.9;  // of a GPU's memory; others may use the rest

// "0,2": numbers of GPUs.
std::vector<std::size_t> parse_list(const CommandSpec& command, const std::string& text) {
  std::vector<std::size_t> list;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::size_t number;
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || (behind != end && *behind != ',')) {
      throw_usage(command, "--device=gpu:" + text + ": give numbers of GPUs, as in gpu:0,2");
    }
    if (std::find(list.begin(), list.end(), number) != list.end()) {
      throw_usage(command, "--device=gpu:" + text + " names a GPU twice");
    }
    list.push_back(number);
    if (behind == end) return list;
    at = behind + 1;
  }
}

MultiGpu strategy_option(const ParsedOptions& options) {
  const std::string word = options.word("multi-gpu", "auto");
  for (const MultiGpu strategy :
       {MultiGpu::independent, MultiGpu::p2p_merge, MultiGpu::partition}) {
    if (word == gpu::strategy_name(strategy)) return strategy;
  }
  return MultiGpu::automatic;
}

AcceleratedMerge merge_option(const ParsedOptions& options) {
  if (!options.knows("gpu-merge")) return AcceleratedMerge::automatic;
  const std::string word = options.word("gpu-merge", "auto");
  if (word == "always") return AcceleratedMerge::always;
  return word == "never" ? AcceleratedMerge::never : AcceleratedMerge::automatic;
}

// Of the links of `gpus` to the host together; GPUs behind one link share it.
double host_rate_of(const gpu::GpuLinks& links, const std::vector<std::size_t>& gpus) {
  double rate = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const bool shared =
        std::any_of(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](std::size_t other) { return gpu::share_host_link(links, gpus[i], other); });
    if (!shared) rate += links.gpu(gpus[i]).host_rate;
  }
  return rate;
}

// The GPUs of `list`; or of all, the best ones, as many as can hold `bytes`.
GpuOptions::Found find_gpus(const std::vector<std::size_t>& list, bool all, std::uint64_t bytes) {
  std::string reason;
  auto devices = gpu::cuda_devices(reason);
  if (devices.empty()) throw Error(ErrorCode::device, "no GPU: " + reason);
  GpuOptions::Found found;
  std::vector<std::size_t> chosen = list;
  const gpu::GpuLinks links = gpu::find_gpu_links();
  if (chosen.empty()) {
    chosen = gpu::order_gpus(links);
    const auto usable =
        kUsablePart * static_cast<double>(devices[chosen.front()]->info().total_bytes);
    const auto needed = static_cast<std::size_t>(static_cast<double>(bytes) / usable) + 1;
    if (!all && needed < chosen.size()) chosen.resize(needed);
  }
  for (const std::size_t index : chosen) {
    if (index >= devices.size()) {
      throw Error(ErrorCode::usage, "there is no GPU " + std::to_string(index) + ": there are " +
                                        std::to_string(devices.size()));
    }
  }
  found.strategy = gpu::choose_strategy(links, chosen);
  found.host_rate = host_rate_of(links, chosen);
  for (const std::size_t index : chosen) found.devices.push_back(std::move(devices[index]));
  return found;
}

GpuOptions::Found simulate(std::size_t count, std::uint64_t memory_bytes) {
  GpuOptions::Found found;
  for (std::size_t i = 0; i < count; ++i) {
    gpu::SimulatedOptions options;
    // Some of it stays free, as on real GPUs.
    if (memory_bytes != 0) options.memory_bytes = memory_bytes + memory_bytes / 8;
    found.devices.push_back(
        std::make_unique<gpu::SimulatedDevice>(static_cast<int>(i), std::move(options)));
  }
  return found;
}

}  // namespace

DeviceChoice device_option(const ParsedOptions& options, TimeLine* time_line) {
  const CommandSpec& command = options.command();
  const std::string text = options.value("device", "auto");
  const std::string kind = text.substr(0, text.find(':'));
  const bool has_list = kind.size() < text.size();
  const std::string list_text = has_list ? text.substr(kind.size() + 1) : "";
  GpuOptions gpus;
  gpus.strategy = strategy_option(options);
  gpus.time_line = time_line;
  if (options.has("gpu-memory")) {
    const std::string size = options.value("gpu-memory", "");
    if (size.ends_with('%')) {
      throw_usage(command, "--gpu-memory=" + size + ": give a number with b, K, M, G, T or P");
    }
    gpus.memory_bytes = parse_size(size, "--gpu-memory", 0);
    if (gpus.memory_bytes == 0) {
      throw_usage(command, "--gpu-memory=" + size + " leaves the GPUs no memory");
    }
  }
  DeviceChoice choice;
  choice.merge = merge_option(options);
  if (text == "cpu") {
    for (const char* option : {"gpu-memory", "multi-gpu", "gpu-merge"}) {
      if (options.knows(option) && options.has(option)) {
        throw_usage(command, std::string("--") + option + " is for GPUs: not with --device=cpu");
      }
    }
    return choice;
  }
  if (text == "auto") {
    choice.acceleration = Acceleration::if_it_pays;
    gpus.driver_bytes = gpu::kDriverBytes;
    gpus.find = [](std::uint64_t bytes) { return find_gpus({}, false, bytes); };
  } else if (kind == "gpu") {
    choice.acceleration = Acceleration::always;
    gpus.driver_bytes = gpu::kDriverBytes;
    const bool all = list_text == "all";
    std::vector<std::size_t> list;
    if (has_list && !all) list = parse_list(command, list_text);
    gpus.find = [list, all](std::uint64_t bytes) { return find_gpus(list, all, bytes); };
  } else if (kind == "simulated") {
    choice.acceleration = Acceleration::always;
    std::size_t count = 1;
    if (has_list) count = parse_list(command, list_text).front();
    if (count < 1 || count > kMaxSimulated) {
      throw_usage(command, "--device=" + text + ": simulate 1 to 16 GPUs");
    }
    gpus.find = [count, memory = gpus.memory_bytes](std::uint64_t) {
      return simulate(count, memory);
    };
  } else {
    throw_usage(command, "--device=" + text + ": give auto, cpu, gpu, gpu:all or gpu:LIST");
  }
  choice.accelerator = std::make_unique<gpu::GpuAccelerator>(std::move(gpus));
  return choice;
}

}  // namespace xxl::cli
