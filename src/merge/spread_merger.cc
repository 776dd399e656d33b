#include "merge/spread_merger.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace xxl {

SpreadMerger::SpreadMerger(std::vector<MergeSource> runs, const MergeSide& side,
                           std::uint64_t cell_bytes, std::ptrdiff_t extra_bytes,
                           std::vector<CellWorkspace> workspaces, Workers& workers,
                           Monitor& monitor)
    : contents_(std::move(runs), {side}, cell_bytes),
      extra_bytes_(extra_bytes),
      workspaces_(std::move(workspaces)),
      workers_(workers),
      monitor_(monitor) {}

CellSlice SpreadMerger::slice(const CellPiece& piece) const {
  CellSlice slice{piece.cell};
  if (piece.from != kNoCut) slice.from = cuts_[piece.from];
  if (piece.to != kNoCut) slice.to = cuts_[piece.to];
  return slice;
}

// What each cell takes in the output.
std::vector<std::uint64_t> SpreadMerger::measure() {
  constexpr std::size_t kCellsAtOnce = 8;
  std::vector<std::uint64_t> all(contents_.cells());
  run_all(ceil_div(all.size(), kCellsAtOnce),
          [&](std::size_t task, unsigned) {
            const std::size_t first = task * kCellsAtOnce;
            const std::size_t last = std::min(first + kCellsAtOnce, all.size());
            contents_.measure(
                first, last, [&](std::size_t cell, std::uint64_t records, std::uint64_t bytes) {
                  all[cell] = bytes + records * static_cast<std::uint64_t>(extra_bytes_);
                });
            return 0;
          },
          {});
  return all;
}

void SpreadMerger::lay_out(OutputParts& parts, GeneralOutput& output) {
  const std::vector<std::uint64_t> bytes_of_cells = measure();
  for (std::size_t cell = 0; cell < bytes_of_cells.size(); ++cell) {
    std::uint64_t bytes = bytes_of_cells[cell];
    CellPiece piece{cell};
    const auto lay_out_piece = [&](std::uint64_t piece_bytes) {
      if (piece_bytes == 0) return;
      pieces_.push_back(piece);
      places_.push_back(output.lay_out(piece_bytes));
    };
    while (!parts.takes(bytes)) {
      RunCut cut = contents_.cut_cell(slice(piece), extra_bytes_,
                                      [&](std::uint64_t before, std::uint64_t size) {
                                        return parts.is_behind_cut(before, size);
                                      });
      if (cut.bytes == bytes) break;  // a record that is larger than a part
      piece.to = cuts_.size();
      cuts_.push_back(std::move(cut.items));
      lay_out_piece(cut.bytes);
      output.cut();
      bytes -= cut.bytes;
      piece = {cell, piece.to};
    }
    lay_out_piece(bytes);
  }
}

// The order in which pieces are begun: of each of the streams, which are of about the same size, in
// turns.
std::vector<std::size_t> SpreadMerger::spread(std::size_t streams) const {
  std::vector<std::size_t> order(pieces_.size());
  std::uint64_t all = 0, before = 0;
  for (const GeneralOutput::OutputStretch& place : places_) all += place.bytes;
  std::vector<std::pair<std::size_t, std::size_t>> turns;  // and which stream's
  std::vector<std::size_t> next_turn(streams);
  for (const GeneralOutput::OutputStretch& place : places_) {
    const auto stream =
        static_cast<std::size_t>(static_cast<unsigned __int128>(before) * streams / all);
    turns.emplace_back(next_turn[stream]++, stream);
    before += place.bytes;
  }
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return turns[a] < turns[b]; });
  return order;
}

void SpreadMerger::run(CellWork& work, std::size_t streams,
                       const std::function<void(std::uint64_t)>& on_progress) {
  const std::vector<std::size_t> order = spread(streams);
  run_all(
      order.size(),
      [&](std::size_t task, unsigned thread) {
        const std::size_t index = order[task];
        contents_.take_cell(slice(pieces_[index]), workspaces_[thread], index, work);
        return places_[index].bytes;
      },
      on_progress);
}

void SpreadMerger::run_all(std::size_t tasks,
                           const std::function<std::uint64_t(std::size_t, unsigned)>& task,
                           const std::function<void(std::uint64_t)>& on_progress) {
  std::size_t left = tasks;  // this and the next with the monitor's lock
  std::uint64_t done = 0;    // bytes not reported
  InFlight in_flight;
  for (std::size_t i = 0; i < tasks; ++i) {
    workers_.run([&, i, token = in_flight.begin()](unsigned thread) mutable {
      std::uint64_t bytes = 0;
      monitor_.guard([&] {
        monitor_.pass();
        bytes = task(i, thread);
      });
      monitor_.change([&] {
        done += bytes;
        --left;
      });
      token.reset();
    });
  }
  for (bool finished = false; !finished;) {
    auto lock = monitor_.lock();
    while (left > 0 && done == 0) monitor_.wait_whatever(lock);
    finished = left == 0;
    const std::uint64_t bytes = std::exchange(done, 0);
    lock.unlock();
    if (bytes > 0) on_progress(bytes);
  }
  monitor_.check();
}

}  // namespace xxl
