#include "job/record_chunks.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/thread.h"
#include "io/input_checks.h"
#include "io/transfer.h"
#include "job/chunk_threads.h"
#include "record/native_key.h"

namespace xxl {
namespace {

constexpr std::uint64_t kMostChunkBytes = kMiB;
constexpr std::uint64_t kLeastChunks = 4;  // within the memory, if records are short enough

// `key_of` gives what decides first, and if `has_ties`, the layout the order of records where it is
// equal. Counts without branches, which on an unsorted file would go wrong half of the time, and
// then looks where the first one is.
template <bool has_ties, class KeyOf>
Neighbours compare(const KeyLayout& layout, const RecordChunk& chunk, bool unique, KeyOf key_of) {
  const std::size_t begin = chunk.first == 0 ? 1 : 0;  // the first one that has one before it
  if (begin >= chunk.count) return {};
  const std::size_t record_bytes = layout.record_bytes();
  const std::byte* const first = chunk.records + begin * record_bytes;
  const std::byte* const end = chunk.records + chunk.count * record_bytes;
  Neighbours found;
  auto previous = key_of(first - record_bytes);
  for (const std::byte* record = first; record < end; record += record_bytes) {
    const auto key = key_of(record);
    bool is_equal = key == previous, is_below = key < previous;
    if (has_ties && is_equal) {
      const int order = layout.compare(record - record_bytes, record);
      is_equal = order == 0;
      is_below = order > 0;
    }
    found.equal += is_equal;
    found.below += is_below;
    previous = key;
  }
  if (found.below + (unique ? found.equal : 0) == 0) return found;
  const std::byte* record = first;
  while (layout.compare(record - record_bytes, record) < (unique ? 0 : 1)) record += record_bytes;
  found.first_unordered =
      chunk.first + static_cast<std::uint64_t>(record - chunk.records) / record_bytes;
  return found;
}

template <class Word>
Neighbours compare_native(const KeyLayout& layout, const RecordChunk& chunk, bool unique) {
  const KeyTransform transform = layout.transform();
  return compare<false>(layout, chunk, unique, [&](const std::byte* record) {
    return native_key<Word>(record, transform);
  });
}

std::uint64_t whole_records(const io::File& file, std::size_t record_bytes) {
  if (!file.seekable()) return 0;
  io::check_whole_records(file, file.size(), record_bytes);
  return file.size() / record_bytes;
}

}  // namespace

Neighbours compare_neighbours(const KeyLayout& layout, const RecordChunk& chunk, bool unique) {
  switch (layout.kind()) {
    case RecordKind::key32:
    case RecordKind::pair32:
      return compare_native<std::uint32_t>(layout, chunk, unique);
    case RecordKind::key64:
    case RecordKind::pair64:
      return compare_native<std::uint64_t>(layout, chunk, unique);
    case RecordKind::generic:
      return compare<true>(layout, chunk, unique,
                           [&](const std::byte* record) { return layout.word(record, 0); });
  }
  XXL_CHECK(false);
}

RecordChunks::RecordChunks(const io::File& file, std::size_t record_bytes,
                           std::uint64_t memory_bytes)
    : file_(file),
      record_bytes_(record_bytes),
      memory_bytes_(std::min(memory_bytes, kMostMemoryBytes)),
      chunk_records_(std::max<std::size_t>(
          1, std::min(kMostChunkBytes, memory_bytes_ / kLeastChunks) / record_bytes)),
      records_(whole_records(file, record_bytes)),
      last_record_(file.seekable() ? 0 : record_bytes) {
  if (!file.seekable()) stopped_.emplace();
}

std::size_t RecordChunks::buffer_bytes() const {
  return round_up((chunk_records_ + 1) * record_bytes_, kSectorBytes) +
         (file_.seekable() ? kSectorBytes : 0);
}

unsigned RecordChunks::workers(unsigned parallel) const {
  const std::uint64_t chunks = file_.seekable() ? ceil_div(records_, chunk_records_) : kNoRecord;
  return thread_count(parallel, file_.caller() == nullptr ? kWaitingWorkers : 0, chunks,
                      buffer_bytes(),
                      memory_bytes_ - std::min<std::uint64_t>(memory_bytes_, own_bytes()));
}

std::uint64_t RecordChunks::scan(unsigned parallel, std::span<std::byte> memory,
                                 const std::function<std::uint64_t(const RecordChunk&)>& examine) {
  MemoryRegion own;
  if (memory.empty()) {
    own = MemoryRegion(workers(parallel) * buffer_bytes());
    memory = own.span();
  }
  std::mutex mutex;  // of the first finding in the order of the file, which may be a failure
  std::uint64_t first = kNoRecord;
  std::exception_ptr failure;
  std::atomic<bool> found{false};  // what has not been taken by now comes after it
  const auto find = [&](std::uint64_t record, std::exception_ptr why) {
    const std::lock_guard lock(mutex);
    if (record >= first) return;
    first = record;
    failure = std::move(why);
    found = true;
    if (stopped_) stopped_->send();  // a pipe may never deliver: a reader that waits is woken
  };
  run_threads(workers(parallel), [&](unsigned worker, const std::atomic<bool>&) {
    const auto buffer = memory.subspan(worker * buffer_bytes(), buffer_bytes());
    RecordChunk chunk;
    try {
      while (!found && next(buffer, chunk)) find(examine(chunk), nullptr);
    } catch (...) {
      find(chunk.first, std::current_exception());
    }
  });
  if (failure != nullptr) std::rethrow_exception(failure);
  return first;
}

// Reads the next chunk into `buffer`; false at the end. `chunk.first` is set before anything can
// fail.
bool RecordChunks::next(std::span<std::byte> buffer, RecordChunk& chunk) {
  if (!file_.seekable()) return next_of_stream(buffer, chunk);
  const std::uint64_t first = next_chunk_++ * chunk_records_;
  chunk = {first, 0, nullptr};
  if (first >= records_) return false;
  const std::uint64_t end = std::min<std::uint64_t>(first + chunk_records_, records_);
  const std::uint64_t wanted = (first == 0 ? 0 : first - 1) * record_bytes_;
  const std::uint64_t offset = round_down<std::uint64_t>(wanted, kSectorBytes);
  const std::uint64_t bytes = end * record_bytes_ - offset;
  const std::size_t bytes_read =
      io::read_at(file_, offset, buffer.first(round_up<std::uint64_t>(bytes, kSectorBytes)));
  if (bytes_read < bytes) io::throw_shorter(file_, offset + bytes_read);
  chunk = {first, static_cast<std::size_t>(end - first),
           buffer.data() + (first * record_bytes_ - offset)};
  return true;
}

bool RecordChunks::next_of_stream(std::span<std::byte> buffer, RecordChunk& chunk) {
  std::lock_guard lock(mutex_);
  chunk = {records_read_, 0, nullptr};
  if (ended_) return false;
  std::copy(last_record_.begin(), last_record_.end(), buffer.begin());
  const auto data = buffer.subspan(record_bytes_, chunk_records_ * record_bytes_);
  ended_ = true;  // also when the read fails
  const std::size_t bytes = io::read_at(file_, io::Request::kStream, data, stopped_->fd());
  ended_ = bytes < data.size();
  io::check_whole_records(file_, records_read_ * record_bytes_ + bytes, record_bytes_);
  chunk = {records_read_, bytes / record_bytes_, data.data()};
  records_read_ += chunk.count;
  const auto last = buffer.subspan(chunk.count * record_bytes_, record_bytes_);
  std::copy(last.begin(), last.end(), last_record_.begin());
  return chunk.count > 0;
}

}  // namespace xxl
