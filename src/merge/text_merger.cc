#include "merge/text_merger.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "merge/prefetch_schedule.h"

namespace xxl {
namespace {

// A cell whose blocks take up more of the memory for blocks is streamed.
constexpr std::size_t kMostOfMemory = 3;  // quarters

bool is_below(std::string_view record, std::string_view boundary, const KeyExtractor& keys,
              std::string& made) {
  return key_of(keys, record, boundary.size() + 1, made) < boundary;
}

std::size_t blocks_in_scratch(const std::vector<MergeSource>& sources) {
  std::size_t blocks = 0;
  for (const MergeSource& source : sources) {
    if (source.run != nullptr) blocks += source.run->blocks.size();
  }
  return blocks;
}

}  // namespace

// The records of a part.
class TextMerger::CellPartCursor final : public RecordCursor {
 public:
  CellPartCursor(const MergeSource& source, const CellPart& part)
      : source_(source),
        at_(part.begin),
        end_(part.end),
        item_(part.first_item),
        last_item_(part.last_item) {}

  bool advance() override {
    if (source_.run == nullptr) {
      if (item_ == last_item_) return false;
      record_ = chunk_record(source_.resident.memory, source_.resident.items[item_++].place());
      return true;
    }
    if (at_ == end_) return false;
    record_ = coded_record(at_);
    at_ = record_.data() + record_.size();
    return true;
  }
  std::string_view record() const override { return record_; }

 private:
  const MergeSource& source_;
  const char* at_;
  const char* end_;
  std::size_t item_;
  std::size_t last_item_;
  std::string_view record_;
};

TextCells TextMerger::plan_cells(const std::vector<MergeSource>& sources,
                                 const std::vector<MergeSide>& sides, std::uint64_t cell_bytes) {
  std::vector<CellSample> samples;
  samples.reserve(blocks_in_scratch(sources));
  std::deque<std::string> made;  // keys of resident runs
  for (const MergeSource& source : sources) {
    if (source.run != nullptr) {
      const TextRun& run = *source.run;
      for (const TextBlock& block : run.blocks) {
        samples.push_back({run.trigger(block), block.bytes, block.whole_key});
      }
      continue;
    }
    const ResidentRun& run = source.resident;
    const KeyExtractor& keys = *sides[source.side].keys;
    const std::size_t n = run.items.size();
    if (n == 0) continue;
    // About 16 samples a cell, so that cells of several runs come out even.
    const std::size_t parts = std::clamp<std::size_t>(16 * run.bytes / cell_bytes, 1, n);
    std::string before;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t item = part * n / parts;
      std::string key;
      keys.append_key(chunk_record(run.memory, run.items[item].place()), kMaxTriggerBytes, key);
      bool whole = key.size() < kMaxTriggerBytes;
      bool separates = true;
      if (item > 0) {
        before.clear();
        keys.append_key(chunk_record(run.memory, run.items[item - 1].place()), kMaxTriggerBytes + 1,
                        before);
        const std::string_view cut = separator(before, key, separates);
        whole = whole && cut.size() == key.size();
        key.resize(cut.size());
      } else {
        key.resize(std::min(key.size(), kMaxTriggerBytes));
      }
      made.push_back(std::move(key));
      samples.push_back({made.back(), run.bytes / parts, whole});
    }
  }
  return TextCells(std::move(samples), cell_bytes);
}

TextMerger::TextMerger(std::vector<MergeSource> sources, std::vector<MergeSide> sides,
                       std::uint64_t cell_bytes, std::vector<CellWorkspace> workspaces,
                       BlockMemory& blocks, CellWork& work, Workers& workers, Monitor& monitor)
    : sources_(std::move(sources)),
      sides_(std::move(sides)),
      workspaces_(std::move(workspaces)),
      memory_(blocks),
      work_(work),
      workers_(workers),
      monitor_(monitor),
      cells_(plan_cells(sources_, sides_, cell_bytes)),
      cell_(cells_.count()) {
  // A join: sources are in the order of their sides.
  std::stable_sort(sources_.begin(), sources_.end(),
                   [](const MergeSource& a, const MergeSource& b) { return a.side < b.side; });
  list_blocks();
  plan_fetches(choose_streamed());
}

