// Files of records whose neighbours are compared on all cores: what validate and sort -c run on.
//
// Workers take chunks of whole records, each preceded by the record before it: so every pair of
// neighbours lies in one chunk, and chunks are independent. A file's chunks are read by the workers
// in parallel; a stream's one after the other, by the holder of its lock. Either way chunks are
// handed out in the order of the file.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <semaphore>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "io/file.h"
#include "io/input_checks.h"
#include "io/transfer.h"
#include "io/wake_event.h"
#include "record/key_layout.h"
#include "record/native_key.h"

namespace xxl {

inline constexpr std::size_t kRecordChunkBytes = kMiB;
inline constexpr unsigned kWaitingWorkers = 4;  // beyond the processors: these wait for the disk

// `count` records whose first is number `first`; unless that is 0, record first - 1 lies in front.
struct RecordChunk {
  std::uint64_t first = 0;
  std::size_t count = 0;
  const std::byte* records = nullptr;
};

// Calls compared(order, record) for each record of `chunk` that has one before it, whose key
// compares to its own like `order` to 0.
template <class Word, class Compared>
void compare_native_neighbours(const KeyLayout& layout, const RecordChunk& chunk, std::size_t begin,
                               Compared& compared) {
  const KeyTransform transform = layout.transform();
  const std::size_t record_bytes = layout.record_bytes();
  const std::byte* record = chunk.records + begin * record_bytes;
  Word previous = native_key<Word>(record - record_bytes, transform);
  for (std::size_t i = begin; i < chunk.count; ++i, record += record_bytes) {
    const Word key = native_key<Word>(record, transform);
    compared((previous > key) - (previous < key), chunk.first + i);
    previous = key;
  }
}

template <class Compared>
void compare_generic_neighbours(const KeyLayout& layout, const RecordChunk& chunk,
                                std::size_t begin, Compared& compared) {
  const std::size_t record_bytes = layout.record_bytes();
  const std::byte* record = chunk.records + begin * record_bytes;
  std::uint64_t previous = layout.word(record - record_bytes, 0);
  for (std::size_t i = begin; i < chunk.count; ++i, record += record_bytes) {
    const std::uint64_t prefix = layout.word(record, 0);
    int order = (previous > prefix) - (previous < prefix);
    if (order == 0) order = layout.compare(record - record_bytes, record);
    compared(order, chunk.first + i);
    previous = prefix;
  }
}

template <class Compared>
void compare_neighbours(const KeyLayout& layout, const RecordChunk& chunk, Compared&& compared) {
  const std::size_t begin = chunk.first == 0 ? 1 : 0;  // the first one that has one before it
  if (begin >= chunk.count) return;
  switch (layout.kind()) {
    case RecordKind::key32:
    case RecordKind::pair32:
      return compare_native_neighbours<std::uint32_t>(layout, chunk, begin, compared);
    case RecordKind::key64:
    case RecordKind::pair64:
      return compare_native_neighbours<std::uint64_t>(layout, chunk, begin, compared);
    case RecordKind::generic:
      return compare_generic_neighbours(layout, chunk, begin, compared);
  }
  XXL_CHECK(false);
}

// Chunks of a file that can be read anywhere. `chunk_bytes`: of a chunk, but at least one record.
class SeekableSource {
 public:
  SeekableSource(const io::File& file, std::size_t record_bytes, std::size_t chunk_bytes)
      : file_(file),
        record_bytes_(record_bytes),
        chunk_records_(std::max<std::size_t>(1, chunk_bytes / record_bytes)),
        records_(file.size() / record_bytes) {
    io::check_whole_records(file, file.size(), record_bytes);
  }

  std::uint64_t chunks() const { return ceil_div<std::uint64_t>(records_, chunk_records_); }
  // Of each worker: the chunk, the record before it, and the rest of the sectors at both ends.
  std::size_t buffer_bytes() const {
    return round_up((chunk_records_ + 1) * record_bytes_, kSectorBytes) + kSectorBytes;
  }
  // Beside these.
  std::size_t own_bytes() const { return 0; }

