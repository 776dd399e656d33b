// The common part of sorters of fixed-size records (xxl/sorter.h) and of records of any length
// (xxl/any_length.h).
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "xxl/comparator.h"
#include "xxl/error.h"
#include "xxl/export.h"
#include "xxl/order.h"
#include "xxl/resources.h"
#include "xxl/room.h"
#include "xxl/stop_signal.h"

namespace xxl {

struct Progress;    // <xxl/job.h>
struct SortReport;  // <xxl/sort.h>

// Options of a sorter.
struct sorter_options {
  bool unique = false;                      // only the first record of each key
  std::uint64_t skip = 0;                   // leave out the first `skip` records in order
  std::optional<std::uint64_t> limit = {};  // then give at most `limit` records
  bool repeatable = false;         // rewind() may be called; scratch space stays until clear()
  std::uint64_t memory_bytes = 0;  // 0: an equal part of the resources
  // The number to plan for, if known. Any number may be pushed. For fixed-size records only.
  std::uint64_t expected_records = 0;
  Progress* progress = nullptr;  // updated while running; owned by the caller; may be null
  // Stops this sorter only, like resource_options::stop. For good: a new sorter is needed then.
  stop_signal stop = {};
};

template <class T, class Order = order<T>>
class sorter;

namespace detail {

enum class RecordLength : std::uint8_t {
  fixed,
  any,           // counted (see SorterBytes); the record is its key
  any_with_key,  // the same; the record begins with its counted key
};

class AnyLengthEngine;  // in the library
XXL_API const AnyLengthEngine& any_length_engine();

struct SorterSpec {
  RecordLength length = RecordLength::fixed;
  sorter_options options = {};
  // For fixed-size records:
  std::size_t record_bytes = 0;
  std::vector<KeyPart> key = {};
  OwnOrder order = {};  // if set, in place of the key
  // For records of any length: any_length_engine().
  const AnyLengthEngine* any_length = nullptr;
  bool descending = false;  // without a key
  // Files read and written for the sorter, as a std::function<FileTraffic()>; may be empty.
  std::any file_traffic = {};
};

// A sorter of bytes. Up to 2 MiB of fixed-size records, and an eighth of its memory, are sorted by
// the caller's thread. With more, it has its own threads.
class SorterCore {
 public:
  // None: only assigned and destroyed.
  SorterCore() = default;
  XXL_API SorterCore(const resources& shared, const SorterSpec& spec);
  SorterCore(SorterCore&& other) noexcept : job_(std::exchange(other.job_, nullptr)) {}
  SorterCore& operator=(SorterCore&& other) noexcept {
    const SorterCore before(std::exchange(job_, nullptr));
    job_ = std::exchange(other.job_, nullptr);
    return *this;
  }
  XXL_API ~SorterCore();
  explicit operator bool() const { return job_ != nullptr; }

  // Memory for the next records, to be filled. The memory before is full.
  XXL_API std::span<std::byte> room();
  // No more records: the last room() has `bytes` of them.
  XXL_API void end(std::size_t bytes);
  // The next bytes of the sorted records. Those before are no longer needed. Empty at the end.
  XXL_API std::span<const std::byte> next();
  // Starts from the first record again.
  XXL_API void rewind();
  // The report, after the end.
  XXL_API const SortReport& report() const;

 private:
  class Job;
  explicit SorterCore(Job* job) : job_(job) {}

  Job* job_ = nullptr;  // owned
};

// The bytes that a sorter accepts and gives, in blocks. Blocks have whole fixed-size records, or
// records of any length cut anywhere, each after its size as a RecordCount.
class SorterBytes {
 public:
  using RecordCount = std::uint32_t;

  SorterBytes(const resources& shared, SorterSpec spec) : shared_(shared), spec_(std::move(spec)) {
    start();
  }
  SorterBytes(SorterBytes&& other) noexcept : shared_(other.shared_), spec_(other.spec_) {
    take(other);
  }
  SorterBytes& operator=(SorterBytes&& other) noexcept {
    if (this == &other) return *this;
    shared_ = other.shared_;
    spec_ = other.spec_;
    take(other);
    return *this;
  }

  // --- pushing ---

  // Bytes that put() accepts now. If 0, call make_room() first.
  std::size_t room() const { return room_.left(); }
  void make_room() {
    room_.renew([this] { return core().room(); });
  }
  void put(const void* bytes, std::size_t count) { room_.put(bytes, count); }
  // Any number of bytes.
  void put_all(const void* bytes, std::size_t count) {
    room_.put_all(bytes, count, [this] { return core().room(); });
  }
  // In all.
  std::uint64_t pushed() const { return room_.filled(); }
  // Ends the input.
  void end() {
    if (ended_) return;
    ended_ = true;
    if (core_) core_.end(room_.close());
  }
  bool ended() const { return ended_; }
  const sorter_options& options() const { return spec_.options; }

  // --- pulling, which ends pushing ---

  // The next block. Empty at the end.
  std::span<const std::byte> next() {
    end();
    if (!core_) return {};
    const std::span<const std::byte> block = core_.next();
    if (has_lost_group_) {
      throw Error(
          ErrorCode::usage,
          "a fold threw, and its group has been pulled in part: rewind or clear the sorter");
    }
    return block;
  }
  void rewind() {
    end();
    if (core_) core_.rewind();
    has_lost_group_ = false;
  }
  // A part of a group was pulled and lost. No records may follow it.
  void lose_group() noexcept { has_lost_group_ = true; }

  // Throws Error{usage} before the end.
  const SortReport& report() const {
    if (!core_) throw Error(ErrorCode::usage, "nothing has been sorted");
    return core_.report();
  }

  // Back to the initial state.
  void clear() noexcept {
    core_ = {};
    room_ = {};
    ended_ = false;
    has_lost_group_ = false;
  }

 private:
  // To be filled.
  SorterCore& core() {
    if (!core_ && ended_) {
      throw Error(ErrorCode::usage, "a sorter takes no more records after its input has ended");
    }
    if (!core_) start();
    return core_;
  }
  void start() { core_ = SorterCore(shared_, spec_); }
  void take(SorterBytes& other) noexcept {
    core_ = std::move(other.core_);
    room_ = std::move(other.room_);
    ended_ = std::exchange(other.ended_, false);
    has_lost_group_ = std::exchange(other.has_lost_group_, false);
  }

  resources shared_;
  SorterSpec spec_;
  SorterCore core_;
  Room room_;
  bool ended_ = false;
  bool has_lost_group_ = false;
};

// Whether empty() is true while records are pushed: whether `pushed` records give nothing.
inline bool gives_nothing(std::uint64_t pushed, const sorter_options& options) {
  if (pushed <= options.skip || options.limit == 0) return true;
  if (!options.unique || options.skip == 0) return false;
  throw Error(ErrorCode::usage,
              "whether unique and skip leave any record is known only after sort()");
}

}  // namespace detail
}  // namespace xxl