// Finds out which blocks lie in which cells.
void TextMerger::list_blocks() {
  blocks_.reserve(blocks_in_scratch(sources_));
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    first_block_.push_back(blocks_.size());
    if (sources_[source].run == nullptr) continue;
    const auto ranges = cell_ranges(cells_, *sources_[source].run);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      MergeBlock& block = blocks_.emplace_back();
      block.source = static_cast<std::uint32_t>(source);
      block.index = static_cast<std::uint32_t>(i);
      block.cells = ranges[i];
    }
  }
  first_block_.push_back(blocks_.size());
}

// Finds out which cells can be held. Returns what the blocks of the largest of these take.
std::size_t TextMerger::choose_streamed() {
  std::vector<std::int64_t> bytes(cells_.count() + 1);  // differences of what a cell needs
  for (const MergeBlock& block : blocks_) {
    const auto size = static_cast<std::int64_t>(buffer_bytes(block));
    bytes[block.cells.first] += size;
    bytes[block.cells.last + 1] -= size;
  }
  std::int64_t needed = 0, most_held = 0;
  const auto most = static_cast<std::int64_t>(memory_.extents().total_bytes() / 4 * kMostOfMemory);
  for (std::size_t cell = 0; cell < cell_.size(); ++cell) {
    needed += bytes[cell];
    if (needed <= most) {
      most_held = std::max(most_held, needed);
      continue;
    }
    cell_[cell].kind = CellKind::streamed;
    streamed_.push_back(cell);
  }
  return static_cast<std::size_t>(most_held);
}

// The first one that waits for `block`.
std::uint32_t TextMerger::first_sorted_cell(const MergeBlock& block) const {
  std::uint32_t cell = block.cells.first;
  while (cell_[cell].kind == CellKind::streamed) ++cell;
  return cell;
}

// The order of need is that of the first cell that waits for a block. Cells that are streamed read
// their blocks themselves. `held`: what the blocks of a cell take at most, whose memory the
// schedule must not count on.
void TextMerger::plan_fetches(std::size_t held) {
  std::size_t bytes = 0;
  needed_.reserve(blocks_.size());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    MergeBlock& block = blocks_[i];
    for (std::uint32_t cell = block.cells.first; cell <= block.cells.last; ++cell) {
      if (cell_[cell].kind == CellKind::streamed) continue;
      ++block.users;
      ++cell_[cell].missing;
    }
    if (block.users == 0) continue;
    needed_.push_back(static_cast<std::uint32_t>(i));
    bytes += buffer_bytes(block);
  }
  std::sort(needed_.begin(), needed_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t x = first_sorted_cell(blocks_[a]), y = first_sorted_cell(blocks_[b]);
    return x != y ? x < y : a < b;
  });
  unsigned disks = 1;
  for (const MergeSide& side : sides_) {
    if (side.scratch != nullptr) disks = std::max(disks, side.scratch->disks());
  }
  const std::size_t spare = memory_.extents().total_bytes() - held;
  const std::size_t two_a_disk = needed_.empty() ? 0 : 2 * disks * bytes / needed_.size();
  const std::size_t scheduled = std::min(scheduled_buffers(spare, two_a_disk), spare);
  order_.emplace([this, at = std::size_t{0}]() mutable { return next_needed(at); }, disks,
                 std::max<std::size_t>(scheduled / kSectorBytes, 1));
}

