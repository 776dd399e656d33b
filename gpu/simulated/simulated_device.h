// Devices in host memory: the orchestration of several GPUs is tested on them, and the program can
// be run on them where there is no GPU (--device=simulated).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/device/device.h"

namespace xxl::gpu {

struct SimulatedOptions {
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  // of each
  bool peers = true;                                    // they can read each other's memory
  bool host_is_pinned = true;                           // all of the host's memory, or none
  // Called before each operation with its name; may throw to make the device fail. Without it, a
  // machine that is simulated as a whole says which ones fail.
  std::function<void(const char* operation)> before = nullptr;
};

// The device counts what is allocated from it, and CHECKs that all of it has been freed in the end.
class SimulatedDevice final : public Device {
 public:
  SimulatedDevice(int index, SimulatedOptions options);
  ~SimulatedDevice() override;

  DeviceInfo info() const override;
  std::byte* allocate(std::size_t bytes) override;
  void free(std::byte* memory) override;
  std::byte* allocate_shared(std::size_t bytes) override;
  void free_shared(std::byte* memory) override;
  std::unique_ptr<Stream> make_stream() override;
  std::size_t sort_scratch_bytes(const ItemShape& shape, std::size_t count) override;
  std::size_t refine_scratch_bytes(std::size_t count) override;
  bool make_peer(const Device& peer) override;
  void pin(std::span<std::byte>) override {}
  void unpin(std::span<std::byte>) override {}
  bool is_pinned(std::span<const std::byte>) override { return options_.host_is_pinned; }

 private:
  int index_;
  SimulatedOptions options_;
  std::atomic<std::uint64_t> allocated_{0};
};

}  // namespace xxl::gpu
