// Reads the input, has it sorted in chunks, writes the runs: all at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/workers.h"
#include "io/buffer_pool.h"
#include "io/sequential_reader.h"
#include "job/phase_meter.h"
#include "run/block_sink.h"
#include "run/output_stage.h"
#include "sort/chunk_sorter.h"

namespace xxl {

class RunFormation {
 public:
  // Asked for a place to write a run to when its first piece is about to leave. `all_in_memory`:
  // the input has ended, this is the only run. `looks_sorted`: the input was nearly in order so
  // far, so this first run may be the only one.
  struct OpenedRun {
    BlockSink& sink;
    OutputRules rules;
    std::size_t streams = 1;  // of ChunkSorter::spread(), if rules.any_order
  };
  using OpenRun = std::function<OpenedRun(bool all_in_memory, bool looks_sorted)>;
  // The run is complete but for writes under way. (A run with cells is left unsorted within them
  // where it can be.)
  using CloseRun = std::function<void(const OutputStage& stage)>;

  // All references must outlive the formation.
  RunFormation(const KeyLayout& layout, io::SequentialReader& reader, ChunkSorter& sorter,
               Workers& workers, io::BufferPool& output_blocks, Mailbox& mailbox, OpenRun open_run,
               CloseRun close_run, Progress* progress);

  // Forms all runs. Writes may still be under way when it returns.
  void run();

  // Step by step, in place of run(), without waiting:
  // Does what can be done now. False when all pieces have left.
  bool pump();
  // After that: closes the last run.
  void finish() { close_run(); }
  // True if nothing will happen before blocks of the output are given back.
  bool waits_for_output() const { return output_full_ && pieces_running_ == 0; }

  const WaitTimes& waits() const { return waits_; }

 private:
  void push_blocks();
  void pull_pieces();
  void start_piece(OutputStage::Admission place);
  void close_run();
  bool looks_sorted() const;
  void note_order(const io::RecordBlock& block);

  const KeyLayout& layout_;
  io::SequentialReader& reader_;
  ChunkSorter& sorter_;
  Workers& workers_;
  io::BufferPool& output_blocks_;
  Mailbox& mailbox_;
  OpenRun open_run_;
  CloseRun close_run_;
  Progress* progress_;
  std::optional<io::RecordBlock> block_;        // waiting for room in the sorter
  std::optional<ChunkSorter::RunPiece> piece_;  // waiting for room in the output
  std::unique_ptr<OutputStage> stage_;          // of the open run
  std::uint64_t run_ = 0;
  RunCells* cells_ = nullptr;      // of the open run, if it may be left unsorted within cells
  std::uint64_t run_records_ = 0;  // of the open run so far
  std::size_t pieces_running_ = 0;
  bool input_ended_ = false;
  bool output_full_ = false;
  std::uint64_t blocks_seen_ = 0;
  std::uint64_t steps_back_ = 0;  // blocks that start below the largest start before
  std::vector<std::byte> largest_start_;
  WaitTimes waits_;
  InFlight in_flight_;
};

}  // namespace xxl
