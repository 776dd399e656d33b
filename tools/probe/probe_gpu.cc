#include "probe/probe_gpu.h"

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/command.h"
#include "gpu/probe/gpu_probe.h"
#include "report/json.h"

namespace xxl::cli {
namespace {

using gpu::GpuChoice;
using gpu::GpuLinks;
using gpu::GpuProbeResult;
using gpu::HostRates;
using gpu::PeerLink;
using gpu::ProbedGpu;
using gpu::ProbedSet;

constexpr double kGiga = 1e9;
constexpr std::uint64_t kSeconds = 6;  // without --seconds

// "0 2 4"
std::string list_of(std::span<const std::size_t> gpus) {
  std::string text;
  for (const std::size_t gpu : gpus) {
    text.append(text.empty() ? "" : " ").append(std::to_string(gpu));
  }
  return text;
}

// --- Table ---

void print_machine(const GpuProbeResult& result) {
  std::printf("%3s  %-24s %-13s %4s %11s %11s  %s\n", "GPU", "name", "PCI", "NUMA", "memory",
              "free", "compute capability");
  for (const ProbedGpu& gpu : result.gpus) {
    const std::string node = gpu.info.numa_node < 0 ? "-" : std::to_string(gpu.info.numa_node);
    std::printf("%3d  %-24s %-13s %4s %11s %11s  %d.%d\n", gpu.info.index, gpu.info.name.c_str(),
                gpu.info.bus.c_str(), node.c_str(), format_bytes(gpu.info.total_bytes).c_str(),
                format_bytes(gpu.info.free_bytes).c_str(), gpu.compute_major, gpu.compute_minor);
  }
}

void print_rates(const HostRates& rates) {
  std::printf("  %8.1f%8.1f%8.1f", rates.to / kGiga, rates.from / kGiga, rates.both / kGiga);
}

void print_host_links(const GpuProbeResult& result) {
  std::printf("\nhost memory and one GPU, GB/s to it, from it, and both directions at once\n");
  std::printf("%3s  %24s  %24s  %24s\n", "GPU", "pinned", "pageable", "registered");
  for (const ProbedGpu& gpu : result.gpus) {
    std::printf("%3d", gpu.info.index);
    print_rates(gpu.pinned);
    print_rates(gpu.pageable);
    print_rates(gpu.registered);
    std::printf("\n");
  }
}

void print_sets(const GpuProbeResult& result) {
  if (result.sets.empty()) return;
  std::printf("\npinned host memory and several GPUs, GB/s of all\n");
  std::printf("  %8s%8s%8s  %s\n", "to", "from", "both", "GPUs");
  for (const ProbedSet& set : result.sets) {
    print_rates(set.pinned);
    std::printf("  %s\n", list_of(set.gpus).c_str());
  }
}

void print_shared_links(const GpuLinks& links) {
  if (links.size() < 2) return;
  std::string pairs;
  for (std::size_t a = 0; a < links.size(); ++a) {
    for (std::size_t b = a + 1; b < links.size(); ++b) {
      if (!share_host_link(links, a, b)) continue;
      pairs.append(" ").append(std::to_string(a)).append("+").append(std::to_string(b));
    }
  }
  std::printf("in each other's way:%s\n", pairs.empty() ? " none" : pairs.c_str());
}

void print_peers(const GpuProbeResult& result) {
  const GpuLinks& links = result.links;
  if (links.size() < 2) return;
  std::printf("\nfrom GPU (row) to GPU (column), GB/s\n   ");
  for (std::size_t to = 0; to < links.size(); ++to) std::printf("%8zu ", to);
  std::printf("\n");
  bool all_peers = true;
  for (std::size_t from = 0; from < links.size(); ++from) {
    std::printf("%3zu", from);
    for (std::size_t to = 0; to < links.size(); ++to) {
      const PeerLink& link = links.link(from, to);
      if (from == to) {
        std::printf("%8s ", "-");
      } else {
        std::printf("%8.1f%c", link.rate / kGiga, link.peer ? ' ' : '*');
        all_peers = all_peers && link.peer;
      }
    }
    std::printf("\n");
  }
  std::printf("%s\n", all_peers ? "all are peers" : "* no peers: copied through the host");
  std::printf("all to all: %.1f GB/s\n", result.all_to_all_rate / kGiga);
}

void print_choices(const char* title, const GpuLinks& links) {
  std::printf("\n%s\n", title);
  for (const GpuChoice& choice : choices_by_count(links)) {
    const std::string strategy =
        choice.gpus.size() == 1 ? "-" : std::string(strategy_name(choice.strategy));
    std::printf("%3zu  %-12s  GPUs %s\n", choice.gpus.size(), strategy.c_str(),
                list_of(choice.gpus).c_str());
  }
}

void print_table(const GpuProbeResult& result) {
  print_machine(result);
  print_host_links(result);
  print_sets(result);
  print_shared_links(result.links);
  print_peers(result);
  print_choices("--multi-gpu=auto", result.assumed);
  print_choices("the same from what was measured", result.links);
}

// --- JSON ---

void add_rates(Json& json, const char* name, const HostRates& rates) {
  json.begin_object(name)
      .member("to_bytes_per_second", rates.to)
      .member("from_bytes_per_second", rates.from)
      .member("both_bytes_per_second", rates.both)
      .end_object();
}

void add_list(Json& json, std::span<const std::size_t> gpus) {
  json.begin_array("gpus");
  for (const std::size_t gpu : gpus) json.element(gpu);
  json.end_array();
}

void add_gpu(Json& json, const ProbedGpu& gpu, const std::string& host_link) {
  json.begin_object()
      .member("index", gpu.info.index)
      .member("name", gpu.info.name)
      .member("bus", gpu.info.bus)
      .member("numa_node", gpu.info.numa_node)
      .member("host_link", host_link)
      .member("memory_bytes", gpu.info.total_bytes)
      .member("free_bytes", gpu.info.free_bytes)
      .member("compute_capability",
              std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor));
  add_rates(json, "pinned", gpu.pinned);
  add_rates(json, "pageable", gpu.pageable);
  add_rates(json, "registered", gpu.registered);
  json.end_object();
}

void add_host_pairs(Json& json, const GpuLinks& links) {
  json.begin_array("host_pairs");
  for (std::size_t a = 0; a < links.size(); ++a) {
    for (std::size_t b = a + 1; b < links.size(); ++b) {
      json.begin_object();
      add_list(json, std::vector{a, b});
      json.member("both_bytes_per_second", links.together_rate(a, b))
          .member("share_link", share_host_link(links, a, b))
          .end_object();
    }
  }
  json.end_array();
}

void add_peers(Json& json, const GpuProbeResult& result) {
  json.begin_array("peers");
  for (std::size_t from = 0; from < result.links.size(); ++from) {
    for (std::size_t to = 0; to < result.links.size(); ++to) {
      if (from == to) continue;
      const PeerLink& link = result.links.link(from, to);
      json.begin_object()
          .member("from", from)
          .member("to", to)
          .member("peer", link.peer)
          .member("bytes_per_second", link.rate)
          .member("assumed_bytes_per_second", result.assumed.link(from, to).rate)
          .end_object();
    }
  }
  json.end_array().member("all_to_all_bytes_per_second", result.all_to_all_rate);
}

void add_choices(Json& json, const char* name, const GpuLinks& links) {
  json.begin_array(name);
  for (const GpuChoice& choice : choices_by_count(links)) {
    json.begin_object();
    add_list(json, choice.gpus);
    json.member("strategy", strategy_name(choice.strategy)).end_object();
  }
  json.end_array();
}

void print_json(const GpuProbeResult& result) {
  Json json;
  json.begin_object().begin_array("gpus");
  for (std::size_t i = 0; i < result.gpus.size(); ++i) {
    add_gpu(json, result.gpus[i], result.links.gpu(i).host_link);
  }
  json.end_array().begin_array("sets");
  for (const ProbedSet& set : result.sets) {
    json.begin_object();
    add_list(json, set.gpus);
    add_rates(json, "pinned", set.pinned);
    json.end_object();
  }
  json.end_array();
  add_host_pairs(json, result.links);
  add_peers(json, result);
  add_choices(json, "automatic_choices", result.assumed);
  add_choices(json, "measured_choices", result.links);
  json.end_object();
  std::printf("%s\n", json.text().c_str());
}

}  // namespace

int run_probe_gpu(const ParsedOptions& options) {
  if (!options.operands().empty()) {
    throw_usage(options.command(), "extra operand '" + options.operands().front() + "' with --gpu");
  }
  if (options.has("size")) throw_usage(options.command(), "--size is for disks, not for --gpu");
  const std::uint64_t seconds = options.number("seconds", kSeconds, 1, kMaxProbeSeconds);
  const GpuProbeResult result = gpu::probe_gpus(static_cast<double>(seconds));
  options.has("json") ? print_json(result) : print_table(result);
  return kExitSuccess;
}

}  // namespace xxl::cli
