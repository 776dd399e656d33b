// Sorts are timed by events of the GPU, since each needs new noise before it: radix sorts of sorted
// data take a different time.
#include "gpu/probe/probe_sorts.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <span>

#include "gpu/probe/probe_copies.h"
#include "gpu/probe/probe_cuda.cuh"

namespace xxl::gpu::probe {
namespace {

constexpr int kMinSorts = 3;

__global__ void fill_with_noise(std::uint64_t* words, std::size_t count, std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    // SplitMix64
    std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    words[i] = z ^ (z >> 31);
  }
}

// Sorts noise on one GPU.
class SortProbe {
 public:
  SortProbe(int gpu, std::size_t items, double seconds)
      : gpu_(gpu),
        items_(items),
        seconds_(seconds),
        noise_(allocate_on(gpu, items * kMaxItemBytes)),
        sorted_(allocate_on(gpu, items * kMaxItemBytes)),
        stream_(gpu),
        start_(gpu, cudaEventDefault),
        end_(gpu, cudaEventDefault) {}

  static constexpr std::size_t kMaxItemBytes = kSortItemBytes / 2;

  SortRates measure() {
    return {.items = items_,
            .u32 = measure_keys<std::uint32_t>(),
            .u64 = measure_keys<std::uint64_t>(),
            .u64_u64 = measure_pairs()};
  }

  // Of copies within the memory of the GPU, bytes read and written.
  double measure_copying() {
    const std::size_t bytes = items_ * kMaxItemBytes;
    const Transfer transfer{.gpu = gpu_,
                            .to = sorted_.get(),
                            .to_gpu = gpu_,
                            .from = noise_.get(),
                            .from_gpu = gpu_,
                            .bytes = bytes,
                            .piece_bytes = bytes};
    return 2 * measure_copies(std::span(&transfer, 1), seconds_);
  }

 private:
  template <class Key>
  double measure_keys() {
    return measure_sort(sizeof(Key), [this](void* scratch, std::size_t& scratch_bytes) {
      cub::DoubleBuffer<Key> keys(reinterpret_cast<Key*>(noise_.get()),
                                  reinterpret_cast<Key*>(sorted_.get()));
      return cub::DeviceRadixSort::SortKeys(scratch, scratch_bytes, keys, items_, 0,
                                            8 * static_cast<int>(sizeof(Key)), stream_.get());
    });
  }

  double measure_pairs() {
    return measure_sort(kMaxItemBytes, [this](void* scratch, std::size_t& scratch_bytes) {
      auto* from = reinterpret_cast<std::uint64_t*>(noise_.get());
      auto* to = reinterpret_cast<std::uint64_t*>(sorted_.get());
      cub::DoubleBuffer<std::uint64_t> keys(from, to);
      cub::DoubleBuffer<std::uint64_t> values(from + items_, to + items_);
      return cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, keys, values, items_, 0, 64,
                                             stream_.get());
    });
  }

  // `sort(scratch, scratch_bytes)`, as CUB's: says the bytes if `scratch` is null.
  template <class Sort>
  double measure_sort(std::size_t item_bytes, Sort sort) {
    std::size_t scratch_bytes = 0;
    check(sort(nullptr, scratch_bytes), "sort", gpu_);
    const DeviceBuffer scratch = allocate_on(gpu_, std::max<std::size_t>(scratch_bytes, 1));
    time_sort(sort, scratch.get(), scratch_bytes);  // warms up
    const Clock::time_point start = Clock::now();
    double seconds = 0;
    int sorts = 0;
    while (sorts < kMinSorts || seconds_between(start, Clock::now()) < seconds_) {
      seconds += time_sort(sort, scratch.get(), scratch_bytes);
      ++sorts;
    }
    return static_cast<double>(sorts) * static_cast<double>(items_ * item_bytes) / seconds;
  }

  template <class Sort>
  double time_sort(Sort sort, void* scratch, std::size_t scratch_bytes) {
    const std::size_t words = items_ * kMaxItemBytes / sizeof(std::uint64_t);
    auto* noise = reinterpret_cast<std::uint64_t*>(noise_.get());
    fill_with_noise<<<1024, 256, 0, stream_.get()>>>(noise, words, ++seed_);
    check(cudaGetLastError(), "sort", gpu_);
    check(cudaEventRecord(start_.get(), stream_.get()), "sort", gpu_);
    check(sort(scratch, scratch_bytes), "sort", gpu_);
    check(cudaEventRecord(end_.get(), stream_.get()), "sort", gpu_);
    check(cudaEventSynchronize(end_.get()), "sort", gpu_);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_.get(), end_.get()), "sort", gpu_);
    return milliseconds / 1e3;
  }

  int gpu_;
  std::size_t items_;
  double seconds_;  // of one measurement
  DeviceBuffer noise_;
  DeviceBuffer sorted_;
  CudaStream stream_;
  CudaEvent start_;
  CudaEvent end_;
  std::uint64_t seed_ = 0;
};

}  // namespace

void measure_alone(int gpu, std::size_t items, double seconds, ProbedGpu& probed) {
  SortProbe probe(gpu, items, seconds);
  probed.copy_rate = probe.measure_copying();
  probed.sort = probe.measure();
}

}  // namespace xxl::gpu::probe
