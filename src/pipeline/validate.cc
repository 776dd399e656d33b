// Workers take chunks of whole records, each with the record before it in front: so every pair of
// neighbours lies in one chunk, and chunks need to know nothing of each other. A file's chunks are
// read by the workers at the same time, where they want; a stream's one after the other, by whoever
// holds its lock.
#include "pipeline/validate.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/file.h"
#include "io/input_checks.h"
#include "io/io_queue.h"
#include "pipeline/chunk_threads.h"
#include "pipeline/record_checksum.h"
#include "record/key_layout.h"
#include "record/native_key.h"

namespace xxl {
namespace {

constexpr std::size_t kChunkBytes = kMiB;
constexpr std::size_t kMemoryBytes = 64 * kMiB;  // of all workers' buffers
constexpr unsigned kWaitingWorkers = 4;          // beyond the processors: these wait for the disk

// `count` records whose first is number `first`; unless that is 0, record first - 1 lies in front.
struct Chunk {
  std::uint64_t first = 0;
  std::size_t count = 0;
  const std::byte* records = nullptr;
};

struct Tally {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t records = 0;
  Sum128 checksum = 0;
  std::uint64_t duplicate_keys = 0;
  std::uint64_t unordered_records = 0;
  std::uint64_t first_unordered = kNone;

  // Counts record number `record`, whose predecessor's key compares to its own like `order` to 0.
  // Without branches, which on an unsorted file would go wrong half of the time.
  void add_pair(int order, std::uint64_t record) {
    duplicate_keys += order == 0;
    unordered_records += order > 0;
    first_unordered = std::min(first_unordered, order > 0 ? record : kNone);
  }

  Tally& operator+=(const Tally& other) {
    records += other.records;
    checksum += other.checksum;
    duplicate_keys += other.duplicate_keys;
    unordered_records += other.unordered_records;
    first_unordered = std::min(first_unordered, other.first_unordered);
    return *this;
  }
};

// Compares the records from `begin` of the chunk on, each with the one before it.
template <class Word>
Tally compare_native(const KeyLayout& layout, const Chunk& chunk, std::size_t begin) {
  const KeyTransform transform = layout.transform();
  const std::size_t record_bytes = layout.record_bytes();
  const std::byte* record = chunk.records + begin * record_bytes;
  Word previous = native_key<Word>(record - record_bytes, transform);
  Tally tally;
  for (std::size_t i = begin; i < chunk.count; ++i, record += record_bytes) {
    const Word key = native_key<Word>(record, transform);
    tally.add_pair((previous > key) - (previous < key), chunk.first + i);
    previous = key;
  }
  return tally;
}

Tally compare_generic(const KeyLayout& layout, const Chunk& chunk, std::size_t begin) {
  const std::size_t record_bytes = layout.record_bytes();
  const std::byte* record = chunk.records + begin * record_bytes;
  std::uint64_t previous = layout.word(record - record_bytes, 0);
  Tally tally;
  for (std::size_t i = begin; i < chunk.count; ++i, record += record_bytes) {
    const std::uint64_t prefix = layout.word(record, 0);
    int order = (previous > prefix) - (previous < prefix);
    if (order == 0) order = layout.compare(record - record_bytes, record);
    tally.add_pair(order, chunk.first + i);
    previous = prefix;
  }
  return tally;
}

Tally compare_pairs(const KeyLayout& layout, const Chunk& chunk) {
  const std::size_t begin = chunk.first == 0 ? 1 : 0;  // the first one that has one before it
  if (begin >= chunk.count) return {};
  switch (layout.kind()) {
    case RecordKind::key32:
    case RecordKind::pair32:
      return compare_native<std::uint32_t>(layout, chunk, begin);
    case RecordKind::key64:
    case RecordKind::pair64:
      return compare_native<std::uint64_t>(layout, chunk, begin);
    case RecordKind::generic:
      return compare_generic(layout, chunk, begin);
  }
  XXL_CHECK(false);
}

Tally examine(const KeyLayout& layout, const Chunk& chunk) {
  Tally tally = compare_pairs(layout, chunk);
  tally.records = chunk.count;
  tally.checksum = sum_record_crcs(chunk.records, chunk.count, layout.record_bytes());
  return tally;
}

// Chunks of a file that can be read anywhere.
class SeekableSource {
 public:
  SeekableSource(const io::File& file, std::size_t record_bytes)
      : file_(file),
        record_bytes_(record_bytes),
        chunk_records_(std::max<std::size_t>(1, kChunkBytes / record_bytes)),
        records_(file.size() / record_bytes) {
    io::check_whole_records(file, file.size(), record_bytes);
  }

  std::uint64_t chunks() const { return ceil_div<std::uint64_t>(records_, chunk_records_); }
  // The chunk, the record before it, and the rest of the sectors at both ends.
  std::size_t buffer_bytes() const {
    return round_up((chunk_records_ + 1) * record_bytes_, kSectorBytes) + kSectorBytes;
  }

