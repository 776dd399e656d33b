#include "gpu/sort/gpu_accelerator.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/memory_name.h"
#include "base/units.h"
#include "gpu/sort/gpu_chunk_sorter.h"
#include "gpu/sort/gpu_general_sorter.h"
#include "gpu/sort/gpu_piece_sorter.h"

namespace xxl::gpu {
namespace {

// Some memory stays free: contexts grow, and others may need a little.
constexpr std::uint64_t kSpareBytes = 512 * kMiB;
constexpr std::uint64_t kSparePart = 16;
constexpr unsigned kChunksOfStream = 2;         // one arrives while the other leaves
constexpr int kAttempts = 4;                    // with less memory each time
constexpr std::uint64_t kWorkBytes = 4 * kGiB;  // about what sorting takes beside the records
constexpr double kTextReserve = 1.2;            // for text that gets longer than its beginning

// Of device memory, for a chunk of all of the input.
std::uint64_t needed_bytes(const ChunkFormat& format, double record_bytes,
                           std::uint64_t input_bytes) {
  if (input_bytes == 0) return ~std::uint64_t{0};
  const double records = static_cast<double>(input_bytes) / record_bytes;
  const double extra =
      format.shape.by_address ? records * static_cast<double>(format.shape.item.bytes()) : 0;
  return input_bytes + static_cast<std::uint64_t>(extra) + kWorkBytes;
}

}  // namespace

GpuAccelerator::GpuAccelerator(GpuOptions options) : options_(std::move(options)) {}
GpuAccelerator::~GpuAccelerator() = default;

bool GpuAccelerator::find(std::uint64_t bytes, std::string& reason) {
  if (!all_.empty()) return true;
  try {
    found_ = options_.find(bytes);
  } catch (const Error& error) {
    reason = error.what();
    return false;
  }
  MultiGpu& strategy = found_.strategy;
  if (options_.strategy != MultiGpu::automatic) strategy = options_.strategy;
  XXL_CHECK(!found_.devices.empty() && strategy != MultiGpu::automatic);
  std::vector<Device*> all;
  for (const auto& device : found_.devices) all.push_back(device.get());
  if (found_.host_rate == 0) found_.host_rate = kAssumedHostRate * static_cast<double>(all.size());
  if (all.size() == 1) strategy = MultiGpu::partition;
  for (std::size_t i = 0; strategy != MultiGpu::independent && i < all.size(); ++i) {
    for (Device* peer : all) {
      if (all[i] == peer || all[i]->make_peer(*peer)) continue;
      if (options_.strategy != MultiGpu::automatic) {
        reason = "the GPUs cannot read each other's memory: give --multi-gpu=independent";
        return false;
      }
      strategy = MultiGpu::independent;
    }
  }
  all_ = std::move(all);
  return true;
}

// At least one is needed: what is too much for that is not even looked for.
bool GpuAccelerator::find_within(std::uint64_t most_host_bytes, std::uint64_t bytes,
                                 std::string& reason) {
  const auto fits = [&](std::size_t gpus) {
    const std::uint64_t taken = gpus * options_.driver_bytes;
    if (taken <= most_host_bytes) return true;
    reason = "the driver would take " + format_bytes(taken) + " of " + memory_name();
    return false;
  };
  return fits(1) && find(bytes, reason) && fits(all_.size());
}

// Of each device: as much as the one with the least can give.
std::uint64_t GpuAccelerator::usable_bytes() const {
  std::uint64_t usable = ~std::uint64_t{0};
  for (const Device* device : all_) {
    const DeviceInfo info = device->info();
    const std::uint64_t free = std::min(info.free_bytes, info.total_bytes / found_.users);
    usable = std::min(usable, free - std::min(free / kSparePart, kSpareBytes));
  }
  if (options_.memory_bytes != 0) usable = std::min(usable, options_.memory_bytes / found_.users);
  return usable;
}

std::string GpuAccelerator::describe() const {
  std::map<std::string, int> names;
  for (const Device* device : all_) ++names[device->info().name];
  std::string text;
  for (const auto& [name, count] : names) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " x " + name;
  }
  if (all_.size() > 1) text.append(", ").append(strategy_name(found_.strategy));
  return text;
}

