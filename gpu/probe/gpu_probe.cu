#include "gpu/probe/gpu_probe.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "gpu/device/pci_place.h"
#include "gpu/probe/probe_copies.h"
#include "gpu/probe/probe_cuda.cuh"
#include "gpu/probe/probe_threads.h"

namespace xxl::gpu {
namespace {

using namespace probe;

constexpr double kMinSeconds = 0.02;  // of one measurement
constexpr double kMaxSeconds = 0.2;
constexpr std::size_t kBytes = 128 * kMiB;  // of a buffer: one for each direction of a GPU

// Number of GPUs, at least 1.
std::size_t count_gpus() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
    throw Error(ErrorCode::device, "no GPU: no NVIDIA driver is installed");
  }
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess) {
    throw Error(ErrorCode::device, std::string("no GPU: ") + cudaGetErrorString(result));
  }
  if (count <= 0) throw Error(ErrorCode::device, "no GPU: the driver has none");
  return static_cast<std::size_t>(count);
}

std::string bus_of(int gpu) {
  char bus[32] = {};
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, gpu), "find its PCI address", gpu);
  return bus;
}

// REQUIRES: `gpu` is in use.
ProbedGpu describe(int gpu) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu), "describe it", gpu);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "ask for its memory", gpu);
  ProbedGpu result;
  result.info.index = gpu;
  result.info.name = properties.name;
  result.info.bus = bus_of(gpu);
  result.info.numa_node = find_pci_place(result.info.bus).numa_node;
  result.info.total_bytes = total_bytes;
  result.info.free_bytes = free_bytes;
  result.compute_major = properties.major;
  result.compute_minor = properties.minor;
  return result;
}

// Native atomic operations on memory of a peer distinguish NVLink from PCIe, without NVML.
PeerLink describe_link(int from, int to) {
  int peer = 0;
  check(cudaDeviceCanAccessPeer(&peer, from, to), "ask for its peers", from);
  if (peer == 0) return {};
  int nvlink = 0;
  check(cudaDeviceGetP2PAttribute(&nvlink, cudaDevP2PAttrNativeAtomicSupported, from, to),
        "ask for its peers", from);
  return {.peer = true, .rate = nvlink != 0 ? kAssumedNvlinkRate : kAssumedPciePeerRate};
}

// Enables direct access of the GPU in use to `peer`; false if the driver has no more such links.
bool enable_peer(int gpu, int peer) {
  const cudaError_t result = cudaDeviceEnablePeerAccess(peer, 0);
  if (result == cudaErrorPeerAccessAlreadyEnabled || result == cudaErrorTooManyPeers ||
      result == cudaErrorPeerAccessUnsupported) {
    static_cast<void>(cudaGetLastError());
    return result == cudaErrorPeerAccessAlreadyEnabled;
  }
  check(result, "access its peers", gpu);
  return true;
}

// --- The probe ---

enum class Direction { to, from, both };

// The host memory of a GPU's transfers.
struct HostBuffers {
  const std::byte* to_gpu = nullptr;
  std::byte* from_gpu = nullptr;
};

class GpuProbe {
 public:
  explicit GpuProbe(double seconds)
      : count_(count_gpus()),
        seconds_(
            std::clamp(seconds / static_cast<double>(measurements()), kMinSeconds, kMaxSeconds)) {}

  GpuProbeResult run() {
    result_.assumed = find_gpu_links();
    describe_gpus();
    enable_peers();
    allocate_transfer_memory();
    measure_ordinary_memory();
    allocate_pinned_memory();
    measure_pinned_memory();
    measure_pairs_at_the_host();
    measure_peers();
    measure_all_to_all();
    measure_sets();
    return std::move(result_);
  }

 private:
  std::size_t measurements() const {
    const std::size_t pairs = count_ * (count_ - 1);
    std::size_t sets = 0;
    for (std::size_t size = 2; size <= count_; size *= 2) ++sets;
    return 9 * count_ + pairs / 2 + pairs + 1 + 3 * sets;
  }

  void describe_gpus() {
    result_.gpus.resize(count_);
    run_together(count_, [&](std::size_t index, const std::function<void()>&) {
      const int gpu = static_cast<int>(index);
      use_gpu(gpu);
      check(cudaFree(nullptr), "start it", gpu);  // the first call does slow initialization
      result_.gpus[index] = describe(gpu);
    });
    result_.links = result_.assumed;
  }

  void enable_peers() {
    for (std::size_t gpu = 0; gpu < count_; ++gpu) {
      use_gpu(static_cast<int>(gpu));
      for (std::size_t peer = 0; peer < count_; ++peer) {
        PeerLink& link = result_.links.link(gpu, peer);
        if (link.peer) link.peer = enable_peer(static_cast<int>(gpu), static_cast<int>(peer));
      }
    }
  }

  std::size_t received_bytes() const { return kBytes * std::max<std::size_t>(count_ - 1, 1); }

  void allocate_transfer_memory() {
    for (std::size_t gpu = 0; gpu < count_; ++gpu) {
      sent_.push_back(allocate_on(static_cast<int>(gpu), kBytes));
      received_.push_back(allocate_on(static_cast<int>(gpu), received_bytes()));
    }
  }

