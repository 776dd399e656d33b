// sort -c: is a file in order? Neighbours are compared chunk by chunk, on all cores.
#include <mutex>

#include "base/checksum.h"
#include "base/error.h"
#include "base/memory_name.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/file.h"
#include "job/fixed_sort/check_sorted.h"
#include "job/fixed_sort/fixed_sort.h"
#include "job/inputs.h"
#include "job/phase_meter.h"
#include "job/record_chunks.h"
#include "record/key_layout.h"

namespace xxl {
namespace {

constexpr std::uint64_t kLayoutBytes = 128;  // of a KeyLayout, for each word of the key
constexpr std::size_t kLeastMemoryToVerify = 4 * kMiB;

[[noreturn]] void refuse_memory(const FixedSortOptions& options, std::uint64_t needed) {
  throw Error(ErrorCode::no_space, memory_given(options.memory_bytes) +
                                       " is too small to check records of " +
                                       format_count(options.format.record_bytes, "byte") +
                                       ": give at least " + memory_to_give(needed));
}

}  // namespace

OrderCheck check_order(const FixedSortOptions& options) {
  Inputs inputs =
      open_inputs({options.inputs.empty() ? "-" : options.inputs.front()},
                  options.format.record_bytes, recognize_suffix(options.compressed_by_suffix));
  io::File& file = only_file(inputs);
  file.open();
  const std::size_t record_bytes = options.format.record_bytes;
  const std::uint64_t given = memory_beside_decoders(options.memory_bytes, {&inputs});
  RecordChunks chunks(file, record_bytes, given);
  const std::uint64_t needed = chunks.buffer_bytes() + chunks.own_bytes() +
                               options.format.key_bytes() / sizeof(std::uint64_t) * kLayoutBytes;
  if (needed > given) refuse_memory(options, needed);
  const KeyLayout layout(options.format);
  const std::uint64_t disorder = chunks.scan(options.threads, {}, [&](const RecordChunk& chunk) {
    return compare_neighbours(layout, chunk, options.unique).first_unordered;
  });
  if (file.seekable()) file.has_grown();  // leaves standard input at its end
  if (disorder == kNoRecord) return {};
  return {.ordered = false, .record = disorder, .offset = disorder * record_bytes, .text = {}};
}

void check_sorted(const FixedSortOptions& options, const MultisetHash& sum, const io::File& output,
                  std::span<std::byte> memory, unsigned threads) {
  MemoryRegion least;
  if (memory.size() < kLeastMemoryToVerify) {
    least = MemoryRegion(kLeastMemoryToVerify);
    memory = least.span();
  }
  const RecordFormat format = options.output_format();
  RecordChunks chunks(output, format.record_bytes, memory.size());
  if (chunks.buffer_bytes() > memory.size()) return;
  const KeyLayout layout(format);
  const bool unique = options.unique || options.fold.folds();
  MultisetHash read;
  std::mutex mutex;  // of `read`
  const std::uint64_t disorder = chunks.scan(threads, memory, [&](const RecordChunk& chunk) {
    MultisetHash of_chunk;
    add_records(of_chunk, chunk.records, chunk.count, format.record_bytes);
    {
      const std::lock_guard lock(mutex);
      read += of_chunk;
    }
    return compare_neighbours(layout, chunk, unique).first_unordered;
  });
  if (disorder != kNoRecord) {
    throw_not_in_order(output.path(), disorder, disorder * format.record_bytes);
  }
  check_read_back(output.path(), read, sum);
}

}  // namespace xxl
