// A file is made in chunks of bytes, each by any worker: the chunk's records first, then, where it
// begins or ends inside a record, the rest of them is cut off. Chunks begin at multiples of
// kSectorBytes, so that they can be written directly, and the buffer is laid out so that they do so
// in memory too:
//
//     buffer:      |  lead   |           chunk            |  tail  |
//     records:        [  r  |  ]  [ r+1 ]  ...  [  r+k    |  ]
//
// Files get their chunks in any order; pipes and devices get them in order.
#include "testdata/generate.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <span>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/file.h"
#include "io/io_queue.h"
#include "io/output_file.h"
#include "io/transfer.h"
#include "job/chunk_threads.h"
#include "testdata/distributions.h"
#include "testdata/gensort.h"

namespace xxl {
namespace {

constexpr std::size_t kChunkBytes = 2 * kMiB;
constexpr std::size_t kMemoryBytes = 256 * kMiB;  // of all workers' buffers

bool is_gensort(const RecordFormat& format) {
  return format.name == "gensort";
}

// Fills in defaults of the options.
GenerateOptions resolve(GenerateOptions options) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  constexpr auto kMostBytes = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  const bool has_long_numbers = is_gensort(options.format) && !options.skewed;
  const RecordNumber most = has_long_numbers ? ~RecordNumber{0} : kMost;
  if (options.first_record > most - options.records) {
    throw Error(ErrorCode::usage,
                std::string("numbers of ") +
                    (options.skewed ? "skewed records" : options.format.name + " records") +
                    " go up to " + (has_long_numbers ? "2^128 - 2" : "2^64 - 2"));
  }
  if (options.records > (kMostBytes - kSectorBytes) / options.format.record_bytes) {
    throw Error(ErrorCode::usage, format_count(options.records, "record") + " of " +
                                      format_count(options.format.record_bytes, "byte") +
                                      " are more than a file can hold");
  }
  const auto end = static_cast<std::uint64_t>(options.first_record) + options.records;
  if (options.total_records == 0) options.total_records = end;
  if (options.total_records < end && !is_gensort(options.format)) {
    throw Error(ErrorCode::usage, "records up to number " + std::to_string(end - 1) +
                                      " are not part of " +
                                      format_count(options.total_records, "record") + " in all");
  }
  if (is_gensort(options.format) && options.distribution != Distribution::uniform) {
    throw Error(ErrorCode::usage, "gensort records have no distribution but uniform and skewed");
  }
  if (!is_gensort(options.format) && (options.ascii || options.skewed)) {
    throw Error(ErrorCode::usage, "only gensort records can be ASCII or skewed");
  }
  return options;
}

// Makes records first .. first + count - 1 at `out`.
using MakeRecords = std::function<void(RecordNumber first, std::size_t count, std::byte* out)>;

MakeRecords record_maker(const GenerateOptions& options) {
  if (is_gensort(options.format)) {
    const GensortKind kind{options.ascii, options.skewed};
    return [kind](RecordNumber first, std::size_t count, std::byte* out) {
      make_gensort_records(kind, first, count, out);
    };
  }
  return [records = DistributedRecords(options)](RecordNumber first, std::size_t count,
                                                 std::byte* out) {
    records.fill(static_cast<std::uint64_t>(first), count, out);
  };
}

// Makes the chunks of the file.
class ChunkMaker {
 public:
  explicit ChunkMaker(const GenerateOptions& options)
      : make_(record_maker(options)),
        first_record_(options.first_record),
        checksum_(options.checksum),
        record_bytes_(options.format.record_bytes),
        file_bytes_(options.records * record_bytes_),
        lead_bytes_(round_up(record_bytes_, kSectorBytes)),
        chunk_bytes_(std::max(kChunkBytes, lead_bytes_)) {}

  std::uint64_t chunks() const { return ceil_div<std::uint64_t>(file_bytes_, chunk_bytes_); }
  std::uint64_t file_bytes() const { return file_bytes_; }
  std::uint64_t offset(std::uint64_t chunk) const { return chunk * chunk_bytes_; }
  std::size_t buffer_bytes() const { return lead_bytes_ + chunk_bytes_ + lead_bytes_; }

