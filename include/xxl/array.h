// Sorts and joins arrays in memory on all GPUs, or without a GPU on all cores.
//
//   xxl::sort_array(edges, xxl::by(&Edge::to, xxl::desc(&Edge::weight)));
//
//   const auto joined = xxl::join_arrays(users, xxl::by(&User::id), orders, xxl::by(&Order::user));
//   for (const auto& [user, order] : joined.pairs) use(users[user], orders[order]);
//
// Records are trivially copyable. The report says which device was used. The result is the same on
// each, byte for byte.
//
// Copies to and from GPUs are several times faster if memory is pinned: pinned_array.
//
// Several threads may make calls at once, each for its own arrays. One thread at a time may use an
// array_sorter.
//
// Sources: Ilic, Tolovski and Rabl, "RMG Sort" (BTW 2023), for sorting on several GPUs;
// Maltenberger, "Efficiently Joining Large Relations on Multi-GPU Systems with Modern
// Interconnects" (2024), section 3.3, for joining.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "xxl/device.h"
#include "xxl/error.h"
#include "xxl/export.h"
#include "xxl/join_kind.h"
#include "xxl/order.h"

namespace xxl {

// How arrays are sorted and joined.
struct array_options {
  // Automatic: GPUs sort arrays from 1 GiB on, and the CPU joins. If an array does not fit in the
  // memory of the GPUs, they sort it in parts, which the CPU merges. Error{no_space} if GPUs were
  // asked for and are too small.
  Device device = Device::automatic;
  // Numbers of the GPUs to use, as the driver numbers them, each once. Empty: those with a link of
  // their own to the host, or all if arrays fit only then.
  std::vector<unsigned> gpus = {};
  std::uint64_t gpu_memory_bytes = 0;                    // most to use of each GPU; 0: what is free
  unsigned threads = 0;                                  // threads on the CPU; 0: one for each core
  std::shared_ptr<const detail::GpuFinder> finder = {};  // for the library's tests
};

// The report of a sort.
struct array_report {
  // The devices used: "GPU 0, NVIDIA H200", "cpu". Joins with keys of more than 8 bytes use both.
  std::vector<std::string> devices;
  std::string no_gpu;  // reason why no GPU was used, or empty
  double seconds = 0;  // time of the call
};

// The same for a join.
struct array_join_report : array_report {
  std::uint64_t rows = 0;       // number of result rows
  std::uint64_t matched_r = 0;  // records of R with a match
  std::uint64_t matched_s = 0;  // records of S with a match
};

// A row of a join: the places of its records in their arrays.
struct index_pair {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // no record
  std::uint64_t r = kNone;                                   // place in R
  std::uint64_t s = kNone;                                   // place in S

  // The same row.
  friend bool operator==(const index_pair&, const index_pair&) = default;
};

// The result of a join.
struct array_join {
  std::vector<index_pair> pairs;  // rows of the join
  array_join_report report;       // how they were found
};

namespace detail {

// A sorter of bytes.
class ArraySorterCore {
 public:
  XXL_API ArraySorterCore(std::size_t record_bytes, const std::vector<KeyPart>& key,
                          const array_options& options);
  XXL_API ArraySorterCore(ArraySorterCore&&) noexcept;
  XXL_API ArraySorterCore& operator=(ArraySorterCore&&) noexcept;
  XXL_API ~ArraySorterCore();

  XXL_API array_report sort(std::span<const std::byte> from, std::span<std::byte> to);

 private:
  class Job;
  std::unique_ptr<Job> job_;
};

// One side of a join, as bytes.
struct JoinedArray {
  std::span<const std::byte> records;
  std::size_t record_bytes = 0;
  std::vector<KeyPart> key;
};
using TakePairs = std::function<void(std::span<const index_pair>)>;

XXL_API array_join_report join(const JoinedArray& r, const JoinedArray& s, JoinKind kind,
                               const array_options& options, const TakePairs& take);
XXL_API array_join join(const JoinedArray& r, const JoinedArray& s, JoinKind kind,
                        const array_options& options);

// Pinned until the last copy of the result is gone.
XXL_API std::shared_ptr<void> pin(std::span<std::byte> memory);

template <class Array>
using RecordOf = std::ranges::range_value_t<Array>;

template <class Array>
concept RecordArray = std::ranges::contiguous_range<Array> && std::ranges::sized_range<Array> &&
    std::is_trivially_copyable_v<RecordOf<Array>>;

template <class Array>
auto bytes_of(Array&& array) {
  return std::span(std::ranges::data(array), std::ranges::size(array));
}

// Numbers and arrays of bytes. GPUs know no operator<.
template <class T>
order<T> order_by_value() {
  return order<T>(key_part<T>(0));
}

template <class Array>
JoinedArray joined_array(const Array& array, const order<RecordOf<const Array&>>& by) {
  return {std::as_bytes(bytes_of(array)), sizeof(RecordOf<const Array&>), by.parts()};
}

}  // namespace detail

// Sorts arrays of one type. Keeps device memory, threads on GPUs and buffers for the next array.
template <class T>
class array_sorter {
  static_assert(std::is_trivially_copyable_v<T>, "records are moved as bytes");

