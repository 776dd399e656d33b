#include "cli/devices.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/device/topology.h"
#include "gpu/find/find_gpus.h"
#include "gpu/sort/gpu_accelerator.h"

namespace xxl::cli {
namespace {

using gpu::GpuOptions;
using gpu::MultiGpu;

constexpr unsigned kMaxSimulated = 16;

// "0,2": numbers of GPUs.
std::vector<unsigned> parse_list(const CommandSpec& command, const std::string& text) {
  std::vector<unsigned> list;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    unsigned number;
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
  const std::string word = options.word("gpu-merge", "auto");
  if (word == "always") return AcceleratedMerge::always;
  return word == "never" ? AcceleratedMerge::never : AcceleratedMerge::automatic;
}

// What says how GPUs are used is an error where there are none. Throws Error{device}.
void require_gpus_for(const ParsedOptions& options) {
  for (const char* option : {"multi-gpu", "gpu-merge"}) {
    if (!options.has(option)) continue;
    if (options.value(option, "") == "never" || options.value(option, "") == "auto") continue;
    try {
      gpu::cuda_gpus();
    } catch (const Error& error) {
      throw Error(error.code(), std::string("--") + option + ": " + error.what());
    }
  }
}

}  // namespace

DeviceChoice device_option(const ParsedOptions& options, TimeLine* time_line,
                           std::optional<gpu::GpuProcess> rank) {
  const CommandSpec& command = options.command();
  const std::string text = options.value("device", rank ? "cpu" : "auto");
  const gpu::GpuProcess process = rank.value_or(gpu::GpuProcess{});
  const std::string kind = text.substr(0, text.find(':'));
  const bool has_list = kind.size() < text.size();
  const std::string list_text = has_list ? text.substr(kind.size() + 1) : "";
  GpuOptions gpus;
  gpus.strategy = strategy_option(options);
  gpus.time_line = time_line;
  if (options.has("gpu-memory")) {
    const std::string size = options.value("gpu-memory", "");
    gpus.memory_bytes = parse_size(size, "--gpu-memory", 0);
    if (gpus.memory_bytes == 0) {
      throw_usage(command, "--gpu-memory=" + size + " leaves the GPUs no memory");
    }
  }
  DeviceChoice choice;
  choice.merge = merge_option(options);
  if (text == "cpu") {
    for (const char* option : {"gpu-memory", "multi-gpu", "gpu-merge"}) {
      if (options.has(option)) {
        throw_usage(command, std::string("--") + option + " is for GPUs: not with --device=cpu");
      }
    }
    return choice;
  }
  if (text == "auto" && !rank) {
    require_gpus_for(options);
    choice.acceleration = Acceleration::if_it_pays;
    gpus.driver_bytes = gpu::kDriverBytes;
    gpus.find = gpu::find_for_sort(gpu::cuda_gpus, {});
  } else if (kind == "gpu") {
    choice.acceleration = Acceleration::always;
    gpus.driver_bytes = gpu::kDriverBytes;
    gpu::SortingGpus wanted{.all = list_text == "all", .process = process};
    if (has_list && !wanted.all) wanted.list = parse_list(command, list_text);
    gpus.find = gpu::find_for_sort(gpu::cuda_gpus, std::move(wanted));
  } else if (kind == "simulated") {
    choice.acceleration = Acceleration::always;
    unsigned count = 1;
    if (has_list) count = parse_list(command, list_text).front();
    if (count < 1 || count > kMaxSimulated) {
      throw_usage(command, "--device=" + text + ": simulate 1 to 16 GPUs");
    }
    const auto simulate = [count, memory = gpus.memory_bytes] {
      return gpu::simulated_gpus(count, memory);
    };
    gpus.find = gpu::find_for_sort(simulate, {.all = true, .process = process});
  } else {
    throw_usage(command, "--device=" + text + ": give " + (rank ? "" : "auto, ") +
                             "cpu, gpu, gpu:all or gpu:LIST");
  }
  choice.accelerator = std::make_unique<gpu::GpuAccelerator>(std::move(gpus));
  return choice;
}

}  // namespace xxl::cli
