#include "columns/column_memory.h"

#include <algorithm>

#include "base/memory_name.h"
#include "base/units.h"
#include "xxl/error.h"

namespace xxl {
namespace {

// Parts of the memory:
constexpr std::uint64_t kInputPart = 8;  // at least, and at most a half
constexpr std::uint64_t kOutputPart = 64;
constexpr std::uint64_t kMinOutputBytes = 64 * kKiB;
constexpr std::uint64_t kMaxOutputBytes = kMiB;
// Arrays have a cost for each column of a batch, however few rows it has.
constexpr std::uint64_t kMaxColumnOutputBytes = 4 * kKiB;
constexpr std::uint64_t kDictionaryPart = 16;
// The batch that is read, and the one that its producer is at.
constexpr std::uint64_t kBatchesAtOnce = 2;

// `enough`: memory that would do.
[[noreturn]] void refuse_batch(const std::string& place, std::uint64_t bytes,
                               std::uint64_t memory_bytes, std::uint64_t enough) {
  throw Error(ErrorCode::no_space, place + " takes " + format_bytes(bytes) + ", too much for " +
                                       memory_of_name(memory_bytes) + ": give at least " +
                                       memory_to_give(enough) + ", or smaller batches");
}

}  // namespace

ColumnMemory divide_memory(const resources& shared, std::uint64_t columns, std::uint64_t first,
                           const std::string& place) {
  const std::uint64_t all = shared.options().memory_bytes / shared.options().users;
  // Others may be larger: the first ones of a stream are often small.
  const std::uint64_t input =
      first == 0 ? 0 : std::max(kBatchesAtOnce * (first + first / 4), all / kInputPart);
  if (kBatchesAtOnce * first > all / 2) refuse_batch(place, first, all, 2 * kBatchesAtOnce * first);
  ColumnMemory memory;
  memory.all_bytes = all;
  memory.input_bytes = std::min(input, all / 2);
  memory.output_bytes = std::clamp(all / kOutputPart, kMinOutputBytes,
                                   std::max(kMaxOutputBytes, columns * kMaxColumnOutputBytes));
  memory.dictionary_bytes = all / kDictionaryPart;
  // What is given, and what the receiver has not released.
  const std::uint64_t taken = memory.input_bytes + 2 * memory.output_bytes;
  memory.engine_bytes = all - std::min(taken, all / 2);
  return memory;
}

void check_batch(const BatchReader& reader, const ColumnMemory& memory) {
  const std::uint64_t bytes = bytes_of(reader.batch());
  if (kBatchesAtOnce * bytes > memory.input_bytes && bytes > kMiB) {
    refuse_batch(reader.place(), bytes, memory.all_bytes, kInputPart * kBatchesAtOnce * bytes);
  }
}

}  // namespace xxl
