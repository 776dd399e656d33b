// Copies are timed by the clock of the host, each by a thread of its own: those from ordinary
// memory keep their thread busy, and several must run until all are done.
#include "gpu/probe/probe_copies.h"

#include <cuda_runtime.h>

#include <array>
#include <functional>
#include <vector>

#include "gpu/probe/probe_cuda.cuh"
#include "gpu/probe/probe_threads.h"

namespace xxl::gpu::probe {
namespace {

constexpr std::size_t kCopiesInFlight = 4;  // of one transfer: a GPU never waits for the host

void start_piece(const Transfer& transfer, std::size_t piece, cudaStream_t stream) {
  const auto& [gpu, to, to_gpu, from, from_gpu, bytes, piece_bytes] = transfer;
  const std::size_t offset = piece * piece_bytes % bytes;
  std::byte* target = to + offset;
  const std::byte* source = from + offset;
  if (to_gpu != kHost && from_gpu != kHost && to_gpu != from_gpu) {
    check(cudaMemcpyPeerAsync(target, to_gpu, source, from_gpu, piece_bytes, stream), "copy", gpu);
    return;
  }
  const cudaMemcpyKind kind = from_gpu == kHost ? cudaMemcpyHostToDevice
                              : to_gpu == kHost ? cudaMemcpyDeviceToHost
                                                : cudaMemcpyDeviceToDevice;
  check(cudaMemcpyAsync(target, source, piece_bytes, kind, stream), "copy", gpu);
}

// One transfer on the thread that runs it.
class TransferLoop {
 public:
  explicit TransferLoop(const Transfer& transfer) : transfer_(transfer), stream_(use(transfer)) {
    for (CudaEvent& event : events_) event = make_event(transfer.gpu);
  }

  void warm_up() {
    start_piece(transfer_, 0, stream_.get());
    start_piece(transfer_, 1, stream_.get());
    finish();
  }

  // Bytes a second of what was done in `seconds` and a little more.
  double measure(double seconds) {
    const Clock::time_point start = Clock::now();
    std::size_t pieces = 0;
    while (pieces < 2 * kCopiesInFlight || seconds_between(start, Clock::now()) < seconds) {
      const cudaEvent_t event = events_[pieces % kCopiesInFlight].get();
      // The piece that used the event before; none the first time.
      check(cudaEventSynchronize(event), "copy", transfer_.gpu);
      start_piece(transfer_, pieces++, stream_.get());
      check(cudaEventRecord(event, stream_.get()), "copy", transfer_.gpu);
    }
    finish();
    return static_cast<double>(pieces * transfer_.piece_bytes) /
           seconds_between(start, Clock::now());
  }

 private:
  static int use(const Transfer& transfer) {
    use_gpu(transfer.gpu);
    return transfer.gpu;
  }
  void finish() { check(cudaStreamSynchronize(stream_.get()), "copy", transfer_.gpu); }

  const Transfer& transfer_;
  CudaStream stream_;
  std::array<CudaEvent, kCopiesInFlight> events_;
};

}  // namespace

double measure_copies(std::span<const Transfer> transfers, double seconds) {
  std::vector<double> rates(transfers.size());
  run_together(transfers.size(), [&](std::size_t i, const std::function<void()>& wait_for_all) {
    TransferLoop loop(transfers[i]);
    loop.warm_up();
    wait_for_all();
    rates[i] = loop.measure(seconds);
  });
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace xxl::gpu::probe