// Nothing of what lies behind a streamed cell is fetched before that is done.
std::optional<NeededBlock> TextMerger::next_needed(std::size_t& at) const {
  if (at == needed_.size()) return std::nullopt;
  const MergeBlock& block = blocks_[needed_[at]];
  if (streamed_done_ < streamed_.size() && first_sorted_cell(block) > streamed_[streamed_done_]) {
    return std::nullopt;
  }
  ++at;
  const TextRun& run = *sources_[block.source].run;
  return NeededBlock{{block.source, block.index},
                     run.place(run.blocks[block.index]).disk,
                     static_cast<std::uint32_t>(buffer_bytes(block) / kSectorBytes)};
}

void TextMerger::run(const std::function<void(std::uint64_t)>& on_progress) {
  advance();
  try {
    std::uint64_t reported = 0;
    for (;;) {
      std::uint64_t done;
      bool finished;
      {
        auto lock = monitor_.lock();
        const auto is_finished = [&] {
          return cells_done_ == cell_.size() || (has_enough_ && cells_done_ == next_cell_);
        };
        monitor_.wait(lock, [&] { return is_finished() || bytes_done_ != reported; });
        finished = is_finished();
        done = bytes_done_;
      }
      on_progress(done - reported);
      reported = done;
      if (finished) break;
    }
  } catch (const Monitor::Abandoned&) {
  }
  monitor_.check();
}

// Starts whatever can be started: fetches while there is memory, cells that are complete.
void TextMerger::advance() {
  std::vector<std::uint32_t> fetches;
  {
    auto lock = monitor_.lock();
    if (has_enough_) return;
    fetches = take_fetches();
    reads_ += fetches.size();
    for (; next_cell_ < cell_.size(); ++next_cell_) {
      const std::size_t cell = next_cell_;
      const bool streamed = cell_[cell].kind == CellKind::streamed;
      // A streamed cell runs alone: it has all the free memory.
      const bool after_streamed = cell > 0 && cell_[cell - 1].kind == CellKind::streamed;
      if ((streamed || after_streamed) && cells_done_ < cell) break;
      if (cell_[cell].missing > 0) break;
      // With the lock held, so that workers get the cells in order: a later one waits for the
      // turn of an earlier one.
      workers_.run([this, cell, streamed, token = in_flight_.begin()](unsigned thread) mutable {
        monitor_.guard([&] {
          streamed ? stream_cell(cell) : merge_cell(cell, thread);
          cell_done(cell);
        });
        token.reset();
      });
    }
  }
  for (const std::uint32_t block : fetches) fetch(block);
}

// With the lock held: blocks to be fetched now; they have buffers.
std::vector<std::uint32_t> TextMerger::take_fetches() {
  std::vector<std::uint32_t> fetches;
  while (!order_->finished()) {
    const BlockRef ref = order_->front();
    const std::size_t index = first_block_[ref.run] + ref.block;
    MergeBlock& block = blocks_[index];
    const std::size_t bytes = buffer_bytes(block);
    std::byte* buffer = memory_.extents().take(bytes);
    const bool own =
        buffer == nullptr && reads_ == 0 && fetches.empty() && cells_done_ == next_cell_;
    if (own) {
      // The free memory is fragmented, and no more will become free: rare, as it takes blocks of
      // different sizes; rather allocate a little more than give up.
      memory_.extents().drop_pages();
      buffer = static_cast<std::byte*>(std::aligned_alloc(kSectorBytes, bytes));
      if (buffer == nullptr) throw Error(ErrorCode::no_space, "out of memory for a block");
    }
    if (buffer == nullptr) break;
    block.loaded = std::make_unique<Loaded>();
    block.loaded->buffer = buffer;
    if (own) block.loaded->own_memory.reset(buffer);
    fetches.push_back(static_cast<std::uint32_t>(index));
    order_->next();
  }
  return fetches;
}

// With the lock held.
void TextMerger::give_back(MergeBlock& block) {
  if (block.loaded->own_memory == nullptr) {
    memory_.extents().give_back(block.loaded->buffer, buffer_bytes(block));
  }
  block.loaded.reset();
  bytes_done_ += sources_[block.source].run->blocks[block.index].bytes;
}