 public:
  // Starts nothing. GPUs are found when the first large array is sorted.
  explicit array_sorter(const order<T>& by = detail::order_by_value<T>(),
                        const array_options& options = {})
      : core_(sizeof(T), by.parts(), options) {}

  // Sorts in place, stably. Throws Error{device} if a GPU fails: the records are then lost. All
  // other errors leave the records unchanged: Error{usage} for missing GPUs, Error{no_space} and
  // Error{device} as in array_options, and Error{no_space} if there is not enough memory for a copy
  // of the array.
  array_report sort(std::span<T> records) {
    return core_.sort(std::as_bytes(records), std::as_writable_bytes(records));
  }
  // Sorts from one array to another of the same size. They must not overlap, or Error{usage} is
  // thrown. If a GPU fails, the CPU sorts, unless GPUs were asked for.
  array_report sort(std::span<const T> from, std::span<T> to) {
    return core_.sort(std::as_bytes(from), std::as_writable_bytes(to));
  }

 private:
  detail::ArraySorterCore core_;
};

// Sorts one array (a vector, span or other contiguous range) in place, as array_sorter does.
template <detail::RecordArray Array>
array_report sort_array(
    Array&& records,
    const order<detail::RecordOf<Array>>& by = detail::order_by_value<detail::RecordOf<Array>>(),
    const array_options& options = {}) {
  return array_sorter<detail::RecordOf<Array>>(by, options).sort(detail::bytes_of(records));
}

// Joins two arrays in any order, by equal members. Both sides need the same number of members, with
// the same types and directions, or Error{usage} is thrown. Numbers are equal if all their bits
// are. Rows are pairs, and R alone for semi and anti joins. They come in the order of the keys,
// then of the places in R, then in S.
//
// Needs memory for two numbers for each record, or the key and three numbers if keys have more than
// 8 bytes. The CPU needs as much again for the larger side. The arrays are only read. Throws
// Error{device} if a GPU fails, otherwise the same as array_sorter.
template <detail::RecordArray R, detail::RecordArray S>
array_join join_arrays(const R& r, const order<detail::RecordOf<R>>& by_r, const S& s,
                       const order<detail::RecordOf<S>>& by_s, JoinKind kind = JoinKind::inner,
                       const array_options& options = {}) {
  return detail::join(detail::joined_array(r, by_r), detail::joined_array(s, by_s), kind, options);
}

// The same for results that need not be in memory. Calls take(std::span<const index_pair>) for
// about ten thousand rows at a time, from many threads at once. Calls come in any order, and the
// rows of one call in the order above. An exception of `take` ends the join and is thrown again.
// Calls in other threads may still be running then.
template <detail::RecordArray R, detail::RecordArray S,
          std::invocable<std::span<const index_pair>> Take>
array_join_report join_arrays(const R& r, const order<detail::RecordOf<R>>& by_r, const S& s,
                              const order<detail::RecordOf<S>>& by_s, Take&& take,
                              JoinKind kind = JoinKind::inner, const array_options& options = {}) {
  return detail::join(detail::joined_array(r, by_r), detail::joined_array(s, by_s), kind, options,
                      [&take](std::span<const index_pair> pairs) { take(pairs); });
}

// Pins an array for the lifetime of this object. The array must not be freed, moved or pinned again
// meanwhile. Pinning costs up to 0.4 s per GiB, and is worth it for arrays used more than once.
// Does nothing without GPUs, or if pinning is not possible.
class pinned_array {
 public:
  // `array`: owner of the memory.
  template <detail::RecordArray Array>
  explicit pinned_array(Array& array)
      : held_(detail::pin(std::as_writable_bytes(detail::bytes_of(array)))) {}

 private:
  std::shared_ptr<void> held_;
};

}  // namespace xxl
