// Merges runs of text into the output, cell by cell. See docs/text.md.
//
// All blocks are fetched in the order of the first cell that needs them. A cell whose blocks are
// there is sorted by a worker; several workers have one each, and wait for their turn only to
// reserve their place in the output. A cell that cannot be held is merged record by record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/in_flight.h"
#include "base/monitor.h"
#include "base/workers.h"
#include "merge/record_emitter.h"
#include "merge/record_merge.h"
#include "merge/run_cursor.h"
#include "merge/text_cells.h"
#include "record/key_extractor.h"
#include "run/text_output.h"
#include "run/text_run.h"
#include "run/text_scratch.h"
#include "sort/string_sort.h"

namespace xxl {

// A sorted run that is still in memory: items in order, places as chunk_place() has them.
struct ResidentRun {
  const char* memory = nullptr;
  std::span<const StringItem> items;
  std::uint64_t bytes = 0;
};

// A record of a chunk as the place of an item.
inline std::uint64_t chunk_place(std::size_t offset, std::size_t length) {
  return offset | std::uint64_t{length} << 32;
}
inline std::string_view chunk_record(const char* memory, std::uint64_t place) {
  return {memory + (place & 0xffffffffu), static_cast<std::size_t>(place >> 32)};
}

// A run of either kind; the order of sources is that of the input.
struct MergeSource {
  TextRun* run = nullptr;  // in scratch, or:
  ResidentRun resident;
};

struct TextMergeOptions {
  char terminator = '\n';
  EmitRules rules;
};

// Memory of one worker for sorting a cell.
struct CellWorkspace {
  std::span<StringItem> items;
  std::span<StringItem> scratch;
  std::span<std::byte> key_memory;
};

class TextMerger {
 public:
  // All references must outlive the merger. `blocks`: memory for blocks. `first_ticket`: of the
  // output.
  TextMerger(std::vector<MergeSource> sources, const KeyExtractor& keys,
             const TextMergeOptions& options, std::uint64_t cell_bytes,
             std::vector<CellWorkspace> workspaces, BlockMemory& blocks, TextScratch* scratch,
             TextOutput& output, std::uint64_t first_ticket, Workers& workers, Monitor& monitor);

  // Merges everything. Throws the first failure. `on_progress` is called with bytes done.
  void run(const std::function<void(std::uint64_t)>& on_progress);

  const TextTotals& totals() const { return totals_; }
  std::size_t cells() const { return cells_.count(); }

 private:
  enum class CellKind : std::uint8_t { sorted, streamed };
  struct Block {
    std::uint32_t source;
    std::uint32_t index;
    CellRange cells;
    std::uint32_t users = 0;  // cells that have still to read it
    std::byte* buffer = nullptr;
    std::unique_ptr<std::byte, decltype(&std::free)> own_memory{
        nullptr, &std::free};         // if it is
                                      // not of the memory for blocks
    std::vector<std::uint32_t> cuts;  // where its cells after the first begin
  };
  struct Cell {
    CellKind kind = CellKind::sorted;
    std::uint32_t missing = 0;  // blocks
  };
  // Records of one run in one cell.
  struct Slice {
    std::uint32_t source;
    const char* begin = nullptr;  // coded records of a block, or:
    const char* end = nullptr;
    std::size_t first_item = 0;  // of a resident run
    std::size_t last_item = 0;
  };
  struct Access;
  class SliceCursor;
  class BlockCursor;

  static TextCells plan_cells(const std::vector<MergeSource>& sources, const KeyExtractor& keys,
                              std::uint64_t cell_bytes);
  void plan_blocks();
  std::span<Block> blocks_of(std::size_t source) {
    return std::span(blocks_).subspan(first_block_[source],
                                      first_block_[source + 1] - first_block_[source]);
  }
  void advance();
  std::vector<std::size_t> take_fetches();
  void fetch(std::size_t block);
  void arrived(std::size_t block);
  void cell_done(std::size_t cell);

  std::size_t cut(const MergeSource& source, const Block& block, const std::byte* buffer,
                  std::string_view boundary, std::size_t from,
                  std::vector<std::uint32_t>& starts) const;
  bool is_below(std::string_view record, std::string_view boundary, std::string& made) const;
  std::size_t resident_cut(const ResidentRun& run, std::string_view boundary) const;
  std::vector<Slice> slices_of(std::size_t cell);
  void merge_cell(std::size_t cell, unsigned thread);
  void stream_cell(std::size_t cell);
  // What a cell's records are.
  struct Load {
    std::size_t records = 0;
    std::uint64_t bytes = 0;  // in the output, terminators included
    bool fits = true;
  };
  Load load_items(const std::vector<Slice>& slices, std::span<StringItem> items) const;
  void emit_items(std::size_t cell, std::span<const StringItem> items, std::uint64_t bytes,
                  const Access& access);
  void give_back(Block& block);
  void emit_merge(std::size_t cell, RecordMerge& merge);
  std::uint64_t records_left();
  void settle(const TextTotals& totals);

  std::vector<MergeSource> sources_;
  const KeyExtractor& keys_;
  const TextMergeOptions& options_;
  std::vector<CellWorkspace> workspaces_;
  BlockMemory& memory_;
  TextScratch* scratch_;
  TextOutput& output_;
  std::uint64_t first_ticket_;
  Workers& workers_;
  Monitor& monitor_;
  TextCells cells_;
  std::vector<Cell> cell_;
  std::vector<Block> blocks_;             // in the order of sources, then of their runs
  std::vector<std::size_t> first_block_;  // of each source
  std::vector<std::size_t> fetch_order_;
  std::vector<std::size_t> streamed_;  // cells

  // With the monitor's lock:
  std::size_t next_fetch_ = 0;
  std::size_t next_cell_ = 0;  // to be given to a worker
  std::size_t cells_done_ = 0;
  std::size_t streamed_done_ = 0;
  std::size_t reads_ = 0;  // fetches that have not been checked
  std::uint64_t bytes_done_ = 0;
  bool limit_reached_ = false;
  TextTotals totals_;
  InFlight in_flight_;
};

}  // namespace xxl