void TextMerger::fetch(std::size_t index) {
  const MergeBlock& block = blocks_[index];
  const MergeSource& source = sources_[block.source];
  side_of(source).scratch->read(*source.run, block.index, block.loaded->buffer,
                                [this, index, token = in_flight_.begin()] {
                                  workers_.run([this, index, token](unsigned) mutable {
                                    monitor_.guard([&] { arrived(index); });
                                    token.reset();
                                  });
                                });
}

// Where in `buffer`, at `from` or later, the records from `boundary` on begin.
std::size_t TextMerger::cut(const MergeSource& source, const MergeBlock& block,
                            const std::byte* buffer, std::string_view boundary, std::size_t from,
                            std::vector<std::uint32_t>& starts) const {
  const std::size_t bytes = source.run->blocks[block.index].bytes;
  const char* const data = reinterpret_cast<const char*>(buffer);
  if (starts.empty()) {
    for (const char* at = data; at < data + bytes;) {
      starts.push_back(static_cast<std::uint32_t>(at - data));
      const std::string_view record = coded_record(at);
      at = record.data() + record.size();
    }
  }
  const KeyExtractor& keys = *side_of(source).keys;
  std::string made;
  const auto first = std::lower_bound(starts.begin(), starts.end(), from);
  const auto it = std::partition_point(first, starts.end(), [&](std::uint32_t start) {
    return is_below(coded_record(data + start), boundary, keys, made);
  });
  return it == starts.end() ? bytes : *it;
}

// Checks a block, finds its cuts, and wakes the cells it lies in.
void TextMerger::arrived(std::size_t index) {
  MergeBlock& block = blocks_[index];
  const MergeSource& source = sources_[block.source];
  side_of(source).scratch->open(*source.run, block.index, block.loaded->buffer);
  if (block.cells.first < block.cells.last) {
    thread_local std::vector<std::uint32_t> starts;
    starts.clear();
    std::size_t at = 0;
    for (std::size_t cell = block.cells.first + 1; cell <= block.cells.last; ++cell) {
      at = cut(source, block, block.loaded->buffer, cells_.lower(cell), at, starts);
      block.loaded->cuts.push_back(static_cast<std::uint32_t>(at));
    }
  }
  {
    auto lock = monitor_.lock();
    --reads_;
    for (std::size_t cell = block.cells.first; cell <= block.cells.last; ++cell) {
      if (cell_[cell].kind == CellKind::sorted) --cell_[cell].missing;
    }
  }
  advance();
}

// First item of a resident run that is not below `boundary`.
std::size_t TextMerger::resident_cut(const MergeSource& source, std::string_view boundary) const {
  const ResidentRun& run = source.resident;
  const KeyExtractor& keys = *side_of(source).keys;
  std::string made;
  const auto it = std::partition_point(run.items.begin(), run.items.end(), [&](const auto& item) {
    return is_below(chunk_record(run.memory, item.place()), boundary, keys, made);
  });
  return static_cast<std::size_t>(it - run.items.begin());
}

// The records of `cell`, in the order of the runs.
std::vector<TextMerger::CellPart> TextMerger::parts_of(std::size_t cell) {
  std::vector<CellPart> parts;
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    CellPart part;
    part.source = static_cast<std::uint32_t>(source);
    if (sources_[source].run == nullptr) {
      const ResidentRun& run = sources_[source].resident;
      part.first_item = cell == 0 ? 0 : resident_cut(sources_[source], cells_.lower(cell));
      part.last_item = cells_.has_upper(cell) ? resident_cut(sources_[source], cells_.upper(cell))
                                              : run.items.size();
      if (part.first_item < part.last_item) parts.push_back(part);
      continue;
    }
    const auto blocks = blocks_of(source);
    // Blocks of a run are in order of their cells: skip to the first one that reaches this cell.
    const auto first =
        std::partition_point(blocks.begin(), blocks.end(),
                             [&](const MergeBlock& block) { return block.cells.last < cell; });
    for (auto it = first; it != blocks.end() && it->cells.first <= cell; ++it) {
      const char* const data = reinterpret_cast<const char*>(it->loaded->buffer);
      const std::size_t bytes = sources_[source].run->blocks[it->index].bytes;
      part.begin =
          data + (cell == it->cells.first ? 0 : it->loaded->cuts[cell - it->cells.first - 1]);
      part.end = data + (cell == it->cells.last ? bytes : it->loaded->cuts[cell - it->cells.first]);
      if (part.begin < part.end) parts.push_back(part);
    }
  }
  return parts;
}

