// sort -c: is a file in order? Neighbours are compared chunk by chunk, on all cores.
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>

#include "base/checksum.h"
#include "base/error.h"
#include "base/memory_name.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "engine/chunk_threads.h"
#include "engine/inputs.h"
#include "engine/phase_meter.h"
#include "engine/record_chunks.h"
#include "engine/record_sort/check_sorted.h"
#include "engine/record_sort/external_sort.h"
#include "io/file.h"
#include "io/input_checks.h"
#include "record/key_layout.h"

namespace xxl {
namespace {

constexpr std::uint64_t kMostMemoryBytes = 64 * kMiB;
constexpr std::uint64_t kLeastChunks = 4;    // within the memory, if records are short enough
constexpr std::uint64_t kLayoutBytes = 128;  // of a KeyLayout, for each word of the key
constexpr std::size_t kLeastMemoryToVerify = 4 * kMiB;
constexpr std::uint64_t kNone = ~std::uint64_t{0};

// The first finding in the order of the file: a record out of order, or a failure.
class FirstFound {
 public:
  void add(std::uint64_t record, std::exception_ptr failure) {
    std::lock_guard lock(mutex_);
    if (record >= record_) return;
    record_ = record;
    failure_ = std::move(failure);
    any_ = true;
  }
  // Chunks that have not been taken by now come after the finding.
  bool any() const { return any_; }
  // The record out of order, or kNone. Throws the failure, if that comes first.
  std::uint64_t get() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return record_;
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> any_{false};
  std::uint64_t record_ = kNone;
  std::exception_ptr failure_;
};

[[noreturn]] void refuse_memory(const SortOptions& options, std::uint64_t needed) {
  throw Error(ErrorCode::no_space, memory_given(options.memory_bytes) +
                                       " is too small to check records of " +
                                       format_count(options.format.record_bytes, "byte") +
                                       ": give at least " + memory_to_give(needed));
}

// The first record out of order, or kNone: then `sum`, unless it is null, has all of them. `limit`:
// a comparison of neighbours above it is disorder. `memory`: of buffers, one for each worker.
template <class Source>
std::uint64_t find_disorder(const KeyLayout& layout, int limit, Source& source, unsigned workers,
                            std::span<std::byte> memory, MultisetHash* sum) {
  FirstFound found;
  std::mutex mutex;  // of the sum
  run_threads(workers, [&](unsigned worker, const std::atomic<bool>&) {
    const auto buffer = memory.subspan(worker * source.buffer_bytes(), source.buffer_bytes());
    RecordChunk chunk;
    MultisetHash own;
    try {
      while (!found.any() && source.next(buffer, chunk)) {
        std::uint64_t first = kNone;
        compare_neighbours(layout, chunk, [&](int order, std::uint64_t record) {
          first = std::min(first, order > limit ? record : kNone);
        });
        if (first != kNone) found.add(first, nullptr);
        if (sum != nullptr) add_records(own, chunk.records, chunk.count, layout.record_bytes());
      }
    } catch (...) {
      found.add(chunk.first, std::current_exception());
    }
    if (found.any()) source.stop();
    if (sum == nullptr) return;
    std::lock_guard lock(mutex);
    *sum += own;
  });
  return found.get();
}

template <class Source>
std::uint64_t find_disorder(const SortOptions& options, std::uint64_t given, const io::File& file) {
  const std::size_t record_bytes = options.format.record_bytes;
  const std::uint64_t memory_bytes = std::min(given, kMostMemoryBytes);
  Source source(file, record_bytes,
                std::min<std::size_t>(kRecordChunkBytes, memory_bytes / kLeastChunks));
  const std::uint64_t needed = source.buffer_bytes() + source.own_bytes() +
                               options.format.key_bytes() / sizeof(std::uint64_t) * kLayoutBytes;
  if (needed > given) refuse_memory(options, needed);
  const KeyLayout layout(options.format);
  const unsigned workers =
      thread_count(options.parallel, kWaitingWorkers, source.chunks(), source.buffer_bytes(),
                   memory_bytes - std::min(memory_bytes, source.own_bytes()));
  const MemoryRegion memory(workers * source.buffer_bytes());
  return find_disorder(layout, options.unique ? -1 : 0, source, workers, memory.span(), nullptr);
}

}  // namespace

OrderCheck check_order(const SortOptions& options) {
  Inputs inputs =
      open_inputs({options.inputs.empty() ? "-" : options.inputs.front()},
                  options.format.record_bytes, recognize_suffix(options.compressed_by_suffix));
  io::File& file = only_file(inputs);
  file.open();
  const std::uint64_t memory = memory_beside_decoders(options.memory_bytes, {&inputs});
  const std::uint64_t disorder = file.seekable()
                                     ? find_disorder<SeekableSource>(options, memory, file)
                                     : find_disorder<StreamSource>(options, memory, file);
  if (file.seekable()) file.has_grown();  // leaves standard input at its end
  if (disorder != kNone)
    return {.ordered = false,
            .record = disorder,
            .offset = disorder * options.format.record_bytes,
            .text = {}};
  return {};
}

void check_sorted(const SortOptions& options, const MultisetHash& sum, const io::File& output,
                  std::span<std::byte> memory, unsigned threads) {
  MemoryRegion least;
  if (memory.size() < kLeastMemoryToVerify) {
    least = MemoryRegion(kLeastMemoryToVerify);
    memory = least.span();
  }
  const RecordFormat format = options.output_format();
  StreamSource source(output, format.record_bytes,
                      std::min<std::size_t>(kRecordChunkBytes, memory.size() / kLeastChunks));
  if (source.buffer_bytes() > memory.size()) return;
  const KeyLayout layout(format);
  const unsigned workers =
      thread_count(threads, 0, source.chunks(), source.buffer_bytes(), memory.size());
  const int limit = options.unique || options.fold.folds() ? -1 : 0;
  MultisetHash read;
  const std::uint64_t disorder = find_disorder(layout, limit, source, workers, memory, &read);
  if (disorder != kNone) {
    throw_not_in_order(output.path(), disorder, disorder * format.record_bytes);
  }
  check_read_back(output.path(), read, sum);
}

}  // namespace xxl
