// A stream of an NVIDIA GPU: the operations of device.h as kernels.
//
//     cuda_device.cu      copies, and the memory of tables
//     device_kernels.cu   items of records and records of items, cuts, text
//     device_sort.cu      sorting, by CUB
//     device_joins.cu     joins of sorted items
//     device_hash.cu      hash tables
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gpu/device/device.h"

namespace xxl::gpu {

// Throws Error{no_space} when memory of the device is short, Error{device} for all else.
inline void check_cuda(cudaError_t status, const char* operation) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // clear it: reported below
  const ErrorCode code =
      status == cudaErrorMemoryAllocation ? ErrorCode::no_space : ErrorCode::device;
  throw Error(code, std::string("GPU: ") + operation + ": " + cudaGetErrorString(status));
}

inline void check_launch(const char* operation) {
  check_cuda(cudaGetLastError(), operation);
}

// Calls call(a number of the type of keys of `key_bytes`).
template <class Call>
void with_key(unsigned key_bytes, Call&& call) {
  if (key_bytes == 4) {
    call(std::uint32_t{});
  } else {
    call(std::uint64_t{});
  }
}

// Memory for small tables, which grows on demand. It is the device's, or the host's, where kernels
// read it directly: for a small table that is faster than waiting for other copies.
template <bool kOnHost>
class TableMemory {
 public:
  ~TableMemory() { free(); }
  std::byte* get(std::size_t bytes) {
    if (bytes > bytes_) {
      check_cuda(free(), "free memory");
      void* data;
      check_cuda(kOnHost ? cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped)
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
    return kOnHost ? cudaFreeHost(data) : cudaFree(data);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int device);
  ~CudaStream() override;

  void finish() override;
  void copy_in(std::byte* device, const std::byte* host, std::size_t bytes) override;
  void copy_out(std::byte* host, const std::byte* device, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;

  void load(const RecordShape& shape, const KeyView& view, const std::byte* records,
            const Items& items) override;
  void sort(const ItemShape& shape, const Items& from, const Items& to,
            std::span<std::byte> scratch) override;
  // Waits for the number of ties after each word.
  void refine(const KeyView& view, const Items& items, std::span<std::byte> scratch) override;
  std::vector<std::uint64_t> cut(const ItemShape& shape, const KeyView& view, bool by_address,
                                 std::span<const Items> sequences,
                                 std::span<const std::uint64_t> ranks) override;
  void concatenate(const ItemShape& shape, std::span<const Items> parts, const Items& to) override;
  void store(const RecordShape& shape, const Items& items, std::byte* records) override;
  std::vector<GeneralSlice> slice_text(const Items& items, std::uint64_t most_bytes,
                                       std::uint64_t* offsets,
                                       std::span<std::byte> scratch) override;
  void gather_text(const Items& items, const GeneralSlice& slice, const std::uint64_t* offsets,
                   char terminator, std::byte* records) override;

  void match(unsigned key_bytes, const Items& r, const Items& s, MatchRange* ranges,
             TileTotals* totals) override;
  void write_matches(const DeviceRows& rows, std::span<const std::uint64_t> tile_rows,
                     std::byte* to) override;

  void clear(std::byte* memory, std::size_t bytes) override;
  void select(const DeviceHashTable& table, const std::byte* records, std::size_t count,
              std::byte* to, std::size_t most, std::uint64_t* selected) override;
  void insert(const DeviceHashTable& table, std::size_t first, std::size_t end,
              std::uint32_t* chains) override;
  void probe(const DeviceHashTable& table, const ProbeShape& shape, const std::byte* records,
             std::size_t count, MatchRange* found, TileTotals* totals) override;
  void write_rows(const DeviceHashTable& table, const ProbeShape& shape, const std::byte* records,
                  std::size_t count, const MatchRange* found,
                  std::span<const std::uint64_t> tile_rows, std::uint64_t first_row,
                  std::uint64_t rows, std::byte* to) override;

 private:
  static constexpr std::size_t kTableAlignment = 256;

  void use() const { check_cuda(cudaSetDevice(device_), "use a GPU"); }
  void wait(const char* operation) const { check_cuda(cudaStreamSynchronize(stream_), operation); }
  void upload(std::byte* to, const void* from, std::size_t bytes) const;
  // For the next kernel; the one before must have read its own.
  std::byte* shared_copy(std::span<const std::byte> table);
  // Offsets of `items.count` records of text with a byte after each, and of their end.
  void measure_text(const Items& items, std::uint64_t* offsets, std::span<std::byte> scratch) const;

  int device_;
  cudaStream_t stream_ = nullptr;
  TableMemory<false> tables_;
  TableMemory<true> shared_table_;
};

// Device::sort_scratch_bytes() and refine_scratch_bytes().
std::size_t sort_scratch_bytes(const ItemShape& shape, std::size_t count);
std::size_t refine_scratch_bytes(std::size_t count);

}  // namespace xxl::gpu