  // Transfers between host and GPU. In pieces: copies of ordinary memory are slow, and must not
  // take much longer than their time.
  std::vector<Transfer> host_transfers(std::size_t gpu, const HostBuffers& host,
                                       Direction direction) const {
    const int index = static_cast<int>(gpu);
    const std::size_t piece_bytes = kBytes / 4;
    std::vector<Transfer> transfers;
    if (direction != Direction::from) {
      transfers.push_back({.gpu = index,
                           .to = received_[gpu].get(),
                           .to_gpu = index,
                           .from = host.to_gpu,
                           .bytes = kBytes,
                           .piece_bytes = piece_bytes});
    }
    if (direction != Direction::to) {
      transfers.push_back({.gpu = index,
                           .to = host.from_gpu,
                           .from = sent_[gpu].get(),
                           .from_gpu = index,
                           .bytes = kBytes,
                           .piece_bytes = piece_bytes});
    }
    return transfers;
  }

  HostRates measure_host(std::size_t gpu, const HostBuffers& host) const {
    const auto measure = [&](Direction direction) {
      return measure_copies(host_transfers(gpu, host, direction), seconds_);
    };
    return {.to = measure(Direction::to),
            .from = measure(Direction::from),
            .both = measure(Direction::both)};
  }

  void measure_ordinary_memory() {
    const HostBuffer to_gpu = allocate_touched(kBytes);
    const HostBuffer from_gpu = allocate_touched(kBytes);
    const HostBuffers host{to_gpu.get(), from_gpu.get()};
    for (std::size_t gpu = 0; gpu < count_; ++gpu) {
      result_.gpus[gpu].pageable = measure_host(gpu, host);
    }
    use_gpu(0);
    const Registration to_registration(to_gpu.get(), kBytes);
    const Registration from_registration(from_gpu.get(), kBytes);
    for (std::size_t gpu = 0; gpu < count_; ++gpu) {
      result_.gpus[gpu].registered = measure_host(gpu, host);
    }
  }

  void allocate_pinned_memory() {
    for (std::size_t i = 0; i < 2 * count_; ++i) {
      pinned_.push_back(allocate_pinned(static_cast<int>(i / 2), kBytes));
    }
  }

  HostBuffers pinned_of(std::size_t gpu) const {
    return {pinned_[2 * gpu].get(), pinned_[2 * gpu + 1].get()};
  }

  void measure_pinned_memory() {
    for (std::size_t gpu = 0; gpu < count_; ++gpu) {
      const HostRates rates = measure_host(gpu, pinned_of(gpu));
      result_.gpus[gpu].pinned = rates;
      result_.links.gpu(gpu).host_rate = std::min(rates.to, rates.from);
      result_.links.gpu(gpu).host_both_rate = rates.both;
    }
  }

  double measure_together(std::span<const std::size_t> gpus, Direction direction) const {
    std::vector<Transfer> transfers;
    for (const std::size_t gpu : gpus) {
      for (const Transfer& transfer : host_transfers(gpu, pinned_of(gpu), direction)) {
        transfers.push_back(transfer);
      }
    }
    return measure_copies(transfers, seconds_);
  }

  void measure_pairs_at_the_host() {
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = a + 1; b < count_; ++b) {
        result_.links.set_together_rate(a, b, measure_together(std::array{a, b}, Direction::both));
      }
    }
  }

  // From one GPU to another, which has a buffer for each of the others.
  Transfer peer_transfer(std::size_t from, std::size_t to) const {
    const std::size_t place = from < to ? from : from - 1;
    return {.gpu = static_cast<int>(from),
            .to = received_[to].get() + place * kBytes,
            .to_gpu = static_cast<int>(to),
            .from = sent_[from].get(),
            .from_gpu = static_cast<int>(from),
            .bytes = kBytes,
            .piece_bytes = kBytes};
  }

  std::vector<Transfer> all_peer_transfers() const {
    std::vector<Transfer> transfers;
    for (std::size_t from = 0; from < count_; ++from) {
      for (std::size_t to = 0; to < count_; ++to) {
        if (from != to) transfers.push_back(peer_transfer(from, to));
      }
    }
    return transfers;
  }

  void measure_peers() {
    for (const Transfer& transfer : all_peer_transfers()) {
      result_.links.link(transfer.from_gpu, transfer.to_gpu).rate =
          measure_copies(std::span(&transfer, 1), seconds_);
    }
  }

  void measure_all_to_all() {
    if (count_ > 1) result_.all_to_all_rate = measure_copies(all_peer_transfers(), seconds_);
  }

  void measure_sets() {
    for (const GpuChoice& choice : choices_by_count(result_.links)) {
      if (choice.gpus.size() == 1) continue;
      result_.sets.push_back({.gpus = choice.gpus,
                              .pinned = {.to = measure_together(choice.gpus, Direction::to),
                                         .from = measure_together(choice.gpus, Direction::from),
                                         .both = measure_together(choice.gpus, Direction::both)}});
    }
  }

  std::size_t count_;
  double seconds_;  // of one measurement
  GpuProbeResult result_;
  // Of each GPU: what it sends, and what it receives from the host or from each other GPU.
  std::vector<DeviceBuffer> sent_;
  std::vector<DeviceBuffer> received_;
  std::vector<PinnedBuffer> pinned_;  // two for each GPU: to it, from it
};

}  // namespace

GpuLinks find_gpu_links() {
  const std::size_t count = count_gpus();
  GpuLinks links(count);
  for (std::size_t gpu = 0; gpu < count; ++gpu) {
    const PciPlace place = find_pci_place(bus_of(static_cast<int>(gpu)));
    links.gpu(gpu).numa_node = place.numa_node;
    links.gpu(gpu).host_link = place.host_link;
    for (std::size_t peer = 0; peer < count; ++peer) {
      if (peer == gpu) continue;
      links.link(gpu, peer) = describe_link(static_cast<int>(gpu), static_cast<int>(peer));
    }
  }
  return links;
}

GpuProbeResult probe_gpus(double seconds) {
  return GpuProbe(seconds).run();
}

}  // namespace xxl::gpu
