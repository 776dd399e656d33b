#include "merge/run_merger.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/task.h"
#include "record/comparator_fault.h"

namespace xxl {
namespace {

// Pieces given to the workers at once, for each of them: enough for the time until the coordinator
// runs again.
constexpr std::size_t kPiecesRunning = 8;

}  // namespace

RunMerger::RunMerger(const MergeContext& context, const std::vector<Run>& runs,
                     io::BufferPool& blocks, OutputStage& output)
    : context_(context),
      runs_(runs),
      output_(output),
      cells_(runs, context.piece_capacity, context.keeper),
      blocks_(context, runs, blocks, cells_.blocks_held(),
              [this](std::uint32_t run) { usable_.update(run); }),
      usable_(context, blocks_.runs(), cells_),
      region_(context.layout, blocks_.runs()),
      total_(cells_.records()) {
  XXL_CHECK(blocks.count() > runs.size() && runs.size() <= context.piece_records);
}

void RunMerger::hand_over(LargePieces pieces) {
  XXL_CHECK(!has_cells(runs_) && !large_ && !pieces.sorters.empty());
  XXL_CHECK(pieces.piece_records >= context_.piece_records &&
            pieces.piece_capacity > 2 * pieces.piece_records);
  large_ = std::move(pieces);
  large_free_ = large_->sorters;
}

void RunMerger::pump() {
  if (merged_ < total_) blocks_.fetch();
  while (cut_piece()) {
  }
  const bool waits = !pieces_.empty() || blocks_.reading() > 0 || usable_.sorting() > 0;
  if (waits || output_full_ || merged_ == total_) return;
  // Memory is full of blocks none of which can be merged: one that can is fetched out of order.
  const UsableRecords::Bound bound = usable_.bound();
  XXL_CHECK(!bound.none);
  blocks_.fetch_next_of(bound.run);
}

// ---- regions ----

bool RunMerger::plan_region() {
  if (merged_ == total_) return false;
  if (cells_.takes_whole(cell_)) return plan_whole_cells();
  const std::vector<std::uint64_t>& begins = region_.positions();
  std::vector<std::uint64_t> ends = usable_.ends_below(usable_.bound(), cell_, begins);
  std::uint64_t records = 0;
  bool ends_cell = true;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    records += ends[run] - begins[run];
    ends_cell = ends_cell && ends[run] == cells_.end(runs_[run], cell_);
  }
  // Small regions cost as much to plan as large ones: wait while more blocks are on their way.
  const std::uint64_t in_all = blocks_.bytes() / context_.layout.record_bytes();
  region_is_large_ = large_.has_value();
  const std::size_t at_once = region_is_large_ ? large_->sorters.size() : context_.workers.width();
  const std::size_t piece_records =
      region_is_large_ ? large_->piece_records : context_.piece_records;
  const std::uint64_t worthwhile =
      std::max<std::uint64_t>(1, std::min<std::uint64_t>(at_once * piece_records, in_all / 16));
  const bool more_to_come = blocks_.reading() > 0 || pieces_running_ > 0 || usable_.sorting() > 0;
  if (records < worthwhile && !ends_cell && (records == 0 || more_to_come)) return false;
  if (ends_cell) ++cell_;
  region_.extend(std::move(ends));
  region_.split(piece_records);
  return true;
}

// As many of the next cells as make a piece of reasonable size.
bool RunMerger::plan_whole_cells() {
  const UsableRecords::Bound bound = usable_.bound();
  const std::size_t usable =
      bound.none ? cells_.grid()->cells() : cells_.grid()->cell_of(bound.trigger);
  if (usable <= cell_) return false;
  std::uint64_t records = 0;
  std::vector<Segment> kept;
  do {
    records += cells_.records(cell_);
    if (context_.keeper != nullptr) context_.keeper->append_kept(cell_, kept);
    ++cell_;
  } while (cell_ < usable && cells_.takes_whole(cell_) &&
           records + cells_.records(cell_) <= context_.piece_records);
  std::vector<std::uint64_t> ends;
  for (const Run& run : runs_) ends.push_back(cells_.end(run, cell_ - 1));
  region_.extend(std::move(ends));
  region_.append(kept);
  return true;
}

// ---- pieces ----

// Pieces between samples fit, as long as records and samples are in one order.
void RunMerger::check_fits(std::uint64_t records) const {
  if (records <= (region_is_large_ ? large_->piece_capacity : context_.piece_capacity)) return;
  XXL_CHECK(!context_.layout.words_are_key());
  throw Error(ErrorCode::corrupt,
              "runs are not in the order of the comparator: " + std::string(kCheckComparator));
}

bool RunMerger::cut_piece() {
  if (merged_ == total_) return false;
  if (pieces_running_ >= kPiecesRunning * context_.workers.width()) return false;
  while (!cut_) {
    if (region_.records() == 0 && !plan_region()) return false;
    if (region_.records() > 0) cut_ = region_.take_piece();
  }
  check_fits(cut_->records);
  if (region_is_large_ && large_free_.empty()) return false;
  auto place = output_.admit(cut_->records * output_.record_bytes());
  output_full_ = !place;
  if (!place) return false;
  merged_ += cut_->records;
  pieces_.push_back({std::move(*place), std::move(cut_->ends)});
  ++pieces_running_;
  PieceSorter* large = nullptr;
  if (region_is_large_) {
    handed_over_ += cut_->records;
    large = large_free_.back();
    large_free_.pop_back();
  }
  sort_piece(pieces_.back(), std::move(cut_->segments), large);
  cut_.reset();
  return true;
}

// `large`: the sorter of an accelerator; null: that of the worker.
void RunMerger::sort_piece(RunningPiece& piece, std::vector<Segment> segments, PieceSorter* large) {
  run_task(context_.workers, context_.mailbox, in_flight_,
           [this, &piece, segments = std::move(segments), large](unsigned thread) {
             output_.emit(std::move(piece.place), [&]() -> const RecordSource& {
               PieceSorter& sorter = large != nullptr ? *large : *context_.sorters[thread];
               sorter.sort(segments);
               return sorter;
             });
             context_.mailbox.post([this, &piece, large] {
               if (large != nullptr) large_free_.push_back(large);
               piece_done(piece);
             });
           });
}

void RunMerger::piece_done(RunningPiece& piece) {
  --pieces_running_;
  piece.done = true;
  while (!pieces_.empty() && pieces_.front().done) {
    blocks_.release(pieces_.front().ends);
    pieces_.pop_front();
  }
}

}  // namespace xxl
