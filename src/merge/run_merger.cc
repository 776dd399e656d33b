#include "merge/run_merger.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "io/input_checks.h"
#include "merge/prefetch_schedule.h"
#include "run/file_run.h"

namespace xxl {
namespace {

// Pieces given to the workers at once, for each of them: enough for the time until the coordinator
// runs again.
constexpr std::size_t kPiecesRunning = 8;

bool has_cells(const std::vector<Run>& runs) {
  return std::any_of(runs.begin(), runs.end(),
                     [](const Run& run) { return run.cells.has_value(); });
}

const CellGrid* common_grid(const std::vector<Run>& runs) {
  const auto grid_of = [](const Run& run) { return run.cells ? &run.cells->grid() : nullptr; };
  const bool common = !runs.empty() && std::all_of(runs.begin(), runs.end(), [&](const Run& run) {
    return grid_of(run) == grid_of(runs.front());
  });
  return common ? grid_of(runs.front()) : nullptr;
}

std::vector<std::uint64_t> records_of_cells(const CellGrid* grid, const std::vector<Run>& runs) {
  std::vector<std::uint64_t> records(grid == nullptr ? 1 : grid->cells());
  for (const Run& run : runs) {
    if (grid == nullptr) {
      records.front() += run.records;
      continue;
    }
    for (std::size_t cell = 0; cell < records.size(); ++cell) {
      records[cell] += run.cells->records(cell);
    }
  }
  return records;
}

}  // namespace

std::size_t RunMerger::blocks_held(const std::vector<Run>& runs, std::size_t piece_capacity) {
  const CellGrid* grid = common_grid(runs);
  const std::vector<std::uint64_t> cell_records = records_of_cells(grid, runs);
  std::vector<std::size_t> held(cell_records.size());
  std::size_t held_apart = 0;  // when each run is sorted cell by cell, independently
  for (const Run& run : runs) {
    std::size_t most = 1;
    for (std::size_t cell = 0; run.cells && cell < run.cells->grid().cells(); ++cell) {
      const auto blocks = static_cast<std::size_t>(
          ceil_div<std::uint64_t>(run.cells->records(cell), run.records_per_block) + 1);
      if (!run.cells->is_sorted(cell)) most = std::max(most, blocks);
      if (grid == nullptr) continue;
      const bool whole = cell_records[cell] <= piece_capacity || !run.cells->is_sorted(cell);
      held[cell] += whole ? blocks : 1;
    }
    held_apart += most;
  }
  if (grid == nullptr) return held_apart;
  return *std::max_element(held.begin(), held.end());
}

RunMerger::RunMerger(const MergeContext& context, const std::vector<Run>& runs,
                     io::BufferPool& blocks, OutputStage& output)
    : context_(context),
      runs_(runs),
      blocks_(blocks),
      output_(output),
      order_(predicted_blocks(runs, triggers_are_exact(context.layout)),
             context.store == nullptr ? 1 : context.store->disks(),
             [&] {
               const std::size_t disks = context.store == nullptr ? 1 : context.store->disks();
               const std::size_t held = blocks_held(runs, context.piece_capacity);
               XXL_CHECK(blocks.count() > held);
               const std::size_t spare = blocks.count() - held;
               const std::size_t wanted = scheduled_buffers(spare, 2 * disks);
               // With no more than are spare, no block must ever be dropped. What was sorted in
               // memory cannot be: it would be read again as it was before.
               return has_cells(runs) ? std::min(wanted, spare) : wanted;
             }()),
      states_(runs.size()),
      grid_(common_grid(runs)),
      cell_records_(records_of_cells(grid_, runs)) {
  XXL_CHECK(blocks.count() > runs.size() && runs.size() <= context.piece_records);
  for (const Run& run : runs) total_ += run.records;
  if (context.keeper == nullptr) return;
  XXL_CHECK(grid_ != nullptr);
  for (std::size_t cell = 0; cell < cell_records_.size(); ++cell) {
    const std::uint64_t kept = context.keeper->kept_records(cell);
    cell_records_[cell] += kept;
    total_ += kept;
    XXL_CHECK(kept == 0 || takes_whole(cell));
  }
}

void RunMerger::hand_over(LargePieces pieces) {
  XXL_CHECK(!has_cells(runs_) && !large_ && !pieces.sorters.empty());
  XXL_CHECK(pieces.piece_records >= context_.piece_records &&
            pieces.piece_capacity > 2 * pieces.piece_records);
  large_ = std::move(pieces);
  large_free_ = large_->sorters;
}

void RunMerger::pump() {
  fetch();
  while (cut_piece()) {
  }
  if (pieces_.empty() && reading_ == 0 && sorting_ == 0 && merged_ < total_ && !output_full_) {
    break_stall();
  }
}

// ---- fetching ----

RunMerger::Loaded& RunMerger::loaded(BlockRef ref) {
  RunState& state = states_[ref.run];
  const std::size_t index = ref.block - state.first_block;
  if (state.loaded.size() <= index) state.loaded.resize(index + 1);
  return state.loaded[index];
}

void RunMerger::fetch() {
  if (merged_ == total_) return;
  while (blocks_.available() > 0) {
    BlockRef ref;
    if (!refetch_.empty()) {
      ref = refetch_.front();
      refetch_.pop_front();
    } else if (!order_.finished()) {
      ref = order_.next();
    } else {
      return;
    }
    // A block fetched out of order to break a stall may already have come and gone.
    if (ref.block < states_[ref.run].first_block || loaded(ref).state != State::absent) continue;
    start_read(ref);
  }
}

void RunMerger::start_read(BlockRef ref) {
  const Run& run = runs_[ref.run];
  Loaded& block = loaded(ref);
  block.state = State::reading;
  block.buffer = blocks_.take();
  ++reading_;
  if (!run.in_scratch()) return start_read_of_file(ref);
  const RunBlock& stored = run.blocks[ref.block];
  XXL_CHECK(RunStore::buffer_bytes(stored) <= blocks_.buffer_bytes());
  context_.store->read(run, stored, block.buffer,
                       [this, ref, token = in_flight_.begin()](std::exception_ptr failure) mutable {
                         context_.mailbox.post([this, ref, failure = std::move(failure)] {
                           if (failure != nullptr) {
                             --reading_;
                             std::rethrow_exception(failure);
                           }
                           arrived(ref, 0);
                         });
                         token.reset();
                       });
}

void RunMerger::start_read_of_file(BlockRef ref) {
  const Run& run = runs_[ref.run];
  const std::size_t record_bytes = context_.layout.record_bytes();
  const std::uint64_t start =
      run.file_offset + std::uint64_t{ref.block} * run.records_per_block * record_bytes;
  const std::uint64_t offset = round_down<std::uint64_t>(start, kSectorBytes);
  const std::size_t lead = start - offset;  // read before the block for the sake of alignment
  const std::size_t wanted = lead + run.records_in_block(ref.block) * record_bytes;
  XXL_CHECK(round_up(wanted, kSectorBytes) <= blocks_.buffer_bytes());
  io::Request request;
  request.op = io::Op::read;
  request.file = run.file.get();
  request.offset = offset;
  request.data = {loaded(ref).buffer, round_up(wanted, kSectorBytes)};
  request.done = [this, ref, lead, wanted, file = run.file.get(), offset,
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    context_.mailbox.post([this, ref, lead, wanted, file, offset, completion] {
      if (completion.error != 0 || completion.bytes < wanted) {
        --reading_;
        io::check_read(*file, offset, wanted, completion);
      }
      arrived(ref, lead);
    });
    token.reset();
  };
  context_.io.queue_for(*request.file).submit(std::move(request));
}

// Has a worker check the block; only then is it there.
void RunMerger::arrived(BlockRef ref, std::size_t lead) {
  std::byte* const records = loaded(ref).buffer + lead;
  context_.workers.run([this, ref, records, token = in_flight_.begin()](unsigned) mutable {
    std::exception_ptr fault;
    MultisetHash hash;
    try {
      check(ref, records);
      if (!runs_[ref.run].in_scratch()) {
        add_records(hash, records, runs_[ref.run].records_in_block(ref.block),
                    context_.layout.record_bytes());
      }
    } catch (const Error&) {
      fault = std::current_exception();
    }
    context_.mailbox.post([this, ref, records, fault = std::move(fault), hash] {
      --reading_;
      if (fault != nullptr) std::rethrow_exception(fault);
      if (!std::exchange(loaded(ref).counted, true)) files_hash_ += hash;
      Loaded& block = loaded(ref);
      block.records = records;
      block.state = State::arrived;
      RunState& state = states_[ref.run];
      while (state.arrived - state.first_block < state.loaded.size() &&
             state.loaded[state.arrived - state.first_block].state == State::arrived) {
        ++state.arrived;
      }
      advance(ref.run);
    });
    token.reset();
  });
}

// Checks a block that was read, and unpacks it. Throws Error.
void RunMerger::check(BlockRef ref, std::byte* records) const {
  const Run& run = runs_[ref.run];
  if (run.in_scratch()) return context_.store->open(run, ref.block, run.blocks[ref.block], records);
  check_file_block(run, context_.layout, ref.block, records);
}

// ---- what can be merged ----

const std::byte* RunMerger::record(std::uint32_t run, std::uint64_t index) const {
  const RunState& state = states_[run];
  const std::size_t per_block = runs_[run].records_per_block;
  const Loaded& block = state.loaded[index / per_block - state.first_block];
  return block.records + index % per_block * context_.layout.record_bytes();
}

std::uint64_t RunMerger::records_in_memory(std::uint32_t run) const {
  return std::min<std::uint64_t>(std::uint64_t{states_[run].arrived} * runs_[run].records_per_block,
                                 runs_[run].records);
}

std::uint64_t RunMerger::bound_word(const Bound& bound, std::size_t index) const {
  if (bound.record != nullptr) return context_.layout.word(bound.record, index);
  return index < kTriggerWords ? bound.trigger.words[index] : 0;
}

// The records that have arrived are usable, but for those of a cell that is not sorted: these only
// when all of them have arrived and will not be cut apart, or have been sorted.
void RunMerger::advance(std::uint32_t run) {
  RunState& state = states_[run];
  const std::uint64_t in_memory = records_in_memory(run);
  if (!runs_[run].cells) {
    state.usable = in_memory;
    return;
  }
  const RunCells& cells = *runs_[run].cells;
  for (;;) {
    while (state.cell + 1 < cells.grid().cells() && cells.start(state.cell + 1) <= state.usable) {
      ++state.cell;
    }
    if (state.usable >= in_memory) return;
    const std::uint64_t end = cells.start(state.cell + 1);
    if (!cells.is_sorted(state.cell)) {
      if (in_memory < end || state.sorting) return;
      if (!takes_whole(state.cell)) return sort_cell(run);
    }
    state.usable = std::min(end, in_memory);
  }
}

void RunMerger::sort_cell(std::uint32_t run) {
  RunState& state = states_[run];
  state.sorting = true;
  ++sorting_;
  const std::uint64_t end = runs_[run].cells->start(state.cell + 1);
  std::vector<Segment> segments;
  append_segments(run, state.usable, end, segments);
  context_.workers.run([this, run, end, segments = std::move(segments),
                        token = in_flight_.begin()](unsigned thread) mutable {
    PieceSorter& sorter = *context_.sorters[thread];
    sorter.sort(segments);
    const std::byte* sorted = context_.spare[thread].data();
    sorter.write(0, sorter.size(), context_.spare[thread].data());
    for (const Segment& segment : segments) {
      const std::size_t bytes = segment.count * context_.layout.record_bytes();
      std::memcpy(const_cast<std::byte*>(segment.records), sorted, bytes);  // in our own buffers
      sorted += bytes;
    }
    context_.mailbox.post([this, run, end] {
      --sorting_;
      states_[run].sorting = false;
      states_[run].usable = end;
      advance(run);
    });
    token.reset();
  });
}

RunMerger::Bound RunMerger::bound_of(std::uint32_t run) const {
  const RunState& state = states_[run];
  const auto& blocks = runs_[run].blocks;
  Bound bound;
  if (state.usable == runs_[run].records) return bound;
  bound.none = false;
  bound.run = run;
  if (runs_[run].cells && !runs_[run].cells->is_sorted(state.cell)) {
    bound.trigger = runs_[run].cells->grid().lower_bound(state.cell);
    return bound;
  }
  bound.trigger = blocks[state.arrived].trigger;
  if (triggers_are_exact(context_.layout) || state.arrived == state.first_block) return bound;
  const std::byte* last = record(run, records_in_memory(run) - 1);
  if (trigger_of(context_.layout, last) == bound.trigger) bound.record = last;
  return bound;
}

RunMerger::Bound RunMerger::smallest_bound() const {
  Bound smallest;
  for (std::uint32_t run = 0; run < states_.size(); ++run) {
    const Bound bound = bound_of(run);
    if (bound.none) continue;
    bool smaller = smallest.none;
    for (std::size_t i = 0; !smaller && i < context_.layout.words(); ++i) {
      const std::uint64_t x = bound_word(bound, i), y = bound_word(smallest, i);
      smaller = x < y;
      if (x != y) break;
    }
    if (smaller) smallest = bound;
  }
  return smallest;
}

// First index in [low, high) for which before(record) no longer holds; looks near `low` first.
template <class Before>
std::uint64_t RunMerger::partition_point(std::uint32_t run, std::uint64_t low, std::uint64_t high,
                                         Before before) const {
  std::uint64_t step = 1;
  while (low + step <= high && before(record(run, low + step - 1))) {
    low += step;
    step *= 2;
  }
  high = std::min(high, low + step - 1);
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (before(record(run, middle))) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// End of the records of the current cell that may be merged, given the smallest bound.
std::uint64_t RunMerger::records_below(const Bound& bound, std::uint32_t run) const {
  const std::uint64_t high = std::min(states_[run].usable, cell_end(run));
  if (bound.none || run == bound.run) return high;
  return partition_point(run, states_[run].position, high, [&](const std::byte* record) {
    for (std::size_t i = 0; i < context_.layout.words(); ++i) {
      const std::uint64_t x = context_.layout.word(record, i), y = bound_word(bound, i);
      if (x != y) return x < y;
    }
    return run < bound.run;
  });
}

// Where the current cell ends in `run`.
std::uint64_t RunMerger::cell_end(std::uint32_t run) const {
  return grid_ == nullptr ? runs_[run].records : runs_[run].cells->start(cell_ + 1);
}

// As many of the next cells as make a piece of reasonable size.
bool RunMerger::plan_whole_cells() {
  const Bound bound = smallest_bound();
  const std::size_t usable = bound.none ? grid_->cells() : grid_->cell_of(bound.trigger);
  if (usable <= cell_) return false;
  std::size_t last = cell_;
  std::uint64_t records = cell_records_[last];
  while (last + 1 < usable && takes_whole(last + 1) &&
         records + cell_records_[last + 1] <= context_.piece_records) {
    records += cell_records_[++last];
  }
  kept_from_ = cell_;
  cell_ = last;
  for (std::uint32_t run = 0; run < states_.size(); ++run) {
    states_[run].region_end = cell_end(run);
  }
  ++cell_;
  region_records_ = records;
  splitters_.clear();
  return true;
}

bool RunMerger::plan_region() {
  if (merged_ == total_) return false;
  if (takes_whole(cell_)) return plan_whole_cells();
  const Bound bound = smallest_bound();
  std::uint64_t records = 0;
  bool ends_cell = true;
  for (std::uint32_t run = 0; run < states_.size(); ++run) {
    states_[run].region_end = std::max(states_[run].position, records_below(bound, run));
    records += states_[run].region_end - states_[run].position;
    ends_cell = ends_cell && states_[run].region_end == cell_end(run);
  }
  // Small regions cost as much to plan as large ones: wait while more blocks are on their way.
  const std::uint64_t in_all =
      blocks_.count() * blocks_.buffer_bytes() / context_.layout.record_bytes();
  region_is_large_ = large_.has_value();
  const std::size_t at_once = region_is_large_ ? large_->sorters.size() : context_.workers.width();
  const std::uint64_t worthwhile =
      std::max<std::uint64_t>(1, std::min<std::uint64_t>(at_once * piece_records(), in_all / 16));
  const bool more_to_come = reading_ > 0 || pieces_running_ > 0 || sorting_ > 0;
  if (records < worthwhile && !ends_cell && (records == 0 || more_to_come)) return false;
  if (ends_cell) ++cell_;
  region_records_ = records;
  choose_splitters(records);
  return true;
}

// Samples the region so that the pieces between chosen samples hold about piece_records, and never
// more than twice that: a piece of q samples has at most (q + runs) * stride records.
void RunMerger::choose_splitters(std::uint64_t records) {
  splitters_.clear();
  if (records <= piece_records()) return;
  std::size_t active = 0;
  for (const RunState& state : states_) active += state.region_end > state.position ? 1 : 0;
  const std::uint64_t stride = std::max<std::uint64_t>(1, piece_records() / active);
  std::vector<Sample> samples;
  samples.reserve(records / stride);
  for (std::uint32_t run = 0; run < states_.size(); ++run) {
    for (std::uint64_t index = states_[run].position + stride; index < states_[run].region_end;
         index += stride) {
      const std::byte* sample = record(run, index);
      samples.push_back({context_.layout.word(sample, 0), sample, run, index});
    }
  }
  std::sort(samples.begin(), samples.end(), [this](const Sample& a, const Sample& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int order = context_.layout.words() > 1 ? context_.layout.compare(a.record, b.record) : 0;
    if (order != 0) return order < 0;
    return a.run != b.run ? a.run < b.run : a.index < b.index;
  });
  const std::size_t every = std::max<std::size_t>(1, piece_records() / stride);
  for (std::size_t i = every; i < samples.size(); i += every) splitters_.push_back(samples[i]);
  std::reverse(splitters_.begin(), splitters_.end());
}

// Records of `run` that come before `splitter`, as the end of a piece.
std::uint64_t RunMerger::end_before(const Sample& splitter, std::uint32_t run) const {
  const RunState& state = states_[run];
  if (run == splitter.run) return splitter.index;
  const bool ties_before = run < splitter.run;
  const bool one_word = context_.layout.words() == 1;
  return partition_point(run, state.position, state.region_end, [&](const std::byte* record) {
    const std::uint64_t prefix = context_.layout.word(record, 0);
    if (prefix != splitter.prefix) return prefix < splitter.prefix;
    const int order = one_word ? 0 : context_.layout.compare(record, splitter.record);
    return order != 0 ? order < 0 : ties_before;
  });
}

// ---- pieces ----

// Cuts the next piece off the region, planning a new region if there is none.
void RunMerger::cut_next() {
  Cut cut;
  cut.ends.resize(states_.size());
  for (std::uint32_t run = 0; run < states_.size(); ++run) {
    RunState& state = states_[run];
    const std::uint64_t end =
        splitters_.empty() ? state.region_end : end_before(splitters_.back(), run);
    append_segments(run, state.position, end, cut.segments);
    cut.records += end - state.position;
    state.position = end;
    cut.ends[run] = end;
  }
  if (!splitters_.empty()) splitters_.pop_back();
  for (; context_.keeper != nullptr && kept_from_ < cell_; ++kept_from_) {
    context_.keeper->append_kept(kept_from_, cut.segments);
    cut.records += context_.keeper->kept_records(kept_from_);
  }
  region_records_ -= cut.records;
  if (cut.records > 0) cut_ = std::move(cut);
}

void RunMerger::append_segments(std::uint32_t run, std::uint64_t first, std::uint64_t end,
                                std::vector<Segment>& segments) const {
  const std::size_t per_block = runs_[run].records_per_block;
  while (first < end) {
    const std::uint64_t block_end = (first / per_block + 1) * per_block;
    const std::uint64_t part = std::min(end, block_end) - first;
    segments.push_back({record(run, first), part});
    first += part;
  }
}

bool RunMerger::cut_piece() {
  if (merged_ == total_) return false;
  if (pieces_running_ >= kPiecesRunning * context_.workers.width()) return false;
  while (!cut_) {
    if (region_records_ == 0 && !plan_region()) return false;
    if (region_records_ > 0) cut_next();
  }
  XXL_CHECK(cut_->records <= (region_is_large_ ? large_->piece_capacity : context_.piece_capacity));
  if (region_is_large_ && large_free_.empty()) return false;
  const std::size_t bytes = cut_->records * output_.record_bytes();
  output_full_ = !output_.admit(bytes);
  if (output_full_) return false;
  merged_ += cut_->records;
  const std::uint64_t ticket = first_piece_ + pieces_.size();
  pieces_.push_back({false, std::move(cut_->ends)});
  ++pieces_running_;
  if (region_is_large_) {
    handed_over_ += cut_->records;
    PieceSorter& sorter = *large_free_.back();
    large_free_.pop_back();
    sort_large_piece(ticket, bytes, std::move(cut_->segments), sorter);
  } else {
    sort_piece(ticket, bytes, std::move(cut_->segments));
  }
  cut_.reset();
  return true;
}

void RunMerger::sort_piece(std::uint64_t ticket, std::size_t bytes, std::vector<Segment> segments) {
  context_.workers.run([this, ticket, bytes, segments = std::move(segments),
                        token = in_flight_.begin()](unsigned thread) mutable {
    PieceSorter& sorter = *context_.sorters[thread];
    sorter.sort(segments);
    output_.emit(ticket, bytes, sorter);
    context_.mailbox.post([this, ticket] { piece_done(ticket); });
    token.reset();
  });
}

// The same on an accelerator, which may fail.
void RunMerger::sort_large_piece(std::uint64_t ticket, std::size_t bytes,
                                 std::vector<Segment> segments, PieceSorter& sorter) {
  context_.workers.run([this, ticket, bytes, segments = std::move(segments), &sorter,
                        token = in_flight_.begin()](unsigned) mutable {
    try {
      sorter.sort(segments);
      output_.emit(ticket, bytes, sorter);
      context_.mailbox.post([this, ticket, &sorter] {
        large_free_.push_back(&sorter);
        piece_done(ticket);
      });
    } catch (const Error&) {
      // The merge ends as soon as the coordinator learns of it; later pieces, whose turn comes
      // after this one, must not wait forever.
      context_.mailbox.post([error = std::current_exception()] { std::rethrow_exception(error); });
      output_.emit(ticket, bytes, UnsortedPiece({}, context_.layout.record_bytes()));
    }
    token.reset();
  });
}

void RunMerger::piece_done(std::uint64_t ticket) {
  --pieces_running_;
  pieces_[ticket - first_piece_].done = true;
  while (!pieces_.empty() && pieces_.front().done) {
    for (std::uint32_t run = 0; run < states_.size(); ++run) {
      release_blocks(run, pieces_.front().ends[run]);
    }
    pieces_.pop_front();
    ++first_piece_;
  }
}

// Gives back the buffers, and the places on disk, of blocks wholly before `position`.
void RunMerger::release_blocks(std::uint32_t run, std::uint64_t position) {
  RunState& state = states_[run];
  const std::size_t per_block = runs_[run].records_per_block;
  while (state.first_block < state.arrived &&
         std::min<std::uint64_t>((std::uint64_t{state.first_block} + 1) * per_block,
                                 runs_[run].records) <= position) {
    blocks_.give_back(state.loaded.front().buffer);
    if (runs_[run].in_scratch()) {
      context_.store->release(runs_[run], runs_[run].blocks[state.first_block]);
    }
    state.loaded.pop_front();
    ++state.first_block;
  }
}

// ---- when memory is full of blocks that cannot be merged yet ----

void RunMerger::break_stall() {
  const Bound bound = smallest_bound();
  XXL_CHECK(!bound.none);
  const BlockRef wanted{bound.run, states_[bound.run].arrived};
  XXL_CHECK(loaded(wanted).state == State::absent);
  if (blocks_.available() == 0) drop_farthest_block();
  ++refetched_;
  start_read(wanted);
}

// The last block in memory of the run whose last block starts with the largest key; a run's only
// block, or one merged in part, is worth more if kept.
void RunMerger::drop_farthest_block() {
  XXL_CHECK(!has_cells(runs_));
  BlockRef farthest;
  const std::byte* farthest_record = nullptr;
  for (std::uint32_t run = 0; run < states_.size(); ++run) {
    const RunState& state = states_[run];
    std::size_t index = state.loaded.size();
    while (index > 0 && state.loaded[index - 1].state != State::arrived) --index;
    if (index < 2) continue;
    const std::byte* first = state.loaded[index - 1].records;
    if (farthest_record == nullptr || context_.layout.compare(first, farthest_record) >= 0) {
      farthest = {run, static_cast<std::uint32_t>(state.first_block + index - 1)};
      farthest_record = first;
    }
  }
  XXL_CHECK(farthest_record != nullptr);
  Loaded& block = loaded(farthest);
  blocks_.give_back(block.buffer);
  block.state = State::absent;
  RunState& state = states_[farthest.run];
  state.arrived = std::min(state.arrived, farthest.block);
  advance(farthest.run);
  refetch_.push_front(farthest);
}

}  // namespace xxl