  // Chunk number `chunk` in `buffer`; the last one is followed by zeros up to a whole sector. Adds
  // the CRCs of the records that begin in it to `checksum`, if they are asked for.
  std::span<std::byte> make(std::uint64_t chunk, std::span<std::byte> buffer,
                            Sum128& checksum) const {
    const std::uint64_t begin = offset(chunk);
    const std::uint64_t end = std::min(begin + chunk_bytes_, file_bytes_);
    const std::uint64_t first = begin / record_bytes_;
    const std::uint64_t last = ceil_div<std::uint64_t>(end, record_bytes_);
    const auto cut = static_cast<std::size_t>(begin - first * record_bytes_);
    std::byte* const data = buffer.data() + lead_bytes_;
    make_(first_record_ + first, static_cast<std::size_t>(last - first), data - cut);
    if (checksum_) {
      const std::size_t skip = cut == 0 ? 0 : 1;
      checksum += sum_record_crcs(data - cut + skip * record_bytes_,
                                  static_cast<std::size_t>(last - first) - skip, record_bytes_);
    }
    const auto bytes = static_cast<std::size_t>(end - begin);
    const std::size_t padded = round_up(bytes, kSectorBytes);
    std::fill(data + bytes, data + padded, std::byte{0});
    return {data, padded};
  }

 private:
  MakeRecords make_;
  RecordNumber first_record_;
  bool checksum_;
  std::size_t record_bytes_;
  std::uint64_t file_bytes_;
  std::size_t lead_bytes_;
  std::size_t chunk_bytes_;
};

using WriteChunk = std::function<void(std::uint64_t chunk, std::span<const std::byte> data)>;

// Makes all chunks and has each written by the worker that made it. Returns the checksum.
Sum128 make_all(const ChunkMaker& maker, unsigned parallel, const WriteChunk& write) {
  const unsigned workers =
      thread_count(parallel, kWaitingWorkers, maker.chunks(), maker.buffer_bytes(), kMemoryBytes);
  MemoryRegion memory(workers * maker.buffer_bytes());
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  Sum128 total = 0;
  run_threads(workers, [&](unsigned worker, const std::atomic<bool>& stop) {
    const auto buffer = memory.span().subspan(worker * maker.buffer_bytes(), maker.buffer_bytes());
    Sum128 checksum = 0;
    for (std::uint64_t chunk; !stop && (chunk = next++) < maker.chunks();) {
      write(chunk, maker.make(chunk, buffer, checksum));
    }
    std::lock_guard lock(mutex);
    total += checksum;
  });
  return total;
}

Sum128 write_file(const ChunkMaker& maker, const GenerateOptions& options) {
  io::OutputFile output(options.output, true, {options.scratch_dir});
  output.reserve(0, round_up<std::uint64_t>(maker.file_bytes(), kSectorBytes));
  const Sum128 checksum =
      make_all(maker, options.threads, [&](std::uint64_t chunk, std::span<const std::byte> data) {
        io::write_at(output.file(), maker.offset(chunk), data);
      });
  output.publish(maker.file_bytes());
  return checksum;
}

// Passes the chunks to a stream in order.
class InOrder {
 public:
  explicit InOrder(const io::File& file) : file_(file) {}

  // Waits for the chunks before `chunk`, and writes it. When a write fails, all that wait return.
  void write(std::uint64_t chunk, std::span<const std::byte> data) {
    std::unique_lock lock(mutex_);
    advanced_.wait(lock, [&] { return chunk == next_ || failed_; });
    if (failed_) return;
    try {
      io::write_at(file_, io::Request::kStream, data);
    } catch (...) {
      failed_ = true;
      advanced_.notify_all();
      throw;
    }
    ++next_;
    advanced_.notify_all();
  }

 private:
  const io::File& file_;
  std::mutex mutex_;
  std::condition_variable advanced_;
  std::uint64_t next_ = 0;
  bool failed_ = false;
};

Sum128 write_stream(const ChunkMaker& maker, const GenerateOptions& options) {
  const io::File file = io::open_output_stream(options.output);
  InOrder in_order(file);
  const Sum128 checksum =
      make_all(maker, options.threads, [&](std::uint64_t chunk, std::span<const std::byte> data) {
        const std::uint64_t left = maker.file_bytes() - maker.offset(chunk);
        in_order.write(chunk, data.first(std::min<std::uint64_t>(data.size(), left)));
      });
  io::end_output_stream(options.output, file);
  return checksum;
}

}  // namespace

GenerateReport generate(const GenerateOptions& requested) {
  const GenerateOptions options = resolve(requested);
  const ChunkMaker maker(options);
  const bool stream = options.output == "-" || !io::OutputFile::is_replaceable(options.output);
  return {options.records, stream ? write_stream(maker, options) : write_file(maker, options)};
}

}  // namespace xxl
