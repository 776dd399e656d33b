#include "gpu/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/units.h"
#include "gpu/cuda/cuda_check.cuh"
#include "gpu/cuda/device_hash.cuh"
#include "gpu/cuda/device_joins.cuh"
#include "gpu/cuda/device_kernels.cuh"
#include "gpu/cuda/device_sort.cuh"

namespace xxl::gpu {
namespace {

// Memory of a stream for small tables, which grows when more is asked for: of the device, or of the
// host, where kernels read it directly. For a small table this is faster than waiting for other
// copies.
template <bool of_host>
class TableMemory {
 public:
  ~TableMemory() { free(); }
  std::byte* get(std::size_t bytes) {
    if (bytes > bytes_) {
      check_cuda(free(), "free memory");
      void* data;
      check_cuda(of_host ? cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped)
                         : cudaMalloc(&data, bytes),
                 "allocate a table");
      data_ = static_cast<std::byte*>(data);
      bytes_ = bytes;
    }
    return data_;
  }

 private:
  cudaError_t free() {
    std::byte* const data = std::exchange(data_, nullptr);
    bytes_ = 0;
    if (data == nullptr) return cudaSuccess;
    return of_host ? cudaFreeHost(data) : cudaFree(data);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int device) : device_(device) {
    use();
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
  }
  ~CudaStream() override {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void finish() override {
    use();
    wait("wait for the GPU");
  }

  void copy_in(std::byte* device, const std::byte* host, std::size_t bytes) override {
    use();
    check_cuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_), "copy in");
  }
  void copy_out(std::byte* host, const std::byte* device, std::size_t bytes) override {
    use();
    check_cuda(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "copy out");
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    use();
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copy");
  }

  void load(const RecordShape& shape, const KeyView& view, const std::byte* records,
            const Items& items) override {
    use();
    load_items(shape, view, records, items, stream_);
  }

  void sort(const ItemShape& shape, const Items& from, const Items& to,
            std::span<std::byte> scratch) override {
    use();
    sort_items(shape, from, to, scratch, stream_);
  }

  void refine(const KeyView& view, const Items& items, std::span<std::byte> scratch) override {
    use();
    refine_items(view, items, scratch, stream_);
  }

  std::vector<std::uint64_t> cut(const ItemShape& shape, const KeyView& view, bool by_address,
                                 std::span<const Items> sequences,
                                 std::span<const std::uint64_t> ranks) override {
    use();
    const std::size_t sequence_bytes = round_up(sequences.size_bytes(), kTableAlignment);
    const std::size_t rank_bytes = round_up(ranks.size_bytes(), kTableAlignment);
    const std::size_t cut_count = ranks.size() * sequences.size();
    std::byte* const table =
        tables_.get(sequence_bytes + rank_bytes + cut_count * sizeof(std::uint64_t));
    upload(table, sequences.data(), sequences.size_bytes());
    upload(table + sequence_bytes, ranks.data(), ranks.size_bytes());
    auto* const cuts = reinterpret_cast<std::uint64_t*>(table + sequence_bytes + rank_bytes);
    cut_sequences(shape, view, by_address, reinterpret_cast<const Items*>(table), sequences.size(),
                  reinterpret_cast<const std::uint64_t*>(table + sequence_bytes), ranks.size(),
                  cuts, stream_);
    std::vector<std::uint64_t> result(cut_count);
    check_cuda(cudaMemcpyAsync(result.data(), cuts, cut_count * sizeof cuts[0],
                               cudaMemcpyDeviceToHost, stream_),
               "cut");
    wait("cut");
    return result;
  }

  void concatenate(const ItemShape& shape, std::span<const Items> parts, const Items& to) override {
    use();
    std::vector<std::uint64_t> starts(parts.size() + 1, 0);
    for (std::size_t i = 0; i < parts.size(); ++i) starts[i + 1] = starts[i] + parts[i].count;
    const std::size_t part_bytes = round_up(parts.size_bytes(), kTableAlignment);
    std::byte* const table = tables_.get(part_bytes + starts.size() * sizeof starts[0]);
    upload(table, parts.data(), parts.size_bytes());
    upload(table + part_bytes, starts.data(), starts.size() * sizeof starts[0]);
    concatenate_items(shape, reinterpret_cast<const Items*>(table),
                      reinterpret_cast<const std::uint64_t*>(table + part_bytes), parts.size(), to,
                      stream_);
  }

