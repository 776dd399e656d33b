// GPUs as the accelerator of a sort.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/device/topology.h"
#include "gpu/sort/chunk_engine.h"
#include "sort/accelerator.h"

namespace xxl::gpu {

struct GpuOptions {
  // Finds GPUs that can hold `bytes` together, or as many as there are; called when a sort first
  // needs them, since it is slow. Throws Error{device} that says why there are none. Also returns
  // how they sort together, if there are several and `strategy` is automatic.
  struct Found {
    std::vector<std::unique_ptr<Device>> devices;
    MultiGpu strategy = MultiGpu::partition;
    // Of all links to the host together, in one direction: bytes a second; 0: not known.
    double host_rate = 0;
    unsigned users = 1;  // accelerators that share each of the devices, in equal parts
  };
  std::function<Found(std::uint64_t bytes)> find;
  MultiGpu strategy = MultiGpu::automatic;
  std::uint64_t memory_bytes = 0;  // most that all users use of each GPU; 0: what is free
  std::uint64_t driver_bytes = 0;  // of the host's memory that the driver takes for each GPU
  TimeLine* time_line = nullptr;   // may be null
};

class GpuAccelerator final : public Accelerator {
 public:
  explicit GpuAccelerator(GpuOptions options);
  ~GpuAccelerator() override;

  std::optional<AcceleratorPlan> plan(const KeyLayout& layout, std::uint64_t input_bytes,
                                      std::size_t slice_bytes, std::uint64_t most_host_bytes,
                                      std::string& reason) override;
  std::unique_ptr<ChunkSorter> make_sorter(const KeyLayout& layout, const AcceleratorPlan& plan,
                                           bool unique, std::span<std::byte> staging,
                                           Workers& workers, Mailbox& mailbox) override;
  std::optional<AcceleratorPlan> plan_general(const GeneralSorterSpec& spec,
                                              std::size_t staging_bytes,
                                              std::uint64_t most_host_bytes,
                                              std::string& reason) override;
  std::unique_ptr<GeneralSorter> make_general_sorter(const GeneralSorterSpec& spec,
                                                     std::span<std::byte> staging,
                                                     Mailbox& mailbox) override;
  double merge_rate(std::string& reason) override;
  std::vector<std::unique_ptr<PieceSorter>> make_merge_sorters(
      const KeyLayout& layout, bool unique, unsigned count, std::size_t capacity,
      std::span<std::byte> staging) override;
  void pin(std::span<std::byte> memory) override;
  void unpin(std::span<std::byte> memory) override;
  AcceleratorReport report() const override;

 private:
  // How chunks are sorted: on how many devices together, and in which memory of each.
  struct Division {
    ChunkGeometry geometry;
    std::uint64_t chunk_bytes = 0;
  };
  bool find(std::uint64_t bytes, std::string& reason);
  bool find_within(std::uint64_t most_host_bytes, std::uint64_t bytes, std::string& reason);
  std::uint64_t usable_bytes() const;
  std::string describe() const;
  template <class Divide>
  std::optional<AcceleratorPlan> planned(std::uint64_t input_bytes, std::string& reason,
                                         Divide divide) const;
  template <class Make>
  auto with_memory(Make make) const;
  Division divide_general(const GeneralSorterSpec& spec, std::uint64_t memory_bytes,
                          std::size_t slice_bytes) const;
  Division divide(const ChunkFormat& format, double record_bytes, std::uint64_t memory_bytes,
                  std::uint64_t input_bytes, std::size_t slice_bytes) const;

  GpuOptions options_;
  GpuOptions::Found found_;
  std::vector<Device*> all_;             // devices of found_, once they are ready
  const ChunkEngine* engine_ = nullptr;  // of the last sorter, while it lives
};

}  // namespace xxl::gpu
