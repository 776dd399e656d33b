// xxl info.
#include <cstdio>
#include <string>

#include "base/units.h"
#include "command.h"
#include "io/io_queue.h"
#include "machine.h"
#include "version.h"

namespace xxl::cli {
namespace {

void print_fact(const char* name, const std::string& value) {
  std::printf("%-16s %s\n", name, value.c_str());
}

// Vector instruction sets of this processor that are worth knowing.
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

}  // namespace

int run_info(const ParsedOptions& options) {
  if (!options.operands().empty()) {
    throw_usage(options.command(), "extra operand '" + options.operands().front() + "'");
  }
  print_fact("version:", "xxl " + std::string(kVersion));
  print_fact("compiler:", std::string(kCompiler) + ", " + std::string(kBuildType));
  print_fact("disk access:", io::IoService(io::Backend::automatic, {}).backend_name());
  print_fact("processor:", processor_name());
  print_fact("SIMD:", simd_names());
  print_fact("processors:", std::to_string(available_processors()));
  print_fact("memory:", format_bytes(physical_memory_bytes()) + ", default of -S now " +
                            format_bytes(default_memory_bytes()));
  print_fact("scratch:", default_scratch_dir());
  print_fact("GPUs:", "none (built without CUDA)");
  return kExitSuccess;
}

}  // namespace xxl::cli
