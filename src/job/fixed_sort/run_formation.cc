#include "job/fixed_sort/run_formation.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/task.h"

namespace xxl {
namespace {

// Pieces given to the workers at once, for each of them: enough for the time until the coordinator
// runs again, also where they are only copied.
constexpr std::size_t kPiecesRunning = 8;

}  // namespace

RunFormation::RunFormation(const KeyLayout& layout, io::SequentialReader& reader,
                           ChunkSorter& sorter, Workers& workers, io::BufferPool& output_blocks,
                           Mailbox& mailbox, OpenRun open_run, CloseRun close_run,
                           Progress* progress)
    : layout_(layout),
      reader_(reader),
      sorter_(sorter),
      workers_(workers),
      output_blocks_(output_blocks),
      mailbox_(mailbox),
      open_run_(std::move(open_run)),
      close_run_(std::move(close_run)),
      progress_(progress),
      waits_(progress) {}

void RunFormation::run() {
  while (pump()) {
    const auto start = std::chrono::steady_clock::now();
    const bool workers_idle = pieces_running_ == 0;
    mailbox_.wait_and_run();
    if (workers_idle) {
      output_full_ ? waits_.add_write(start) : waits_.add_read(start);
    }
  }
  finish();
}

bool RunFormation::pump() {
  push_blocks();
  pull_pieces();
  push_blocks();
  return !(input_ended_ && sorter_.finished() && !piece_ && pieces_running_ == 0);
}

void RunFormation::push_blocks() {
  reader_.pump();
  for (;;) {
    if (!block_) {
      block_ = reader_.next();
      if (!block_) break;
      note_order(*block_);
    }
    const std::size_t bytes = block_->records.size();
    const auto taken = [this, block = *block_] {
      if (progress_ != nullptr) progress_->phase_bytes_done += block.records.size();
      reader_.release(block);
      reader_.pump();
    };
    if (bytes == 0) {
      taken();
    } else if (!sorter_.push({block_->records.data(), bytes / layout_.record_bytes()}, taken)) {
      return;
    }
    block_.reset();
  }
  if (!input_ended_ && reader_.finished()) {
    input_ended_ = true;
    sorter_.seal();
  }
}

void RunFormation::note_order(const io::RecordBlock& block) {
  const std::size_t record_bytes = layout_.record_bytes();
  if (stage_ != nullptr || block.records.size() < record_bytes) return;
  ++blocks_seen_;
  const std::byte* start = block.records.data();
  if (largest_start_.empty() || layout_.compare(largest_start_.data(), start) <= 0) {
    largest_start_.assign(start, start + record_bytes);
  } else {
    ++steps_back_;
  }
}

bool RunFormation::looks_sorted() const {
  return blocks_seen_ >= 8 && steps_back_ * 16 <= blocks_seen_;
}

void RunFormation::pull_pieces() {
  output_full_ = false;
  while (pieces_running_ < kPiecesRunning * workers_.width()) {
    if (!piece_) piece_ = sorter_.pull();
    if (!piece_) return;
    if (stage_ != nullptr && piece_->run != run_) {
      if (pieces_running_ > 0) return;
      close_run();
    }
    if (stage_ == nullptr) {
      auto [sink, rules, streams] =
          open_run_(input_ended_ && !sorter_.may_be_several_runs(), looks_sorted());
      if (streams == 1 || !sorter_.spread(streams)) rules.any_order = 0;
      stage_ = std::make_unique<OutputStage>(layout_, rules, output_blocks_, sink, mailbox_);
      run_ = piece_->run;
      run_records_ = 0;
      cells_ = sink.run() != nullptr && sink.run()->cells ? &*sink.run()->cells : nullptr;
    }
    auto place = stage_->admit(piece_->records * stage_->record_bytes(), piece_->first);
    output_full_ = !place;
    if (!place) return;
    start_piece(std::move(*place));
  }
}

void RunFormation::start_piece(OutputStage::Admission place) {
  ++pieces_running_;
  const bool sorting = cells_ == nullptr || !piece_->whole_cell;
  if (cells_ != nullptr) cells_->enter(piece_->cell, run_records_, sorting);
  run_records_ += piece_->records;
  run_task(workers_, mailbox_, in_flight_,
           [this, sorting, &stage = *stage_, place = std::move(place),
            piece = std::move(*piece_)](unsigned thread) mutable {
             if (stage.full()) {
               stage.emit(std::move(place), UnsortedPiece({}, layout_.record_bytes()));
             } else if (sorting) {
               stage.emit(std::move(place),
                          [&]() -> const RecordSource& { return piece.sort(thread); });
             } else {
               stage.emit(std::move(place), piece.leave_unsorted);
             }
             piece.done();
             mailbox_.post([this] { --pieces_running_; });
           });
  piece_.reset();
}

void RunFormation::close_run() {
  if (stage_ == nullptr) return;
  stage_->finish();
  if (cells_ != nullptr) cells_->finish(run_records_);
  close_run_(*stage_);
  stage_.reset();
}

}  // namespace xxl