  // Reads the next chunk into `buffer`; false at the end. `chunk.first` is set before anything can
  // fail.
  bool next(std::span<std::byte> buffer, RecordChunk& chunk) {
    const std::uint64_t first = next_chunk_++ * chunk_records_;
    chunk = {first, 0, nullptr};
    if (first >= records_) return false;
    const std::uint64_t end = std::min<std::uint64_t>(first + chunk_records_, records_);
    const std::uint64_t wanted = (first == 0 ? 0 : first - 1) * record_bytes_;
    const std::uint64_t offset = round_down<std::uint64_t>(wanted, kSectorBytes);
    const std::uint64_t bytes = end * record_bytes_ - offset;
    const std::size_t bytes_read =
        io::read_at(file_, offset, buffer.first(round_up<std::uint64_t>(bytes, kSectorBytes)));
    if (bytes_read < bytes) {
      io::throw_shorter(file_, offset + bytes_read);
    }
    chunk = {first, static_cast<std::size_t>(end - first),
             buffer.data() + (first * record_bytes_ - offset)};
    return true;
  }
  // No more chunks are needed.
  void stop() {}

 private:
  const io::File& file_;
  std::size_t record_bytes_;
  std::size_t chunk_records_;
  std::uint64_t records_;
  std::atomic<std::uint64_t> next_chunk_{0};
};

// Chunks of a pipe, or of a caller.
class StreamSource {
 public:
  StreamSource(const io::File& file, std::size_t record_bytes, std::size_t chunk_bytes)
      : file_(file),
        record_bytes_(record_bytes),
        chunk_records_(std::max<std::size_t>(1, chunk_bytes / record_bytes)),
        last_record_(record_bytes) {}

  std::uint64_t chunks() const { return ~std::uint64_t{0}; }
  std::size_t buffer_bytes() const {
    return round_up((chunk_records_ + 1) * record_bytes_, kSectorBytes);
  }
  std::size_t own_bytes() const { return record_bytes_; }

  bool next(std::span<std::byte> buffer, RecordChunk& chunk) {
    std::lock_guard lock(mutex_);
    chunk = {records_, 0, nullptr};
    if (ended_) return false;
    std::copy(last_record_.begin(), last_record_.end(), buffer.begin());
    const auto data = buffer.subspan(record_bytes_, chunk_records_ * record_bytes_);
    ended_ = true;  // also when the read fails
    const std::size_t bytes = read(data);
    ended_ = bytes < data.size();
    io::check_whole_records(file_, records_ * record_bytes_ + bytes, record_bytes_);
    chunk = {records_, bytes / record_bytes_, data.data()};
    records_ += chunk.count;
    const auto last = buffer.subspan(chunk.count * record_bytes_, record_bytes_);
    std::copy(last.begin(), last.end(), last_record_.begin());
    return chunk.count > 0;
  }
  // A pipe may never deliver: a reader that waits is woken and finds its end.
  void stop() { stopped_.send(); }

 private:
  std::size_t read(std::span<std::byte> data) {
    io::Request request{io::Op::read, &file_, io::Request::kStream, data, {}};
    io::Completion completion;
    if (io::IoQueue* const caller = file_.caller()) {
      std::binary_semaphore done(0);
      request.done = [&](const io::Completion& result) {
        completion = result;
        done.release();
      };
      caller->submit(std::move(request));
      done.acquire();
    } else {
      completion = io::Transfer(std::move(request)).carry_out(stopped_.fd());
    }
    if (completion.error == ECANCELED) return 0;
    if (completion.error != 0) throw_io_error(completion.error, Operation::read, file_.path());
    return completion.bytes;
  }

  const io::File& file_;
  std::size_t record_bytes_;
  std::size_t chunk_records_;
  std::mutex mutex_;
  io::WakeEvent stopped_;
  std::vector<std::byte> last_record_;
  std::uint64_t records_ = 0;
  bool ended_ = false;
};

}  // namespace xxl