// Makes items of the records, as many as fit.
TextMerger::Load TextMerger::load_items(std::span<const CellPart> parts,
                                        std::span<StringItem> items) const {
  Load load;
  for (const CellPart& part : parts) {
    if (sources_[part.source].run == nullptr) {
      const ResidentRun& run = sources_[part.source].resident;
      if (part.last_item - part.first_item > items.size() - load.records) return {0, 0, false};
      for (std::size_t item = part.first_item; item < part.last_item; ++item) {
        items[load.records++].ref = CellAccess::resident_place(part.source, item);
        load.bytes += (run.items[item].place() >> 32) + 1;
      }
      continue;
    }
    for (const char* at = part.begin; at < part.end;) {
      if (load.records == items.size()) return {0, 0, false};
      items[load.records++].ref = CellAccess::coded_place(at);
      const std::string_view record = coded_record(at);
      load.bytes += record.size() + 1;
      at = record.data() + record.size();
    }
  }
  return load;
}

// Those of one side: parts are in the order of sources, and these in the order of sides.
std::span<const TextMerger::CellPart> TextMerger::parts_of_side(const std::vector<CellPart>& parts,
                                                                std::size_t side) const {
  const auto is_before = [&](std::size_t bound) {
    return [this, bound](const CellPart& part) { return sources_[part.source].side < bound; };
  };
  const auto begin = std::partition_point(parts.begin(), parts.end(), is_before(side));
  const auto end = std::partition_point(begin, parts.end(), is_before(side + 1));
  return {begin, end};
}

// Sorts each side of a cell. False if there is no room for the items.
bool TextMerger::sort_cell(std::size_t cell, const std::vector<CellPart>& parts,
                           CellWorkspace& workspace, std::vector<CellRecords>& records) const {
  const CellAccess access{sources_.data()};
  std::span<StringItem> free = workspace.items;
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    const std::span<const CellPart> from = parts_of_side(parts, side);
    const Load load = load_items(from, free);
    if (!load.fits) return false;
    const std::span<StringItem> items = free.first(load.records);
    free = free.subspan(load.records);
    records.push_back({access, items, load.bytes});
  }
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    const std::span<const CellPart> from = parts_of_side(parts, side);
    // The items are the workspace's.
    const std::span<StringItem> items(const_cast<StringItem*>(records[side].items.data()),
                                      records[side].size());
    if (from.size() == 1 && sources_[from[0].source].run == nullptr) {
      // In order already, and marked.
      const ResidentRun& run = sources_[from[0].source].resident;
      for (std::size_t i = 1; i < items.size(); ++i) {
        items[i].ref |= run.items[from[0].first_item + i].ref & StringItem::kSameKey;
      }
    } else {
      StringSorter<CellAccess> sorter(access, *sides_[side].keys, workspace.scratch,
                                      workspace.key_memory);
      sorter.sort(items, cells_.common_prefix(cell));
    }
  }
  return true;
}

RecordMerge TextMerger::merge_parts(std::span<const CellPart> parts, std::size_t side) const {
  std::vector<std::unique_ptr<RecordCursor>> cursors;
  for (const CellPart& part : parts) {
    cursors.push_back(std::make_unique<CellPartCursor>(sources_[part.source], part));
  }
  return RecordMerge(std::move(cursors), *sides_[side].keys, work_.marks_same());
}

