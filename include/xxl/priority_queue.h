// A priority queue of any number of records: memory is bounded, and temporary files hold what does
// not fit.
//
//   xxl::priority_queue<Event, Later> events(Later(), resources);    // top(): the earliest one
//   for (events.push(start); !events.empty();) {
//     const Event event = events.top();
//     events.pop();
//     events.push(next(event));
//   }
//
// The next records are in the front, a sorted batch. All others come after a record called the
// split. A push compares its record with the split. A record before the split goes to a small heap.
// All others go to a buffer without order, and a full buffer becomes a sorted run in temporary
// files. When front and heap are empty, buffer and runs give the next batch (xxl/merged_runs.h). So
// most records are moved four times and sorted twice.
//
//     pop  <-  heap, front  |  buffer, run, run, run     split: |
//
// docs/internals/priority-queue.md has the design. Source of the insertion and deletion buffers:
// Sanders, "Fast Priority Queues for Cached Memory" (ALENEX 1999).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "xxl/comparator.h"
#include "xxl/error.h"
#include "xxl/is_record.h"
#include "xxl/merged_runs.h"
#include "xxl/resources.h"
#include "xxl/scratch_blocks.h"

namespace xxl {

// One thread at a time may use a queue. After an exception it can only be destroyed. Its temporary
// files are then gone. A stop request ends it when it reads or writes.
//
// Compare: a strict weak order, with a const operator(), which must not throw. As in
// std::priority_queue, the top is the largest record: std::greater gives the smallest first. Equal
// records come in any order. Blocks have a 512th of the memory. Each written block needs about 200
// bytes and one record more.
//
// All members may throw Error, for example Error{no_space} for a full disk.
template <class T, class Compare = std::less<T>>
class priority_queue {
  static_assert(is_record_v<T>, "records are written to disk as their bytes: see xxl::is_record");
  static_assert(sizeof(T) <= (32 << 10), "records of a priority queue have at most 32 KiB");

 public:
  using value_type = T;             // the record
  using value_compare = Compare;    // their order
  using size_type = std::uint64_t;  // a number of records

  // `memory_bytes`: memory of this queue; 0: an equal part of the resources.
  // Throws Error{no_space} if `shared` has less free memory than wanted, or too little, and
  // Error{device} with Device::gpu.
  explicit priority_queue(Compare less = Compare(), const resources& shared = resources(),
                          std::uint64_t memory_bytes = 0)
      : less_(std::move(less)),
        files_(shared, memory_bytes, sizeof(T), "a priority queue"),
        runs_(files_, carve(), Before{less_}) {}
  // The same with resources of its own.
  priority_queue(Compare less, resource_options own)
      : priority_queue(std::move(less), resources(std::move(own))) {}
  priority_queue(const priority_queue&) = delete;
  priority_queue& operator=(const priority_queue&) = delete;

  // Number of records.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // True without records.
  [[nodiscard]] bool empty() const { return size_ == 0; }

  // Adds a copy of a record.
  void push(const T& record) {
    if (split_ && before(record, *split_)) {
      push_heap(record);
    } else {
      append(record);
    }
    ++size_;
  }
  // Adds a record made of `args`.
  template <class... Args>
  void emplace(Args&&... args) {
    push(detail::make_record<T>(std::forward<Args>(args)...));
  }

  // The largest record. Valid until the next push() or pop(). Throws Error{usage} if empty.
  const T& top() {
    prepare();
    return heap_is_next() ? heap_.begin[0] : *front_;
  }
  // Removes it. Throws Error{usage} if empty.
  void pop() {
    prepare();
    if (heap_is_next()) {
      std::pop_heap(heap_.begin, heap_.end, less_);
      --heap_.end;
    } else {
      ++front_;
    }
    --size_;
  }

 private:
  struct Before {
    Compare less;
    bool operator()(const T& a, const T& b) const { return less(b, a); }
  };
  using Runs = detail::MergedRuns<T, Before>;
  // Room for records. [begin, end) is filled.
  struct Records {
    T* begin = nullptr;
    T* end = nullptr;
    T* limit = nullptr;

    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
    std::size_t room() const { return static_cast<std::size_t>(limit - end); }
    std::size_t capacity() const { return static_cast<std::size_t>(limit - begin); }
  };

  bool before(const T& a, const T& b) const { return less_(b, a); }
  bool heap_is_next() const {
    return heap_.begin != heap_.end && (front_ == batch_.end || before(heap_.begin[0], *front_));
  }
  void prepare() {
    if (front_ != batch_.end || heap_.begin != heap_.end) return;
    if (size_ == 0) throw Error(ErrorCode::usage, "the priority queue is empty");
    next_batch();
  }

