#include "array_data.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/thread.h"
#include "job/record_chunks.h"
#include "record/key_layout.h"
#include "testdata/distributions.h"
#include "testdata/gensort.h"

namespace xxl::bench {
namespace {

constexpr std::size_t kChunkBytes = kMiB;

RecordFormat format_of(const std::string& kind) {
  if (kind == "gensort" || kind == "u64") return parse_record_format(kind);
  if (kind != "lines") throw Error(ErrorCode::usage, "records are gensort, u64 or lines");
  RecordFormat format = parse_record_format("fixed:100");
  format.key = {parse_key_field("0:bytes99", format)};
  return format;
}

using MakeRecords = std::function<void(std::uint64_t first, std::size_t count, std::byte* out)>;

MakeRecords record_maker(const ArrayData& data) {
  if (data.kind != "u64") {
    return [kind = GensortKind{.ascii = data.is_text()}](std::uint64_t first, std::size_t count,
                                                         std::byte* out) {
      make_gensort_records(kind, first, count, out);
    };
  }
  GenerateOptions options;
  options.format = data.format;
  options.records = options.total_records = data.records;
  return
      [records = DistributedRecords(options)](std::uint64_t first, std::size_t count,
                                              std::byte* out) { records.fill(first, count, out); };
}

// Calls work(first, count, buffer) for chunks of all records; the buffer has room for one record
// more than the chunk. Returns the sum of what it returns.
template <class Work>
Sum128 for_chunks(const ArrayData& data, unsigned threads, const Work& work) {
  const std::size_t record_bytes = data.format.record_bytes;
  const std::uint64_t most = kChunkBytes / record_bytes;
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  Sum128 total = 0;
  run_threads(threads, [&](unsigned, const std::atomic<bool>& stop) {
    std::vector<std::byte> buffer((most + 1) * record_bytes);
    Sum128 sum = 0;
    for (std::uint64_t first; !stop && (first = most * next++) < data.records;) {
      sum += work(first, std::min(most, data.records - first), std::span(buffer));
    }
    std::lock_guard lock(mutex);
    total += sum;
  });
  return total;
}

}  // namespace

ArrayData::ArrayData(const std::string& record_kind, std::uint64_t bytes)
    : kind(record_kind), format(format_of(kind)), records(bytes / format.record_bytes) {}

Sum128 make_records(const ArrayData& data, MemoryFile& file, unsigned threads) {
  const MakeRecords make = record_maker(data);
  const std::size_t record_bytes = data.format.record_bytes;
  return for_chunks(
      data, threads, [&](std::uint64_t first, std::size_t count, std::span<std::byte> buffer) {
        make(first, count, buffer.data());
        if (file.write(first * record_bytes, buffer.first(count * record_bytes)).error != 0) {
          throw Error(ErrorCode::no_space, "the array has not enough memory for the input");
        }
        return sum_record_crcs(buffer.data(), count, record_bytes);
      });
}

bool check_records(const ArrayData& data, Sum128 checksum, MemoryFile& file, unsigned threads) {
  const KeyLayout layout(data.format);
  const std::size_t record_bytes = data.format.record_bytes;
  std::atomic<bool> ordered{true};
  const Sum128 sum = for_chunks(
      data, threads, [&](std::uint64_t first, std::size_t count, std::span<std::byte> buffer) {
        // The record before the chunk is read as well, so that all neighbours are compared.
        const std::size_t before = first == 0 ? 0 : 1;
        const auto records = buffer.first((before + count) * record_bytes);
        file.read((first - before) * record_bytes, records);
        const RecordChunk chunk{first, count, records.data() + before * record_bytes};
        if (compare_neighbours(layout, chunk, false).below > 0) {
          ordered.store(false, std::memory_order_relaxed);
        }
        return sum_record_crcs(chunk.records, count, record_bytes);
      });
  return ordered && sum == checksum;
}

}  // namespace xxl::bench
