#include "columns/files/memory_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/least_memory.h"
#include "base/memory_name.h"
#include "base/units.h"
#include "xxl/error.h"

namespace xxl {
namespace {

// Small pieces of memory that Arrow takes beside its pool; its code is part of the constant.
constexpr std::uint64_t kArrowBytes = 8 * kMiB;
// The same for each column that is read, or written: objects of that, and of it in batches.
constexpr std::uint64_t kColumnBytes = 48 * kKiB;
constexpr std::uint64_t kLeastEngineBytes = 16 * kMiB;
constexpr std::uint64_t kLeastModuleBytes = 8 * kMiB;
// More makes row groups no better: these end with a number of rows then.
constexpr std::uint64_t kMostWritingBytes = 512 * kMiB;
constexpr std::uint64_t kWritingPart = 4;  // of what is there, one
constexpr std::uint64_t kLeastBatchBytes = 256 * kKiB;
constexpr std::uint64_t kMostBatchBytes = 4 * kMiB;
// A batch has a cost for each column, however few rows it has.
constexpr std::uint64_t kColumnBatchBytes = 4 * kKiB;
constexpr std::uint64_t kBatchPart = 64;
// The engine takes no larger ones than the first, if they have more than a MiB.
constexpr std::uint64_t kGivenBytes = kMiB * 3 / 4;
// The batch in use, two that wait for it, and the one that is being decoded.
constexpr std::uint64_t kBatches = 4;
// What the tables of a job need, all together.
struct Needs {
  std::uint64_t reading_bytes = 0;
  std::uint64_t columns = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t all_row_bytes = 0;

  // Of a row that may be larger than all batches: while it is encoded with others; in batches that
  // wait to be; and in the engine, which merges such rows. Of a single one there is less.
  std::uint64_t written_rows() const {
    return std::min(6 * row_bytes, 4 * row_bytes + all_row_bytes);
  }
  std::uint64_t waiting_rows() const { return std::min(6 * row_bytes, row_bytes + all_row_bytes); }
  std::uint64_t sorted_rows() const { return std::min(5 * row_bytes, all_row_bytes * 5 / 2); }
};

// Nothing if too little is left for the engine.
std::optional<ColumnFileMemory> divide(std::uint64_t memory_bytes, const Needs& needs,
                                       module_table::Format format, bool reads_while_writing) {
  const std::uint64_t of_column = (reads_while_writing ? 2 : 1) * kColumnBytes;
  const std::uint64_t small = kArrowBytes + needs.columns * of_column;
  const std::uint64_t usable = memory_bytes - std::min(memory_bytes, small);
  const std::uint64_t of_columns = needs.columns * kColumnBatchBytes;
  ColumnFileMemory plan;
  plan.batches.read_bytes =
      std::clamp(usable / kBatchPart, kLeastBatchBytes, std::max(kMostBatchBytes, of_columns));
  plan.batches.given_bytes = std::min(plan.batches.read_bytes, std::max(kGivenBytes, of_columns));
  const std::uint64_t writing =
      std::max(std::min(usable / kWritingPart, kMostWritingBytes), needs.written_rows());
  // A batch of IPC is read as a whole, however large it is: it gets what is there.
  const std::uint64_t reading =
      format == module_table::Format::parquet
          ? needs.reading_bytes + kBatches * plan.batches.read_bytes + needs.row_bytes
          : usable / kWritingPart;
  const std::uint64_t all_writing = writing + needs.waiting_rows();
  const std::uint64_t both =
      reads_while_writing ? reading + all_writing : std::max(reading, all_writing);
  plan.module_bytes = std::max(both, kLeastModuleBytes);
  plan.writing_bytes = reads_while_writing ? writing : plan.module_bytes - needs.waiting_rows();
  const std::uint64_t engine = std::max(kLeastEngineBytes, needs.sorted_rows());
  if (usable < plan.module_bytes + engine) return std::nullopt;
  plan.engine_bytes = usable - plan.module_bytes;
  return plan;
}

}  // namespace

std::uint64_t memory_for_metadata(std::uint64_t memory_bytes) {
  return std::max(memory_bytes, kLeastEngineBytes);
}

ColumnFileMemory plan_column_memory(std::uint64_t memory_bytes, module_table::Format format,
                                    std::span<const module_table::SourceFacts> sources) {
  const bool reads_while_writing = sources.size() > 1;
  Needs needs;
  for (const module_table::SourceFacts& facts : sources) {
    needs.reading_bytes += facts.reading_bytes + facts.metadata_bytes;
    needs.columns += facts.columns;
    needs.row_bytes += facts.row_bytes;
    needs.all_row_bytes += facts.all_row_bytes;
  }
  if (const auto plan = divide(memory_bytes, needs, format, reads_while_writing)) return *plan;
  const auto enough = least_memory(memory_bytes + 1, [&](std::uint64_t memory) {
    return divide(memory, needs, format, reads_while_writing).has_value();
  });
  throw Error(ErrorCode::no_space,
              memory_given(memory_bytes) + " is too little to read and sort these files: " +
                  (enough ? memory_to_give(*enough) + " would do" : "they are too large"));
}

void rethrow_failure(std::uint64_t memory_bytes, module_table::Format format,
                     std::span<ColumnSource* const> sources) {
  std::vector<module_table::SourceFacts> facts;
  bool lacks_memory = false;
  for (const ColumnSource* const source : sources) {
    facts.push_back(source->facts());
    lacks_memory |= facts.back().lacks_memory != 0;
  }
  try {
    for (ColumnSource* const source : sources) source->rethrow();
  } catch (const Error& error) {
    if (!lacks_memory) throw;
    std::uint64_t needed = 0;  // a batch of each may be there
    for (ColumnSource* const source : sources) needed += source->largest_batch();
    std::optional<std::uint64_t> enough;
    if (needed > 0) {
      enough = least_memory(memory_bytes + 1, [&](std::uint64_t memory) {
        try {
          return plan_column_memory(memory, format, facts).module_bytes >= needed;
        } catch (const Error&) {
          return false;
        }
      });
    }
    throw Error(error.code(),
                std::string(error.what()) + ": " +
                    (enough ? memory_advice(enough) : "give a larger " + memory_name()));
  }
}

}  // namespace xxl
