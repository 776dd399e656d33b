// Which GPUs to use, and how they sort together: decided from their links.
//
// Order. The time of a sort on GPUs goes into transfers between host and GPUs, so the next GPU to
// take is the one that adds most to them. Of the remaining GPUs, the candidates are those that
//
//   1. share the way to the host with the fewest of the GPUs taken: two GPUs behind one PCIe switch
//      get together what one of them gets alone, so the second adds next to nothing;
//   2. have the fastest link to the host, within kSameRate;
//   3. have the fewest of the GPUs taken on their NUMA node: memory of the host and its links are
//      then used on all nodes;
//   4. have the fastest links to the GPUs taken (the slowest of them counts), within kSameRate;
//
// and of these the one with the lowest index is taken. An example, four GPUs behind two switches:
//
//      node 0: switch A: GPU 0, GPU 1       GPU 0, as all are alike; GPU 2, which shares no switch
//      node 1: switch B: GPU 2, GPU 3       with it; GPUs 1 and 3 share one each: 1, then 3
//
// Rates within kSameRate of the best count as equal, so that the noise of a measurement does not
// change the order. A measurement of two GPUs together says more than whether they share a switch:
// virtual machines often hide the switches.
//
// Strategy. To sort a chunk on all GPUs together (`partition`), every item moves between GPUs once
// more, all to all. That is worth while if the way between any two of them is direct and clearly
// faster than that to the host: then it costs little beside the transfers, and a chunk is as large
// as the memory of all. Where peers talk through PCIe, the exchange takes its time from the very
// links that carry the input and output: each GPU then sorts chunks of its own (`independent`).
// Merging by pairs of GPUs (`p2p-merge`) moves items once for each merge: it is for comparison, and
// never chosen automatically.
//
// After "Evaluating Multi-GPU Sorting with Modern Interconnects" (SIGMOD 2022), section 4: GPU sets
// differ in their transfer rates by whether they share switches and nodes; section 8 proposes to
// exchange the items once, all to all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xxl::gpu {

// How several GPUs work together (--multi-gpu).
enum class MultiGpu {
  automatic,    // partition where all GPUs are peers, independent otherwise
  independent,  // each chunk on a GPU of its own, a run for each; the host merges them
  p2p_merge,    // one chunk on all GPUs; they swap what belongs to the other, half against half
  partition,    // one chunk on all GPUs; each fetches from all others what it is to put out
};

// Assumed rates of links that are not measured, in bytes a second and one direction. Only their
// order matters.
inline constexpr double kAssumedHostRate = 25e9;
inline constexpr double kAssumedPciePeerRate = 20e9;
inline constexpr double kAssumedNvlinkRate = 150e9;

inline constexpr double kSameRate = 0.9;    // of the best: as good as the best
inline constexpr double kSharedRate = 0.7;  // of the sum of both alone: less is a shared link
// Links between GPUs are faster than those to the host if by this factor.
inline constexpr double kClearlyFaster = 1.25;

// "auto", "independent", "p2p-merge", "partition".
std::string_view strategy_name(MultiGpu strategy);

// A GPU and its way to the host. Rates in bytes a second.
struct GpuPlace {
  double host_rate = kAssumedHostRate;  // of one direction, with nothing else under way
  double host_both_rate = 0;            // of both directions at once, summed; 0: not measured
  std::string host_link;  // PCIe root port, equal for GPUs that share it; empty: unknown
  int numa_node = -1;     // -1: unknown
};

struct PeerLink {
  bool peer = false;  // one GPU can read and write memory of the other
  double rate = 0;    // of one direction, in bytes a second
};

// GPUs are numbered by their position here.
class GpuLinks {
 public:
  explicit GpuLinks(std::size_t gpus = 0)
      : gpus_(gpus), links_(gpus * gpus), together_rates_(gpus * gpus) {}

  std::size_t size() const { return gpus_.size(); }
  GpuPlace& gpu(std::size_t index) { return gpus_[index]; }
  const GpuPlace& gpu(std::size_t index) const { return gpus_[index]; }
  PeerLink& link(std::size_t from, std::size_t to) { return links_[from * size() + to]; }
  const PeerLink& link(std::size_t from, std::size_t to) const {
    return links_[from * size() + to];
  }

  // Of transfers between the host and two GPUs at once, in both directions: bytes a second, summed;
  // 0 if not measured.
  double together_rate(std::size_t a, std::size_t b) const {
    return together_rates_[a * size() + b];
  }
  void set_together_rate(std::size_t a, std::size_t b, double rate) {
    together_rates_[a * size() + b] = together_rates_[b * size() + a] = rate;
  }

 private:
  std::vector<GpuPlace> gpus_;
  std::vector<PeerLink> links_;
  std::vector<double> together_rates_;
};

// True if transfers of the two GPUs slow each other down: as measured, or else by their PCIe root
// port.
bool share_host_link(const GpuLinks& links, std::size_t a, std::size_t b);

// All GPUs in the order in which they are best taken.
std::vector<std::size_t> order_gpus(const GpuLinks& links);

// How `gpus` sort together: MultiGpu::partition or MultiGpu::independent, the latter also for one
// GPU. REQUIRES: they are different, and at least one.
MultiGpu choose_strategy(const GpuLinks& links, std::span<const std::size_t> gpus);

struct GpuChoice {
  std::vector<std::size_t> gpus;
  MultiGpu strategy = MultiGpu::independent;
};

// The best 1, 2, 4, ... and all GPUs, and their strategies.
std::vector<GpuChoice> choices_by_count(const GpuLinks& links);

}  // namespace xxl::gpu
