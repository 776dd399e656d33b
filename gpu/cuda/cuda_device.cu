#include "gpu/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>

#include "gpu/cuda/cuda_stream.cuh"
#include "gpu/device/pci_place.h"

namespace xxl::gpu {
namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int device) : device_(device) {}

  DeviceInfo info() const override {
    use();
    DeviceInfo info;
    info.index = device_;
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, device_), "ask for properties");
    info.name = properties.name;
    char bus[32] = {};
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, device_) == cudaSuccess) info.bus = bus;
    info.numa_node = find_pci_place(info.bus).numa_node;
    std::size_t free_bytes, total_bytes;
    check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "ask for free memory");
    info.total_bytes = total_bytes;
    info.free_bytes = free_bytes;
    return info;
  }

  std::byte* allocate(std::size_t bytes) override {
    use();
    void* memory;
    check_cuda(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "allocate memory");
    return static_cast<std::byte*>(memory);
  }
  void free(std::byte* memory) override {
    if (cudaSetDevice(device_) == cudaSuccess) cudaFree(memory);
  }
  std::byte* allocate_shared(std::size_t bytes) override {
    use();
    void* memory;
    bytes = std::max<std::size_t>(bytes, 1);
    check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
               "allocate shared memory");
    std::memset(memory, 0, bytes);
    return static_cast<std::byte*>(memory);
  }
  void free_shared(std::byte* memory) override {
    if (cudaSetDevice(device_) == cudaSuccess) cudaFreeHost(memory);
  }

  std::unique_ptr<Stream> make_stream() override {
    use();
    return std::make_unique<CudaStream>(device_);
  }

  std::size_t sort_scratch_bytes(const ItemShape& shape, std::size_t count) override {
    use();
    return gpu::sort_scratch_bytes(shape, count);
  }
  std::size_t refine_scratch_bytes(std::size_t count) override {
    use();
    return gpu::refine_scratch_bytes(count);
  }

  bool make_peer(const Device& peer) override {
    const auto* other = dynamic_cast<const CudaDevice*>(&peer);
    if (other == nullptr) return false;
    if (other->device_ == device_) return true;
    use();
    int possible = 0;
    if (cudaDeviceCanAccessPeer(&possible, device_, other->device_) != cudaSuccess) return false;
    if (possible == 0) return false;
    const cudaError_t status = cudaDeviceEnablePeerAccess(other->device_, 0);
    (void)cudaGetLastError();
    return status == cudaSuccess || status == cudaErrorPeerAccessAlreadyEnabled;
  }

  void pin(std::span<std::byte> memory) override {
    use();
    // If this fails, copies are only slower.
    if (cudaHostRegister(memory.data(), memory.size(),
                         cudaHostRegisterPortable | cudaHostRegisterMapped) != cudaSuccess) {
      (void)cudaGetLastError();
    }
  }
  void unpin(std::span<std::byte> memory) override {
    if (cudaSetDevice(device_) != cudaSuccess || cudaHostUnregister(memory.data()) != cudaSuccess) {
      (void)cudaGetLastError();
    }
  }
  // Memory is pinned as a whole.
  bool is_pinned(std::span<const std::byte> memory) override {
    if (memory.empty()) return true;
    use();
    for (const std::byte* at : {memory.data(), memory.data() + memory.size() - 1}) {
      cudaPointerAttributes attributes{};
      if (cudaPointerGetAttributes(&attributes, at) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
      }
      if (attributes.type == cudaMemoryTypeUnregistered) return false;
    }
    return true;
  }

 private:
  // Starts the GPU when it is first used: its threads sleep while they wait, since processors have
  // other work.
  void use() const {
    check_cuda(cudaInitDevice(device_, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid),
               "start a GPU");
    check_cuda(cudaSetDevice(device_), "use a GPU");
  }

  int device_;
};

}  // namespace

CudaStream::CudaStream(int device) : device_(device) {
  use();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
}

CudaStream::~CudaStream() {
  cudaSetDevice(device_);
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
}

void CudaStream::finish() {
  use();
  wait("wait for the GPU");
}

void CudaStream::copy_in(std::byte* device, const std::byte* host, std::size_t bytes) {
  use();
  check_cuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_), "copy in");
}

void CudaStream::copy_out(std::byte* host, const std::byte* device, std::size_t bytes) {
  use();
  check_cuda(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "copy out");
}

void CudaStream::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  use();
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copy");
}

void CudaStream::clear(std::byte* memory, std::size_t bytes) {
  use();
  check_cuda(cudaMemsetAsync(memory, 0, bytes, stream_), "clear");
}

void CudaStream::upload(std::byte* to, const void* from, std::size_t bytes) const {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copy a table");
}

std::byte* CudaStream::shared_copy(std::span<const std::byte> table) {
  wait("wait for the GPU");
  std::byte* const copy = shared_table_.get(table.size());
  std::memcpy(copy, table.data(), table.size());
  return copy;
}

std::vector<std::unique_ptr<Device>> cuda_devices(std::string& reason) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    reason = cudaGetErrorString(status);
    return {};
  }
  if (count == 0) reason = "there is no GPU";
  std::vector<std::unique_ptr<Device>> devices;
  for (int device = 0; device < count; ++device) {
    devices.push_back(std::make_unique<CudaDevice>(device));
  }
  return devices;
}

std::string cuda_driver_version() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace xxl::gpu
