// xxl info.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/version.h"
#include "columns/files/load_module.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/probe/gpu_probe.h"
#include "gpu/sort/gpu_summary.h"
#include "io/io_queue.h"
#include "job/job_defaults.h"

namespace xxl::cli {
namespace {

void print_fact(const char* name, const std::string& value) {
  std::printf("%-16s %s\n", name, value.c_str());
}

// The text after "name" and a colon in a file of such lines (/proc/meminfo, /proc/cpuinfo).
std::string read_field(const char* path, std::string_view name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::string processor_name() {
  const std::string name = read_field("/proc/cpuinfo", "model name");
  return name.empty() ? "unknown" : name;
}

// Vector instruction sets of this processor that matter here.
std::string simd_names() {
  std::string names;
#if defined(__x86_64__)
  const auto add = [&](const char* name, int supported) {
    if (supported != 0) names.append(names.empty() ? "" : " ").append(name);
  };
  add("SSE4.2", __builtin_cpu_supports("sse4.2"));
  add("AVX2", __builtin_cpu_supports("avx2"));
  add("AVX-512F", __builtin_cpu_supports("avx512f"));
#endif
  return names.empty() ? "unknown" : names;
}

// CMake separates architectures by semicolons.
std::string cuda_text() {
  if (kCudaCompiler.empty()) return "not built in: there was no CUDA compiler, or it was disabled";
  std::string architectures(kCudaArchitectures);
  std::replace(architectures.begin(), architectures.end(), ';', ' ');
  return std::string(kCudaCompiler) + ", for architectures " + architectures;
}

std::string compiler_text() {
  std::string text = std::string(kCompiler) + ", " + std::string(kBuildType);
  if (!kSanitizers.empty()) text.append(", sanitizers ").append(kSanitizers);
  return text;
}

std::string driver_text() {
  std::ifstream module("/proc/driver/nvidia/version");
  const std::string text{std::istreambuf_iterator<char>(module), {}};
  const std::string version = gpu::driver_version(text);
  const std::string cuda = gpu::cuda_driver_version();
  if (version.empty() && cuda.empty()) return "none";
  return (version.empty() ? "of unknown version" : version) +
         (cuda.empty() ? "" : ", for CUDA " + cuda);
}

std::string columns_text() {
  try {
    return std::string(load_arrow_module().arrow) + ", for Parquet and Arrow files";
  } catch (const Error& error) {
    return std::string("none: ") + error.what();
  }
}

// A line for each GPU, and how they are connected.
void print_gpus() {
  print_fact("GPU driver:", driver_text());
  std::string reason;
  const auto devices = gpu::cuda_devices(reason);
  if (devices.empty()) return print_fact("GPUs:", "none: " + reason);
  const char* name = "GPUs:";
  for (const auto& device : devices)
    print_fact(std::exchange(name, ""), gpu::describe_gpu(*device));
  name = "GPU links:";
  try {
    for (const std::string& line : gpu::describe_links(gpu::find_gpu_links())) {
      print_fact(std::exchange(name, ""), line);
    }
  } catch (const Error& error) {
    print_fact(name, std::string("unknown: ") + error.what());
  }
}

}  // namespace

int run_info(const ParsedOptions& options) {
  if (!options.operands().empty()) {
    throw_usage(options.command(), "extra operand '" + options.operands().front() + "'");
  }
  print_fact("version:", "xxl " + std::string(kProgramVersion));
  print_fact("compiler:", compiler_text());
  print_fact("CUDA:", cuda_text());
  print_fact("libraries:", std::string(kLibraries));
  print_fact("columns:", columns_text());
  print_fact("disk access:", io::IoService(Backend::automatic, {}).backend_name());
  print_fact("processor:", processor_name());
  print_fact("SIMD:", simd_names());
  print_fact("processors:", std::to_string(available_processors()));
  print_fact("memory:", format_bytes(physical_memory_bytes()) + ", default of -S now " +
                            format_bytes(default_memory_bytes()));
  print_fact("scratch:", default_scratch_dir());
  print_gpus();
  return kExitSuccess;
}

}  // namespace xxl::cli
