// Arrays in memory, sorted and joined on all GPUs, or where there is none, on all processors.
//
//   xxl::sort_array(edges, xxl::by(&Edge::to).then(xxl::desc(&Edge::weight)));
//
//   const auto joined = xxl::join_arrays(users, xxl::by(&User::id), orders, xxl::by(&Order::user));
//   for (const auto& [user, order] : joined.pairs) use(users[user], orders[order]);
//
// Records are trivially copyable. What is done on which device says the report; the result is the
// same, byte for byte.
//
// Copies to and from GPUs are several times faster where memory is pinned: pinned_array.
//
// Calls may be made by several threads at once, each for arrays of its own; so may all of
// array_sorter, but one of them is used by one thread at a time.
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

// How.
struct array_options {
  // Automatic: for sorting GPUs where arrays are large enough for them to pay (1 GiB, to start
  // them), for joining the processors. What does not fit into the memory of GPUs they sort in
  // parts, which processors merge; GPUs that are asked for but too small for anything:
  // Error{no_space}.
  Device device = Device::automatic;
  // Numbers of the GPUs to use, as the driver numbers those that the process sees, each once. None:
  // those of all that have a link of their own to the host, and all if arrays fit only so.
  std::vector<unsigned> gpus = {};
  std::uint64_t gpu_memory_bytes = 0;  // most to use of each GPU; 0: what is free
  unsigned threads = 0;                // on processors; 0: as many as there are processors
  std::shared_ptr<const detail::GpuFinder> finder = {};  // of the library's tests
};

// What was done.
struct array_report {
  // What did the work: "GPU 0, NVIDIA H200", "cpu". Of joins both, if keys have more than 8 bytes.
  std::vector<std::string> devices;
  std::string no_gpu;  // why no GPU was used, if one could have been
  double seconds = 0;  // of the call
};

// Of a join, too.
struct array_join_report : array_report {
  std::uint64_t rows = 0;       // that were given out
  std::uint64_t matched_r = 0;  // records with at least one partner
  std::uint64_t matched_s = 0;  // likewise
};

// A row of a join: the places of its records in their arrays.
struct index_pair {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // no record
  std::uint64_t r = kNone;                                   // in R
  std::uint64_t s = kNone;                                   // in S

  // The same row.
  friend bool operator==(const index_pair&, const index_pair&) = default;
};

// The result of a join.
struct array_join {
  std::vector<index_pair> pairs;  // its rows
  array_join_report report;       // how it was done
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

template <class Array>
JoinedArray joined_array(const Array& array, const order<RecordOf<const Array&>>& by) {
  return {std::as_bytes(bytes_of(array)), sizeof(RecordOf<const Array&>), by.parts()};
}

}  // namespace detail

// Sorts arrays of one type; keeps device memory, threads on GPUs and buffers for the next one, as
// many as the largest array took.
template <class T>
class array_sorter {
  static_assert(std::is_trivially_copyable_v<T>, "records are moved as bytes");

 public:
  // Starts nothing: GPUs are looked for when an array is first worth it.
  explicit array_sorter(const order<T>& by = order<T>(), const array_options& options = {})
      : core_(sizeof(T), by.parts(), options) {}

  // Sorts in place, stably. Throws Error{device} if a GPU fails: the records are then lost.
  // Error{usage} for GPUs that are not there, Error{no_space} and Error{device} as array_options
  // says, and Error{no_space} if the processors lack memory for a copy of the array leave them as
  // they were.
  array_report sort(std::span<T> records) {
    return core_.sort(std::as_bytes(records), std::as_writable_bytes(records));
  }
  // From one array to another of as many records, which is apart from it (else Error{usage}). If a
  // GPU fails, the processors sort, unless GPUs were asked for.
  array_report sort(std::span<const T> from, std::span<T> to) {
    return core_.sort(std::as_bytes(from), std::as_writable_bytes(to));
  }

 private:
  detail::ArraySorterCore core_;
};

// Sorts one array (a vector, span or other contiguous range) in place, as array_sorter does.
template <detail::RecordArray Array>
array_report sort_array(Array&& records,
                        const order<detail::RecordOf<Array>>& by = order<detail::RecordOf<Array>>(),
                        const array_options& options = {}) {
  return array_sorter<detail::RecordOf<Array>>(by, options).sort(detail::bytes_of(records));
}

// Joins two arrays in any order, by members that are equal: as many on both sides, of the same
// types and directions (else Error{usage}; numbers are equal if all their bits are). Gives the rows
// of xxl/join.h: pairs for all kinds but semi and anti, which have R alone. They come in the order
// of the keys, then of the places in R, then in S.
//
// Takes memory for two numbers a record (keys of more than 8 bytes: for the key and three numbers)
// and, on processors, as much again for the larger side. The arrays are only read. Throws
// Error{device} if a GPU fails while it joins; otherwise as array_sorter.
template <detail::RecordArray R, detail::RecordArray S>
array_join join_arrays(const R& r, const order<detail::RecordOf<R>>& by_r, const S& s,
                       const order<detail::RecordOf<S>>& by_s, JoinKind kind = JoinKind::inner,
                       const array_options& options = {}) {
  return detail::join(detail::joined_array(r, by_r), detail::joined_array(s, by_s), kind, options);
}

// The same for results that need not be in memory: calls take(std::span<const index_pair>) for some
// ten thousand rows at a time, from many threads at once. The order of calls is open, that of the
// rows of one call as above. What `take` throws ends the join and is thrown again; it is then
// called no more, except where that is already under way.
template <detail::RecordArray R, detail::RecordArray S,
          std::invocable<std::span<const index_pair>> Take>
array_join_report join_arrays(const R& r, const order<detail::RecordOf<R>>& by_r, const S& s,
                              const order<detail::RecordOf<S>>& by_s, Take&& take,
                              JoinKind kind = JoinKind::inner, const array_options& options = {}) {
  return detail::join(detail::joined_array(r, by_r), detail::joined_array(s, by_s), kind, options,
                      [&take](std::span<const index_pair> pairs) { take(pairs); });
}

// Pins an array while it lives: it must not be freed, moved or pinned otherwise meanwhile. Takes up
// to 0.4 s a GiB, which pays for arrays that are used more than once. Does nothing where that
// cannot be done, or without GPUs.
class pinned_array {
 public:
  // `array`: its memory, which it keeps.
  template <detail::RecordArray Array>
  explicit pinned_array(Array& array)
      : held_(detail::pin(std::as_writable_bytes(detail::bytes_of(array)))) {}

 private:
  std::shared_ptr<void> held_;
};

}  // namespace xxl