  // The next chunk, read into `buffer`; an empty one at the end.
  Chunk next(std::span<std::byte> buffer) {
    const std::uint64_t first = next_chunk_++ * chunk_records_;
    if (first >= records_) return {};
    const std::uint64_t end = std::min<std::uint64_t>(first + chunk_records_, records_);
    const std::uint64_t wanted = (first == 0 ? 0 : first - 1) * record_bytes_;
    const std::uint64_t offset = round_down<std::uint64_t>(wanted, kSectorBytes);
    const std::uint64_t bytes = end * record_bytes_ - offset;
    const std::size_t bytes_read =
        file_.read_at(offset, buffer.first(round_up<std::uint64_t>(bytes, kSectorBytes)));
    if (bytes_read < bytes) {
      throw Error(ErrorCode::io, "the file became shorter while it was read", file_.path(),
                  offset + bytes_read);
    }
    return {first, static_cast<std::size_t>(end - first),
            buffer.data() + (first * record_bytes_ - offset)};
  }

 private:
  const io::File& file_;
  std::size_t record_bytes_;
  std::size_t chunk_records_;
  std::uint64_t records_;
  std::atomic<std::uint64_t> next_chunk_{0};
};

// Chunks of a pipe.
class StreamSource {
 public:
  StreamSource(const io::File& file, std::size_t record_bytes)
      : file_(file),
        record_bytes_(record_bytes),
        chunk_records_(std::max<std::size_t>(1, kChunkBytes / record_bytes)),
        last_record_(record_bytes) {}

  std::uint64_t chunks() const { return ~std::uint64_t{0}; }
  std::size_t buffer_bytes() const {
    return round_up((chunk_records_ + 1) * record_bytes_, kSectorBytes);
  }

  // The next chunk, read into `buffer`; an empty one at the end.
  Chunk next(std::span<std::byte> buffer) {
    std::lock_guard lock(mutex_);
    if (ended_) return {};
    std::copy(last_record_.begin(), last_record_.end(), buffer.begin());
    const auto data = buffer.subspan(record_bytes_, chunk_records_ * record_bytes_);
    ended_ = true;  // also when the read fails
    const std::size_t bytes = file_.read_at(io::Request::kStream, data);
    ended_ = bytes < data.size();
    const std::uint64_t first = records_;
    io::check_whole_records(file_, first * record_bytes_ + bytes, record_bytes_);
    const std::size_t count = bytes / record_bytes_;
    records_ += count;
    const auto last = buffer.subspan(count * record_bytes_, record_bytes_);
    std::copy(last.begin(), last.end(), last_record_.begin());
    return {first, count, data.data()};
  }

 private:
  const io::File& file_;
  std::size_t record_bytes_;
  std::size_t chunk_records_;
  std::mutex mutex_;
  std::vector<std::byte> last_record_;
  std::uint64_t records_ = 0;
  bool ended_ = false;
};

template <class Source>
Tally examine_all(const KeyLayout& layout, Source& source, unsigned parallel) {
  const unsigned workers =
      thread_count(parallel, kWaitingWorkers, source.chunks(), source.buffer_bytes(), kMemoryBytes);
  MemoryRegion memory(workers * source.buffer_bytes());
  std::mutex mutex;
  Tally total;
  run_threads(workers, [&](unsigned worker, const std::atomic<bool>& stop) {
    const auto buffer =
        memory.span().subspan(worker * source.buffer_bytes(), source.buffer_bytes());
    Tally tally;
    while (!stop) {
      const Chunk chunk = source.next(buffer);
      if (chunk.count == 0) break;
      tally += examine(layout, chunk);
    }
    std::lock_guard lock(mutex);
    total += tally;
  });
  return total;
}

template <class Source>
Tally examine_file(const KeyLayout& layout, const io::File& file, unsigned parallel) {
  Source source(file, layout.record_bytes());
  return examine_all(layout, source, parallel);
}

}  // namespace

ValidateReport validate(const RecordFormat& format, const std::string& input, unsigned parallel) {
  const KeyLayout layout(format);
  const io::File file = io::File::open_input(input);
  const Tally tally = file.seekable() ? examine_file<SeekableSource>(layout, file, parallel)
                                      : examine_file<StreamSource>(layout, file, parallel);
  io::check_not_grown(file);
  ValidateReport report;
  report.records = tally.records;
  report.checksum_high = static_cast<std::uint64_t>(tally.checksum >> 64);
  report.checksum_low = static_cast<std::uint64_t>(tally.checksum);
  report.duplicate_keys = tally.duplicate_keys;
  if (tally.unordered_records != 0) report.first_unordered = tally.first_unordered;
  report.unordered_records = tally.unordered_records;
  return report;
}

}  // namespace xxl
