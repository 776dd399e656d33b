#include "merge/cell_contents.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "record/grouped_keys.h"

namespace xxl {
namespace {

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

// Coded records, one after the other.
class CodedCursor final : public RecordCursor {
 public:
  CodedCursor(const char* begin, const char* end) : at_(begin), end_(end) {}
  bool advance() override {
    if (at_ == end_) return false;
    record_ = coded_record(at_);
    at_ = record_.data() + record_.size();
    return true;
  }
  std::string_view record() const override { return record_; }

 private:
  const char* at_;
  const char* end_;
  std::string_view record_;
};

}  // namespace

// The records of a part.
std::unique_ptr<RecordCursor> CellContents::cursor_of(const CellPart& part) const {
  const MergeSource& source = sources_[part.source];
  if (source.run != nullptr) return std::make_unique<CodedCursor>(part.begin, part.end);
  ResidentRun run = source.resident;
  run.items = run.items.subspan(part.first_item, part.last_item - part.first_item);
  return std::make_unique<ResidentCursor>(run);
}

GeneralCells CellContents::plan_cells(const std::vector<MergeSource>& sources,
                                      const std::vector<MergeSide>& sides, std::uint64_t cell_bytes,
                                      const KeyRange& range) {
  std::vector<CellSample> samples;
  samples.reserve(blocks_in_scratch(sources));
  std::deque<std::string> made;  // keys of resident runs
  for (const MergeSource& source : sources) {
    if (source.run != nullptr) {
      const GeneralRun& run = *source.run;
      for (const GeneralBlock& block : run.blocks) {
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
  for (const MergeSide& side : sides) {
    if (side.keys->keys_of_groups() == nullptr) continue;
    // No group lies in two cells.
    for (CellSample& sample : samples) {
      sample.key = GroupedKeys::least_of_group(sample.key);
      sample.whole_key = false;
    }
    break;
  }
  return GeneralCells(std::move(samples), cell_bytes, range);
}

CellContents::CellContents(std::vector<MergeSource> sources, std::vector<MergeSide> sides,
                           std::uint64_t cell_bytes, const KeyRange& range)
    : sources_(std::move(sources)),
      sides_(std::move(sides)),
      cells_(plan_cells(sources_, sides_, cell_bytes, range)) {
  // A join: sources are in the order of their sides.
  std::stable_sort(sources_.begin(), sources_.end(),
                   [](const MergeSource& a, const MergeSource& b) { return a.side < b.side; });
  list_blocks();
}

// Finds out which blocks lie in which cells.
void CellContents::list_blocks() {
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

std::span<MergeBlock> CellContents::blocks_of(std::size_t source) {
  return std::span(blocks_).subspan(first_block_[source],
                                    first_block_[source + 1] - first_block_[source]);
}

// Blocks of a run are in order of their cells.
std::span<MergeBlock> CellContents::blocks_of(std::size_t source, std::size_t cell) {
  const auto blocks = blocks_of(source);
  const auto first =
      std::partition_point(blocks.begin(), blocks.end(),
                           [&](const MergeBlock& block) { return block.cells.last < cell; });
  const auto last = std::partition_point(
      first, blocks.end(), [&](const MergeBlock& block) { return block.cells.first <= cell; });
  return {first, last};
}

// Where in `buffer`, at `from` or later, the records from `boundary` on begin.
std::size_t CellContents::cut(const MergeBlock& block, const std::byte* buffer,
                              std::string_view boundary, std::size_t from,
                              std::vector<std::uint32_t>& starts) const {
  const std::size_t bytes = bytes_of(block);
  const char* const data = reinterpret_cast<const char*>(buffer);
  if (starts.empty()) {
    for (const char* at = data; at < data + bytes;) {
      starts.push_back(static_cast<std::uint32_t>(at - data));
      const std::string_view record = coded_record(at);
      at = record.data() + record.size();
    }
  }
  const KeyExtractor& keys = *side_of(sources_[block.source]).keys;
  std::string made;
  const auto first = std::lower_bound(starts.begin(), starts.end(), from);
  const auto it = std::partition_point(first, starts.end(), [&](std::uint32_t start) {
    return is_below(coded_record(data + start), boundary, keys, made);
  });
  return it == starts.end() ? bytes : *it;
}

void CellContents::find_cuts(MergeBlock& block) const {
  if (block.cells.first == block.cells.last) return;
  thread_local std::vector<std::uint32_t> starts;
  starts.clear();
  std::size_t at = 0;
  for (std::size_t cell = block.cells.first + 1; cell <= block.cells.last; ++cell) {
    at = cut(block, block.loaded->buffer, cells_.lower(cell), at, starts);
    block.loaded->cuts.push_back(static_cast<std::uint32_t>(at));
  }
}

// First item of a resident run that is in `cell` or behind it, at `from` or later. Steps of `step`,
// twice as long each time, find the range in which it is searched for.
std::size_t CellContents::resident_cut(const MergeSource& source, std::size_t cell,
                                       std::size_t from, std::size_t step) const {
  const std::span<const StringItem> items = source.resident.items;
  if (cell == 0) return 0;
  if (cell == cells()) return items.size();
  const KeyExtractor& keys = *side_of(source).keys;
  std::string made;
  const auto is_before = [&](const StringItem& item) {
    return is_below(chunk_record(source.resident.memory, item.place()), cells_.lower(cell), keys,
                    made);
  };
  std::size_t to = items.size();
  for (; step < items.size() - from; step *= 2) {
    if (!is_before(items[from + step])) {
      to = from + step;
      break;
    }
    from += step;
  }
  const auto range = items.subspan(from, to - from);
  const auto it = std::partition_point(range.begin(), range.end(), is_before);
  return from + static_cast<std::size_t>(it - range.begin());
}

CellContents::CellPart CellContents::resident_part(std::size_t source,
                                                   const CellSlice& slice) const {
  CellPart part;
  part.source = static_cast<std::uint32_t>(source);
  part.first_item =
      slice.from.empty() ? resident_cut(sources_[source], slice.cell) : slice.from[source];
  part.last_item =
      slice.to.empty() ? resident_cut(sources_[source], slice.cell + 1) : slice.to[source];
  return part;
}

std::vector<std::size_t> CellContents::first_items(std::size_t cell) const {
  std::vector<std::size_t> items;
  for (const MergeSource& source : sources_) items.push_back(resident_cut(source, cell));
  return items;
}

void CellContents::measure(
    std::size_t first, std::size_t last,
    const std::function<void(std::size_t, std::uint64_t, std::uint64_t)>& visit) const {
  std::vector<std::size_t> at = first_items(first);
  for (std::size_t cell = first; cell < last; ++cell) {
    std::uint64_t records = 0, bytes = 0;
    for (std::size_t source = 0; source < sources_.size(); ++source) {
      constexpr std::size_t kFirstStep = 16;  // cells hold few items of each of many runs
      const std::size_t end = resident_cut(sources_[source], cell + 1, at[source], kFirstStep);
      records += end - at[source];
      for (; at[source] < end; ++at[source]) {
        bytes += chunk_record_bytes(sources_[source].resident.items[at[source]].place());
      }
    }
    visit(cell, records, bytes);
  }
}

RunCut CellContents::cut_cell(const CellSlice& cell, std::ptrdiff_t extra_bytes,
                              const IsBehindCut& is_behind) const {
  std::vector<std::size_t> from(cell.from.begin(), cell.from.end());
  if (from.empty()) from = first_items(cell.cell);
  return cut_runs(sources_, *sides_[0].keys, std::move(from), first_items(cell.cell + 1),
                  extra_bytes, is_behind);
}

// The records of `slice`, in the order of the runs.
std::vector<CellContents::CellPart> CellContents::parts_of(const CellSlice& slice) {
  const std::size_t cell = slice.cell;
  std::vector<CellPart> parts;
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    if (sources_[source].run == nullptr) {
      const CellPart part = resident_part(source, slice);
      if (part.first_item < part.last_item) parts.push_back(part);
      continue;
    }
    for (const MergeBlock& block : blocks_of(source, cell)) {
      const char* const data = reinterpret_cast<const char*>(block.loaded->buffer);
      const std::vector<std::uint32_t>& cuts = block.loaded->cuts;
      CellPart part;
      part.source = static_cast<std::uint32_t>(source);
      part.begin = data + (cell == block.cells.first ? 0 : cuts[cell - block.cells.first - 1]);
      part.end =
          data + (cell == block.cells.last ? bytes_of(block) : cuts[cell - block.cells.first]);
      if (part.begin < part.end) parts.push_back(part);
    }
  }
  return parts;
}

// Makes items of the records, as many as fit.
CellContents::Load CellContents::load_items(std::span<const CellPart> parts,
                                            std::span<StringItem> items) const {
  Load load;
  for (const CellPart& part : parts) {
    if (sources_[part.source].run == nullptr) {
      const ResidentRun& run = sources_[part.source].resident;
      if (part.last_item - part.first_item > items.size() - load.records) return {0, 0, false};
      for (std::size_t item = part.first_item; item < part.last_item; ++item) {
        items[load.records++].ref = CellAccess::resident_place(part.source, item);
        load.bytes += chunk_record_bytes(run.items[item].place());
      }
      continue;
    }
    for (const char* at = part.begin; at < part.end;) {
      if (load.records == items.size()) return {0, 0, false};
      items[load.records++].ref = CellAccess::coded_place(at);
      const std::string_view record = coded_record(at);
      load.bytes += record.size();
      at = record.data() + record.size();
    }
  }
  return load;
}

// Those of one side: parts are in the order of sources, and these in the order of sides.
std::span<const CellContents::CellPart> CellContents::parts_of_side(
    const std::vector<CellPart>& parts, std::size_t side) const {
  const auto is_before = [&](std::size_t bound) {
    return [this, bound](const CellPart& part) { return sources_[part.source].side < bound; };
  };
  const auto begin = std::partition_point(parts.begin(), parts.end(), is_before(side));
  const auto end = std::partition_point(begin, parts.end(), is_before(side + 1));
  return {begin, end};
}

bool CellContents::take_cell(const CellSlice& cell, const CellWorkspace& workspace,
                             std::size_t number, CellWork& work) {
  const std::vector<CellPart> parts = parts_of(cell);
  std::vector<CellRecords> records;
  std::vector<std::span<StringItem>> items;  // of each side
  std::span<StringItem> free = workspace.items;
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    const Load load = load_items(parts_of_side(parts, side), free);
    if (!load.fits) {
      std::vector<RecordMerge> merges = merge_held(cell, work.marks_same());
      return work.stream(number, merges);
    }
    items.push_back(free.first(load.records));
    free = free.subspan(load.records);
    records.push_back({{sources_.data()}, items.back(), load.bytes});
  }
  return work.take(number, records, [&] {
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      sort_side(cell, side, parts_of_side(parts, side), items[side], workspace);
    }
  });
}

void CellContents::sort_side(const CellSlice& cell, std::size_t side,
                             std::span<const CellPart> parts, std::span<StringItem> items,
                             const CellWorkspace& workspace) const {
  if (parts.size() == 1 && sources_[parts[0].source].run == nullptr) {
    // In order already, and marked.
    const ResidentRun& run = sources_[parts[0].source].resident;
    for (std::size_t i = 1; i < items.size(); ++i) {
      items[i].ref |= run.items[parts[0].first_item + i].ref & StringItem::kSameKey;
    }
    return;
  }
  const CellAccess access{sources_.data()};
  StringSorter<CellAccess> sorter(access, *sides_[side].keys, workspace.scratch,
                                  workspace.key_memory);
  sorter.sort(items, cells_.common_prefix(cell.cell));
}

// The records of a cell in one run. A block that reaches into the cell from one before it, and out
// of it, is loaded: two copies of a long record would not fit.
class CellContents::BlockCursor final : public RunCursor {
 public:
  BlockCursor(CellContents& contents, std::size_t source, std::size_t cell, BlockMemory& memory)
      : RunCursor(*contents.sources_[source].run,
                  *contents.side_of(contents.sources_[source]).scratch, memory),
        contents_(contents),
        source_(source),
        cell_(cell) {
    const auto blocks = contents.blocks_of(source, cell);
    const auto first = static_cast<std::size_t>(blocks.data() - contents.blocks_of(source).data());
    set_blocks(first, first + blocks.size());
  }

 private:
  std::byte* loaded(std::size_t index) override {
    const MergeBlock& block = contents_.blocks_of(source_)[index];
    return block.loaded != nullptr ? block.loaded->buffer : nullptr;
  }
  void trim(std::size_t index, const std::byte* buffer, std::size_t& begin,
            std::size_t& end) override {
    const MergeBlock& block = contents_.blocks_of(source_)[index];
    std::vector<std::uint32_t> starts;
    if (block.cells.first < cell_) {
      begin = contents_.cut(block, buffer, contents_.cells_.lower(cell_), 0, starts);
    }
    if (block.cells.last > cell_) {
      end = contents_.cut(block, buffer, contents_.cells_.upper(cell_), begin, starts);
    }
  }

  CellContents& contents_;
  std::size_t source_;
  std::size_t cell_;
};

std::vector<RecordMerge> CellContents::merge_held(const CellSlice& cell, bool marks_same) {
  const std::vector<CellPart> parts = parts_of(cell);
  std::vector<RecordMerge> merges;
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    std::vector<std::unique_ptr<RecordCursor>> cursors;
    for (const CellPart& part : parts_of_side(parts, side)) {
      cursors.push_back(cursor_of(part));
    }
    merges.emplace_back(std::move(cursors), *sides_[side].keys, marks_same);
  }
  return merges;
}

std::vector<RecordMerge> CellContents::merge_streamed(std::size_t cell, bool marks_same,
                                                      BlockMemory& memory) {
  std::vector<std::vector<std::unique_ptr<RecordCursor>>> cursors(sides_.size());
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    auto& of_side = cursors[sources_[source].side];
    if (sources_[source].run != nullptr) {
      of_side.push_back(std::make_unique<BlockCursor>(*this, source, cell, memory));
    } else {
      of_side.push_back(cursor_of(resident_part(source, {cell})));
    }
  }
  std::vector<RecordMerge> merges;
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    merges.emplace_back(std::move(cursors[side]), *sides_[side].keys, marks_same);
  }
  return merges;
}

}  // namespace xxl