// A plan with the division of memory that divide(plan) returns. Where `divide` throws for lack of
// memory: nothing, and the `reason`.
template <class Divide>
std::optional<AcceleratorPlan> GpuAccelerator::planned(std::uint64_t input_bytes,
                                                       std::string& reason, Divide divide) const {
  try {
    AcceleratorPlan plan;
    const Division division = divide(plan);
    plan.chunk_bytes = division.chunk_bytes;
    plan.chunks = division.geometry.chunks;
    plan.input_bytes = input_bytes;
    plan.host_bytes = all_.size() * options_.driver_bytes;
    plan.description = describe();
    return plan;
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

// As one chunk if all of the input fits, otherwise as a stream of chunks.
GpuAccelerator::Division GpuAccelerator::divide(const ChunkFormat& format, double record_bytes,
                                                std::uint64_t memory_bytes,
                                                std::uint64_t input_bytes,
                                                std::size_t slice_bytes) const {
  const std::size_t sharing = found_.strategy == MultiGpu::independent ? 1 : all_.size();
  const auto plan = [&](std::uint64_t most_bytes, unsigned chunks) {
    Division division;
    division.geometry = ChunkGeometry::plan(*all_.front(), sharing, format, record_bytes,
                                            memory_bytes, most_bytes, slice_bytes, chunks);
    division.chunk_bytes = sharing * division.geometry.capacity(format, record_bytes);
    return division;
  };
  if (input_bytes != 0) {
    try {
      const Division whole = plan(input_bytes, 1);
      if (whole.chunk_bytes >= input_bytes) return whole;
    } catch (const Error&) {
      // Smaller chunks may fit.
    }
  }
  const Division stream = plan(~std::uint64_t{0} / 2, kChunksOfStream);
  if (stream.chunk_bytes == 0) {
    throw Error(ErrorCode::no_space, "the memory of the GPU is too small");
  }
  return stream;
}

std::optional<AcceleratorPlan> GpuAccelerator::plan(const KeyLayout& layout,
                                                    std::uint64_t input_bytes,
                                                    std::size_t slice_bytes,
                                                    std::uint64_t most_host_bytes,
                                                    std::string& reason) {
  const ChunkFormat format = ChunkFormat::of(layout);
  const auto record_bytes = static_cast<double>(layout.record_bytes());
  if (!find_within(most_host_bytes, needed_bytes(format, record_bytes, input_bytes), reason)) {
    return std::nullopt;
  }
  if (layout.record_bytes() > slice_bytes) {
    reason = "records of " + format_bytes(layout.record_bytes()) +
             " do not fit into the buffers of " + memory_name() + " for transfers to a GPU, " +
             format_bytes(slice_bytes);
    return std::nullopt;
  }
  return planned(input_bytes, reason, [&](AcceleratorPlan& plan) {
    plan.slice_bytes = slice_bytes;
    return divide(format, record_bytes, usable_bytes(), input_bytes, slice_bytes);
  });
}

// The result of `make` with as much of each device's memory as there is.
template <class Make>
auto GpuAccelerator::with_memory(Make make) const {
  std::uint64_t memory = usable_bytes();
  for (int attempt = 1;; ++attempt, memory = memory / 4 * 3) {
    try {
      return make(memory);
    } catch (const Error& error) {
      // Another process took the memory since it was queried.
      if (error.code() != ErrorCode::no_space || attempt == kAttempts) throw;
    }
  }
}

std::unique_ptr<ChunkSorter> GpuAccelerator::make_sorter(const KeyLayout& layout,
                                                         const AcceleratorPlan& plan, bool unique,
                                                         std::span<std::byte> staging,
                                                         Workers& workers, Mailbox& mailbox) {
  const ChunkFormat format = ChunkFormat::of(layout);
  auto sorter = with_memory([&](std::uint64_t memory) {
    const Division division = divide(format, static_cast<double>(layout.record_bytes()), memory,
                                     plan.input_bytes, plan.slice_bytes);
    return std::make_unique<GpuChunkSorter>(layout, unique, all_, division.geometry,
                                            found_.strategy, staging, workers, mailbox,
                                            options_.time_line);
  });
  engine_ = &sorter->engine();
  return sorter;
}

// --- text ---

// The chunk's bytes are those of the input.
GpuAccelerator::Division GpuAccelerator::divide_general(const GeneralSorterSpec& spec,
                                                        std::uint64_t memory_bytes,
                                                        std::size_t slice_bytes) const {
  const double entry = text_entry_bytes(spec.record_bytes, spec.key_bytes);
  const double growth = entry / (spec.record_bytes + 1);
  const auto entries =
      static_cast<std::uint64_t>(static_cast<double>(spec.input_bytes) * growth * kTextReserve);
  Division division = divide(ChunkFormat::of_text(false, spec.terminator), entry, memory_bytes,
                             entries, slice_bytes);
  division.chunk_bytes =
      static_cast<std::uint64_t>(static_cast<double>(division.chunk_bytes) / growth);
  return division;
}

std::optional<AcceleratorPlan> GpuAccelerator::plan_general(const GeneralSorterSpec& spec,
                                                            std::size_t staging_bytes,
                                                            std::uint64_t most_host_bytes,
                                                            std::string& reason) {
  const double entry = text_entry_bytes(spec.record_bytes, spec.key_bytes);
  const auto entries = static_cast<std::uint64_t>(static_cast<double>(spec.input_bytes) * entry /
                                                  (spec.record_bytes + 1));
  const ChunkFormat format = ChunkFormat::of_text(false, spec.terminator);
  if (!find_within(most_host_bytes, needed_bytes(format, entry, entries), reason)) {
    return std::nullopt;
  }
  return planned(spec.input_bytes, reason, [&](AcceleratorPlan& plan) {
    plan.slice_bytes = GeneralStaging::plan(staging_bytes, spec.threads).bytes;
    return divide_general(spec, usable_bytes(), plan.slice_bytes);
  });
}

std::unique_ptr<GeneralSorter> GpuAccelerator::make_general_sorter(const GeneralSorterSpec& spec,
                                                                   std::span<std::byte> staging,
                                                                   Mailbox& mailbox) {
  const GeneralStaging parts = GeneralStaging::plan(staging.size(), spec.threads);
  auto sorter = with_memory([&](std::uint64_t memory) {
    const Division division = divide_general(spec, memory, parts.bytes);
    return std::make_unique<GpuGeneralSorter>(spec, all_, division.geometry, found_.strategy, parts,
                                              staging, mailbox, options_.time_line);
  });
  engine_ = &sorter->engine();
  return sorter;
}

// --- merging ---

// A piece crosses the link once in each direction, which do not disturb each other much.
double GpuAccelerator::merge_rate(std::string& reason) {
  return find(0, reason) ? found_.host_rate : 0;
}

std::vector<std::unique_ptr<PieceSorter>> GpuAccelerator::make_merge_sorters(
    const KeyLayout& layout, bool unique, unsigned count, std::size_t capacity,
    std::span<std::byte> staging) {
  const std::size_t bytes = round_down(staging.size() / count, kSectorBytes);
  const std::uint64_t room = usable_bytes();
  const std::uint64_t needed = GpuPieceSorter::memory_bytes(*all_.front(), layout, capacity);
  if (needed > room) {
    throw Error(ErrorCode::no_space, "merging takes " + format_bytes(needed) +
                                         " of a GPU's memory, and there are " + format_bytes(room));
  }
  count = static_cast<unsigned>(std::min<std::uint64_t>(count, all_.size() * (room / needed)));
  std::vector<std::unique_ptr<PieceSorter>> sorters;
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t device = i % all_.size();
    sorters.push_back(std::make_unique<GpuPieceSorter>(
        *all_[device], layout, unique, capacity, staging.subspan(i * bytes, bytes),
        "GPU " + std::to_string(device) + " merge", options_.time_line));
  }
  return sorters;
}

void GpuAccelerator::pin(std::span<std::byte> memory) {
  all_.front()->pin(memory);
}
void GpuAccelerator::unpin(std::span<std::byte> memory) {
  all_.front()->unpin(memory);
}

AcceleratorReport GpuAccelerator::report() const {
  AcceleratorReport report;
  if (engine_ == nullptr) return report;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const ChunkEngine::Busy busy = engine_->busy(i);
    const DeviceInfo info = all_[i]->info();
    report.devices.push_back({"GPU " + std::to_string(info.index) + ", " + info.name,
                              busy.sort_seconds, busy.in_seconds, busy.out_seconds});
  }
  return report;
}

}  // namespace xxl::gpu
