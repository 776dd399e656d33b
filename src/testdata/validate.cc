// Compares neighbours, chunk by chunk (record_chunks.h).
#include "testdata/validate.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "engine/chunk_threads.h"
#include "engine/inputs.h"
#include "engine/part_directory.h"
#include "engine/record_chunks.h"
#include "io/file.h"
#include "io/input_checks.h"
#include "io/transfer.h"
#include "record/key_layout.h"
#include "testdata/record_checksum.h"

namespace xxl {
namespace {

constexpr std::size_t kValidateMemoryBytes = 64 * kMiB;  // of all workers' buffers

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

Tally examine(const KeyLayout& layout, const RecordChunk& chunk) {
  Tally tally;
  compare_neighbours(layout, chunk,
                     [&](int order, std::uint64_t record) { tally.add_pair(order, record); });
  tally.records = chunk.count;
  tally.checksum = sum_record_crcs(chunk.records, chunk.count, layout.record_bytes());
  return tally;
}

template <class Source>
Tally examine_file(const KeyLayout& layout, const io::File& file, unsigned parallel) {
  Source source(file, layout.record_bytes(), kRecordChunkBytes);
  const unsigned workers = thread_count(parallel, kWaitingWorkers, source.chunks(),
                                        source.buffer_bytes(), kValidateMemoryBytes);
  MemoryRegion memory(workers * source.buffer_bytes());
  std::mutex mutex;
  Tally total;
  run_threads(workers, [&](unsigned worker, const std::atomic<bool>& stop) {
    const auto buffer =
        memory.span().subspan(worker * source.buffer_bytes(), source.buffer_bytes());
    Tally tally;
    RecordChunk chunk;
    while (!stop && source.next(buffer, chunk)) tally += examine(layout, chunk);
    std::lock_guard lock(mutex);
    total += tally;
  });
  return total;
}

}  // namespace

ValidateReport validate(const RecordFormat& format, const std::string& input, unsigned parallel) {
  const KeyLayout layout(format);
  Inputs inputs = open_inputs({input}, format.record_bytes, Recognize::suffix);
  Tally tally;
  std::vector<std::byte> last;  // of the parts before
  for (io::File& file : inputs.files) {
    file.open();
    Tally of_file = file.seekable() ? examine_file<SeekableSource>(layout, file, parallel)
                                    : examine_file<StreamSource>(layout, file, parallel);
    if (of_file.first_unordered != Tally::kNone) of_file.first_unordered += tally.records;
    if (inputs.files.size() > 1 && of_file.records > 0) {
      const auto first = io::read_bytes(file, 0, format.record_bytes);
      if (!last.empty()) tally.add_pair(layout.compare(last.data(), first.data()), tally.records);
      last = io::read_bytes(file, (of_file.records - 1) * format.record_bytes, format.record_bytes);
    }
    tally += of_file;
    if (inputs.files.size() > 1) file.close();
  }
  ValidateReport report;
  report.records = tally.records;
  report.checksum_high = static_cast<std::uint64_t>(tally.checksum >> 64);
  report.checksum_low = static_cast<std::uint64_t>(tally.checksum);
  report.duplicate_keys = tally.duplicate_keys;
  if (tally.unordered_records != 0) report.first_unordered = tally.first_unordered;
  report.unordered_records = tally.unordered_records;
  return report;
}

std::size_t validate_parts(const std::string& directory) {
  const auto manifest = read_manifest(directory);
  if (!manifest) {
    throw Error(ErrorCode::bad_input, "is a directory without a manifest of parts", directory);
  }
  for (const PartManifest::Part& part : manifest->parts) {
    const io::File file = io::File::open_input(path_in(directory, part.file));
    if (part_checksum(file, part.bytes) != part.checksum) {
      throw Error(ErrorCode::corrupt, "is not what the manifest of its directory says",
                  file.path());
    }
  }
  return manifest->parts.size();
}

}  // namespace xxl