void TextMerger::merge_cell(std::size_t cell, unsigned thread) {
  {
    auto lock = monitor_.lock();
    if (has_enough_) {
      lock.unlock();
      return work_.skip(cell);
    }
  }
  const std::vector<CellPart> parts = parts_of(cell);
  bool more;
  std::vector<CellRecords> records;
  if (sort_cell(cell, parts, workspaces_[thread], records)) {
    more = work_.take(cell, records);
  } else {
    std::vector<RecordMerge> merges;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      merges.push_back(merge_parts(parts_of_side(parts, side), side));
    }
    more = work_.stream(cell, merges);
  }
  if (more) return;
  auto lock = monitor_.lock();
  has_enough_ = true;
}

// The records of a cell in one run.
class TextMerger::BlockCursor final : public RunCursor {
 public:
  BlockCursor(TextMerger& merger, std::size_t source, std::size_t cell)
      : RunCursor(*merger.sources_[source].run, *merger.side_of(merger.sources_[source]).scratch,
                  merger.memory_),
        merger_(merger),
        source_(source),
        cell_(cell) {
    const auto blocks = merger.blocks_of(source);
    const auto first = std::partition_point(
        blocks.begin(), blocks.end(), [&](const MergeBlock& b) { return b.cells.last < cell; });
    const auto last = std::partition_point(
        first, blocks.end(), [&](const MergeBlock& b) { return b.cells.first <= cell; });
    set_blocks(static_cast<std::size_t>(first - blocks.begin()),
               static_cast<std::size_t>(last - blocks.begin()));
  }

 private:
  void trim(std::size_t index, const std::byte* buffer, std::size_t& begin,
            std::size_t& end) override {
    const MergeBlock& block = merger_.blocks_of(source_)[index];
    const MergeSource& source = merger_.sources_[source_];
    std::vector<std::uint32_t> starts;
    if (block.cells.first < cell_) {
      begin = merger_.cut(source, block, buffer, merger_.cells_.lower(cell_), 0, starts);
    }
    if (block.cells.last > cell_) {
      end = merger_.cut(source, block, buffer, merger_.cells_.upper(cell_), begin, starts);
    }
  }

  TextMerger& merger_;
  std::size_t source_;
  std::size_t cell_;
};

void TextMerger::stream_cell(std::size_t cell) {
  std::vector<std::vector<std::unique_ptr<RecordCursor>>> cursors(sides_.size());
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    auto& of_side = cursors[sources_[source].side];
    if (sources_[source].run != nullptr) {
      of_side.push_back(std::make_unique<BlockCursor>(*this, source, cell));
      continue;
    }
    const ResidentRun& run = sources_[source].resident;
    CellPart part;
    part.first_item = cell == 0 ? 0 : resident_cut(sources_[source], cells_.lower(cell));
    part.last_item = cells_.has_upper(cell) ? resident_cut(sources_[source], cells_.upper(cell))
                                            : run.items.size();
    of_side.push_back(std::make_unique<CellPartCursor>(sources_[source], part));
  }
  std::vector<RecordMerge> merges;
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    merges.emplace_back(std::move(cursors[side]), *sides_[side].keys, work_.marks_same());
  }
  if (work_.stream(cell, merges)) return;
  auto lock = monitor_.lock();
  has_enough_ = true;
}

void TextMerger::cell_done(std::size_t cell) {
  {
    auto lock = monitor_.lock();
    if (cell_[cell].kind == CellKind::sorted) {
      for (std::size_t source = 0; source < sources_.size(); ++source) {
        if (sources_[source].run == nullptr) continue;
        const auto blocks = blocks_of(source);
        const auto first =
            std::partition_point(blocks.begin(), blocks.end(),
                                 [&](const MergeBlock& block) { return block.cells.last < cell; });
        for (auto it = first; it != blocks.end() && it->cells.first <= cell; ++it) {
          if (--it->users == 0) give_back(*it);
        }
      }
    } else {
      ++streamed_done_;
    }
    ++cells_done_;
  }
  monitor_.notify();
  advance();
}

}  // namespace xxl