  void store(const RecordShape& shape, const Items& items, std::byte* records) override {
    use();
    store_records(shape, items, records, stream_);
  }

  std::vector<GeneralSlice> slice_text(const Items& items, std::uint64_t most_bytes,
                                       std::uint64_t* offsets,
                                       std::span<std::byte> scratch) override {
    use();
    measure_text(items, offsets, scratch, stream_);
    // Slices begin where the last one is full.
    const std::size_t most_slices = scratch.size() / sizeof(GeneralSlice) - 1;
    auto* const slices = reinterpret_cast<GeneralSlice*>(scratch.data());
    cut_text(items, most_bytes, offsets, slices, most_slices, stream_);
    GeneralSlice sum;
    check_cuda(cudaMemcpyAsync(&sum, slices, sizeof sum, cudaMemcpyDeviceToHost, stream_),
               "slice text");
    wait("slice text");
    if (sum.bytes > most_bytes) {
      throw Error(ErrorCode::no_space, "a record is too long for a GPU");
    }
    std::vector<GeneralSlice> result(sum.count);
    check_cuda(cudaMemcpyAsync(result.data(), slices + 1, result.size() * sizeof sum,
                               cudaMemcpyDeviceToHost, stream_),
               "slice text");
    wait("slice text");
    std::size_t sliced = 0;
    for (const GeneralSlice& slice : result) sliced += slice.count;
    XXL_CHECK(sliced == items.count);
    return result;
  }

  void gather_text(const Items& items, const GeneralSlice& slice, const std::uint64_t* offsets,
                   char terminator, std::byte* records) override {
    use();
    gather_entries(items, slice, offsets, terminator, records, stream_);
  }

  void match(unsigned key_bytes, const Items& r, const Items& s, MatchRange* ranges,
             TileTotals* totals) override {
    use();
    match_items(key_bytes, r, s, ranges, totals, stream_);
  }

  void write_matches(const DeviceRows& rows, std::span<const std::uint64_t> tile_rows,
                     std::byte* to) override {
    use();
    const std::vector<MatchPiece> pieces = match_pieces(rows, tile_rows);
    write_match_rows(rows, shared_copy(std::span(pieces)), pieces.size(), to, stream_);
  }

  void clear(std::byte* memory, std::size_t bytes) override {
    use();
    check_cuda(cudaMemsetAsync(memory, 0, bytes, stream_), "clear");
  }
  void select(const DeviceHashTable& table, const std::byte* records, std::size_t count,
              std::byte* to, std::size_t most, std::uint64_t* selected) override {
    use();
    select_near(table, records, count, to, most, selected, stream_);
  }
  void insert(const DeviceHashTable& table, std::size_t first, std::size_t end,
              std::uint32_t* chains) override {
    use();
    insert_near(table, first, end, chains, stream_);
  }
  void probe(const DeviceHashTable& table, const ProbeShape& shape, const std::byte* records,
             std::size_t count, MatchRange* found, TileTotals* totals) override {
    use();
    probe_table(table, shape, records, count, found, totals, stream_);
  }
  void write_rows(const DeviceHashTable& table, const ProbeShape& shape, const std::byte* records,
                  std::size_t count, const MatchRange* found,
                  std::span<const std::uint64_t> tile_rows, std::uint64_t first_row,
                  std::uint64_t rows, std::byte* to) override {
    use();
    write_found(table, shape, records, count, found, shared_copy(tile_rows), first_row, rows, to,
                stream_);
  }

 private:
  static constexpr std::size_t kTableAlignment = 256;

  void use() const { check_cuda(cudaSetDevice(device_), "use a GPU"); }
  void wait(const char* operation) const { check_cuda(cudaStreamSynchronize(stream_), operation); }
  void upload(std::byte* to, const void* from, std::size_t bytes) const {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copy a table");
  }

  // For the next kernel; the one before must have read its own.
  template <class T>
  const T* shared_copy(std::span<const T> table) {
    wait("wait for the GPU");
    std::byte* const copy = shared_table_.get(table.size_bytes());
    std::memcpy(copy, table.data(), table.size_bytes());
    return reinterpret_cast<const T*>(copy);
  }

  int device_;
  cudaStream_t stream_ = nullptr;
  TableMemory<false> tables_;
  TableMemory<true> shared_table_;
};

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
    std::string path = info.bus;
    for (char& c : path) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::ifstream node("/sys/bus/pci/devices/" + path + "/numa_node");
    if (!(node >> info.numa_node)) info.numa_node = -1;
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
