#include "columns/files/memory_plan.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/units.h"
#include "xxl/error.h"

namespace xxl {
namespace {

// Small pieces of memory that Arrow takes beside its pool; its code is part of the constant.
constexpr std::uint64_t kArrowBytes = 8 * kMiB;
constexpr std::uint64_t kLeastEngineBytes = 16 * kMiB;
constexpr std::uint64_t kLeastModuleBytes = 8 * kMiB;
// More makes row groups no better: these end with a number of rows then.
constexpr std::uint64_t kMostWritingBytes = 512 * kMiB;
constexpr std::uint64_t kWritingPart = 4;  // of what is there, one
constexpr std::uint64_t kLeastBatchBytes = 256 * kKiB;
constexpr std::uint64_t kMostBatchBytes = 4 * kMiB;
constexpr std::uint64_t kBatchPart = 64;
// The engine takes no larger ones than the first, if they have more than a MiB.
constexpr std::uint64_t kGivenBytes = kMiB * 3 / 4;
// The batch in use, two that wait for it, and the one that is being decoded.
constexpr std::uint64_t kBatches = 4;

// Nothing if too little is left for the engine.
std::optional<ColumnFileMemory> divide(std::uint64_t memory_bytes, std::uint64_t reading_bytes,
                                       module_table::Format format, bool reads_while_writing) {
  const std::uint64_t usable = memory_bytes - std::min(memory_bytes, kArrowBytes);
  ColumnFileMemory plan;
  plan.batches.read_bytes = std::clamp(usable / kBatchPart, kLeastBatchBytes, kMostBatchBytes);
  plan.batches.given_bytes = std::min(plan.batches.read_bytes, kGivenBytes);
  const std::uint64_t writing = std::min(usable / kWritingPart, kMostWritingBytes);
  // A batch of IPC is read as a whole, however large it is: it gets what is there.
  const std::uint64_t reading = format == module_table::Format::parquet
                                    ? reading_bytes + kBatches * plan.batches.read_bytes
                                    : usable / kWritingPart;
  const std::uint64_t both = reads_while_writing ? reading + writing : std::max(reading, writing);
  plan.module_bytes = std::max(both, kLeastModuleBytes);
  plan.writing_bytes = reads_while_writing ? writing : plan.module_bytes;
  if (usable < plan.module_bytes + kLeastEngineBytes) return std::nullopt;
  plan.engine_bytes = usable - plan.module_bytes;
  return plan;
}

}  // namespace

ColumnFileMemory plan_column_memory(std::uint64_t memory_bytes, module_table::Format format,
                                    std::span<const module_table::SourceFacts> sources) {
  const bool reads_while_writing = sources.size() > 1;
  std::uint64_t reading_bytes = 0, metadata_bytes = 0;
  for (const module_table::SourceFacts& facts : sources) {
    reading_bytes = std::max(reading_bytes, facts.reading_bytes);
    metadata_bytes += facts.metadata_bytes;
  }
  reading_bytes += metadata_bytes;
  if (const auto plan = divide(memory_bytes, reading_bytes, format, reads_while_writing)) {
    return *plan;
  }
  std::uint64_t enough = round_up(memory_bytes, kMiB);
  while (!divide(enough, reading_bytes, format, reads_while_writing)) enough += kMiB;
  throw Error(ErrorCode::no_space, "-S " + format_bytes(memory_bytes) +
                                       " is too little to read and sort these files: -S " +
                                       std::to_string(enough / kMiB) + "M would do");
}

}  // namespace xxl