  // Divides the memory. Returns the buffers for reading.
  std::vector<std::byte*> carve() {
    const std::size_t block = files_.block_bytes(), all = files_.memory().size() / block;
    std::byte* at = files_.memory().data();
    const auto take = [&](std::size_t blocks) { return std::exchange(at, at + blocks * block); };
    const auto records = [&](std::size_t blocks) {
      T* const begin = reinterpret_cast<T*>(take(blocks));
      return Records{begin, begin, begin + blocks * block / sizeof(T)};
    };
    buffer_ = records(all / 4);
    spare_ = records(all / 4);
    batch_ = records(all / 8);
    heap_ = records(all / 64);
    front_ = batch_.begin;
    for (std::size_t i = 0; i < all / 16; ++i) writing_.push_back({take(1), std::nullopt});
    std::vector<std::byte*> reading;
    while (at < files_.memory().data() + all * block) reading.push_back(take(1));
    most_runs_ = reading.size() / 2;
    return reading;
  }

  void append(const T& record) {
    if (buffer_.end == buffer_.limit) spill();
    *buffer_.end++ = record;
  }
  void push_heap(const T& record) {
    *heap_.end++ = record;
    std::push_heap(heap_.begin, heap_.end, less_);
    if (heap_.end == heap_.limit) merge_heap();
  }

  void sort(T* records, std::size_t count, T* spare) const {
    detail::merge_sort(records, count, spare, false, Before{less_});
  }

  // The heap is full: its records go to the front, whose last ones may go back to the buffer.
  void merge_heap() {
    if (buffer_.room() < batch_.size() + heap_.size()) spill();
    sort(heap_.begin, heap_.size(), spare_.begin);
    T* const merged = spare_.begin;
    T* const end = std::merge(front_, batch_.end, heap_.begin, heap_.end, merged, Before{less_});
    T* const keep = std::min(end, merged + batch_.capacity() / 2);
    front_ = batch_.begin;
    batch_.end = std::copy(merged, keep, batch_.begin);
    if (keep != end) split_ = *keep;
    buffer_.end = std::copy(keep, end, buffer_.end);
    heap_.end = heap_.begin;
  }

  // The buffer becomes a sorted run.
  void spill() {
    sort(buffer_.begin, buffer_.size(), spare_.begin);
    detail::RunOfBlocks<T> run;
    write(buffer_.begin, buffer_.end, run);
    buffer_.end = buffer_.begin;
    runs_.add(std::move(run));
    if (runs_.runs() > most_runs_) merge_runs();
  }
  void write(const T* record, const T* end, detail::RunOfBlocks<T>& run) {
    const std::size_t in_block = files_.block_bytes() / sizeof(T);
    while (record != end) {
      const std::size_t some = std::min(in_block, static_cast<std::size_t>(end - record));
      Writing& to = writing_[next_writing_++ % writing_.size()];
      if (to.number) files_.wait_written(*std::exchange(to.number, std::nullopt));
      std::memcpy(to.buffer, static_cast<const void*>(record), some * sizeof(T));
      to.number = files_.write(to.buffer, some * sizeof(T));
      run.blocks.push_back({*record, *to.number, static_cast<std::uint32_t>(some)});
      record += some;
    }
  }

  // Makes one run of the shortest ones, in the memory of the empty buffer and the spare one.
  void merge_runs() {
    const std::size_t block = files_.block_bytes();
    auto* const memory = reinterpret_cast<std::byte*>(spare_.begin);
    std::vector<std::byte*> reading;
    for (std::size_t at = 0; at + block <= spare_.capacity() * sizeof(T); at += block) {
      reading.push_back(memory + at);
    }
    Runs merged(files_, std::move(reading), Before{less_});
    merged.add_shortest(runs_);
    Records batch = buffer_, no_others;
    T* const spare = batch.limit = buffer_.begin + buffer_.capacity() / 2;
    detail::RunOfBlocks<T> run;
    for (;;) {
      merged.load();
      if (merged.records_in_memory() == 0) break;
      take_batch(merged, batch, no_others);
      merged.fetch();
      sort(batch.begin, batch.size(), spare);
      write(batch.begin, batch.end, run);
    }
    runs_.add(std::move(run));
  }

