#include "gpu/device/topology.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace xxl::gpu {
namespace {

using Gpus = std::vector<std::size_t>;

// Keeps the candidates whose cost is the smallest.
template <class Cost>
void keep_cheapest(Gpus& candidates, Cost cost) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::size_t gpu : candidates) least = std::min(least, cost(gpu));
  std::erase_if(candidates, [&](std::size_t gpu) { return cost(gpu) != least; });
}

// Keeps the candidates whose rate is as good as the best.
template <class Rate>
void keep_fastest(Gpus& candidates, Rate rate) {
  double best = 0;
  for (const std::size_t gpu : candidates) best = std::max(best, rate(gpu));
  std::erase_if(candidates, [&](std::size_t gpu) { return rate(gpu) < kSameRate * best; });
}

std::size_t count_sharing(const GpuLinks& links, const Gpus& taken, std::size_t gpu) {
  return static_cast<std::size_t>(std::count_if(taken.begin(), taken.end(), [&](std::size_t other) {
    return share_host_link(links, gpu, other);
  }));
}

std::size_t count_on_node(const GpuLinks& links, const Gpus& taken, std::size_t gpu) {
  const int node = links.gpu(gpu).numa_node;
  if (node < 0) return 0;
  return static_cast<std::size_t>(std::count_if(taken.begin(), taken.end(), [&](std::size_t other) {
    return links.gpu(other).numa_node == node;
  }));
}

double peer_rate(const PeerLink& link) {
  return link.peer ? link.rate : 0;
}

// Of the slowest link between `gpu` and any of `others`, 0 if one of them is no peer.
double slowest_peer_rate(const GpuLinks& links, std::span<const std::size_t> others,
                         std::size_t gpu) {
  double slowest = std::numeric_limits<double>::max();
  for (const std::size_t other : others) {
    if (other == gpu) continue;
    slowest = std::min({slowest, peer_rate(links.link(gpu, other)),  //
                        peer_rate(links.link(other, gpu))});
  }
  return slowest;
}

// The one to take next. `candidates` are in the order of their indices.
std::size_t next_gpu(const GpuLinks& links, const Gpus& taken, Gpus candidates) {
  keep_cheapest(candidates, [&](std::size_t gpu) { return count_sharing(links, taken, gpu); });
  keep_fastest(candidates, [&](std::size_t gpu) { return links.gpu(gpu).host_rate; });
  keep_cheapest(candidates, [&](std::size_t gpu) { return count_on_node(links, taken, gpu); });
  keep_fastest(candidates, [&](std::size_t gpu) { return slowest_peer_rate(links, taken, gpu); });
  return candidates.front();
}

}  // namespace

std::string_view strategy_name(MultiGpu strategy) {
  switch (strategy) {
    case MultiGpu::automatic:
      return "auto";
    case MultiGpu::independent:
      return "independent";
    case MultiGpu::p2p_merge:
      return "p2p-merge";
    case MultiGpu::partition:
      return "partition";
  }
  check_failed("every strategy has a name", __FILE__, __LINE__);
}

bool share_host_link(const GpuLinks& links, std::size_t a, std::size_t b) {
  const GpuPlace& first = links.gpu(a);
  const GpuPlace& second = links.gpu(b);
  const double together = links.together_rate(a, b);
  const double alone = first.host_both_rate + second.host_both_rate;
  if (together > 0 && alone > 0) return together < kSharedRate * alone;
  return !first.host_link.empty() && first.host_link == second.host_link;
}

std::vector<std::size_t> order_gpus(const GpuLinks& links) {
  Gpus left(links.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  Gpus taken;
  while (!left.empty()) {
    taken.push_back(next_gpu(links, taken, left));
    std::erase(left, taken.back());
  }
  return taken;
}

MultiGpu choose_strategy(const GpuLinks& links, std::span<const std::size_t> gpus) {
  XXL_CHECK(!gpus.empty());
  if (gpus.size() == 1) return MultiGpu::independent;
  double host_rate = 0;
  double between = std::numeric_limits<double>::max();
  for (const std::size_t gpu : gpus) {
    host_rate = std::max(host_rate, links.gpu(gpu).host_rate);
    between = std::min(between, slowest_peer_rate(links, gpus, gpu));
  }
  return between > kClearlyFaster * host_rate ? MultiGpu::partition : MultiGpu::independent;
}

std::vector<GpuChoice> choices_by_count(const GpuLinks& links) {
  const Gpus best = order_gpus(links);
  std::vector<GpuChoice> choices;
  const auto add = [&](std::size_t count) {
    const Gpus gpus(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count));
    choices.push_back({gpus, choose_strategy(links, gpus)});
  };
  for (std::size_t count = 1; count < links.size(); count *= 2) add(count);
  if (links.size() > 0) add(links.size());
  return choices;
}

}  // namespace xxl::gpu