  // The front is empty.
  void next_batch() {
    runs_.load();
    if (runs_.is_crowded()) return_blocks();
    split_ = take_batch(runs_, batch_, buffer_);
    runs_.fetch();
    sort(batch_.begin, batch_.size(), spare_.begin);
    front_ = batch_.begin;
    if (!split_) split_ = batch_.end[-1];
  }

  // The runs' records in memory go to the buffer.
  void return_blocks() {
    const auto all = [](const T&) { return true; };
    while (runs_.records_in_memory() > 0) {
      if (buffer_.room() == 0) spill();
      buffer_.end = runs_.take(buffer_.end, buffer_.room(), all);
    }
    runs_.load();
  }

  // Fills `batch` about half with the first records of `runs` and `others`. Returns the split,
  // unless nothing is left.
  std::optional<T> take_batch(Runs& runs, Records& batch, Records& others) {
    const std::size_t wanted = batch.capacity() / 2;
    const T* const limit = runs.limit();
    const std::uint64_t there = runs.records_in_memory() + others.size();
    batch.end = batch.begin;
    if (limit == nullptr && there <= wanted) {
      take(runs, batch, others, [](const T&) { return true; });
      return std::nullopt;
    }
    const T split = choose_split(runs, batch, others, there);
    take(runs, batch, others, [&](const T& record) { return before(record, split); });
    if (batch.size() == 0) {  // many equal records: some of them
      take(runs, batch, others, [&](const T& record) { return !before(split, record); });
    }
    return split;
  }

  // A record that about half of `batch` comes before, and no more than all of it.
  T choose_split(const Runs& runs, const Records& batch, const Records& others,
                 std::uint64_t there) {
    const std::size_t wanted = batch.capacity() / 2;
    const std::size_t wanted_samples = std::max(kSamplesOfBatch, 4 * runs.blocks_in_memory());
    const std::size_t stride = std::max<std::size_t>(1, wanted / wanted_samples);
    std::vector<const T*> samples;
    samples.reserve(there / stride + 1);
    runs.sample(stride, samples);
    for (std::size_t i = stride - 1; i < others.size(); i += stride) {
      samples.push_back(others.begin + i);
    }
    if (runs.limit() != nullptr) samples.push_back(runs.limit());
    std::vector<const T*> spare(samples.size());
    detail::merge_sort(samples.data(), samples.size(), spare.data(), false,
                       [this](const T* a, const T* b) { return before(*a, *b); });
    const auto end = std::partition_point(samples.begin(), samples.end(), [&](const T* sample) {
      return runs.limit() == nullptr || !before(*runs.limit(), *sample);
    });
    const auto fits = [&](const T& split) {
      std::uint64_t records = runs.count_before(split);
      for (const T* i = others.begin; i != others.end; ++i) records += before(*i, split);
      return records < batch.capacity();
    };
    auto at = std::min<std::size_t>(wanted / stride, end - samples.begin() - 1);
    while (at > 0 && !fits(*samples[at])) at /= 2;
    const T split = *samples[at];
    if (at > 0 || others.size() == 0 || fits(split)) return split;
    // Samples of the others do not show their order.
    sort(others.begin, others.size(), spare_.begin);
    const T& of_others = others.begin[std::min(wanted / 4, others.size() - 1)];
    return before(of_others, split) ? of_others : split;
  }

  // Moves the records accepted by `takes` to `batch`, as many as it has room for.
  template <class Takes>
  static void take(Runs& runs, Records& batch, Records& others, const Takes& takes) {
    batch.end = runs.take(batch.end, batch.room(), takes);
    const T* record = others.begin;
    T* keep = others.begin;
    for (; record != others.end && batch.end != batch.limit; ++record) {
      const T moved = *record;
      const bool taken = takes(moved);
      *batch.end = moved;
      *keep = moved;
      batch.end += taken;
      keep += !taken;
    }
    others.end = std::copy(record, static_cast<const T*>(others.end), keep);
  }

  static constexpr std::size_t kSamplesOfBatch = 1024;

  struct Writing {
    std::byte* buffer;
    std::optional<std::uint32_t> number;  // the block written from it
  };

  Compare less_;
  std::uint64_t size_ = 0;
  std::optional<T> split_;  // empty before the first batch
  Records heap_;            // below the split, a heap
  Records batch_;
  T* front_ = nullptr;  // the next record of the batch
  Records buffer_;      // not below the split, in any order
  Records spare_;       // for sorting
  std::vector<Writing> writing_;
  std::size_t next_writing_ = 0;
  std::size_t most_runs_ = 0;
  detail::ScratchBlocks files_;
  Runs runs_;
};

}  // namespace xxl
