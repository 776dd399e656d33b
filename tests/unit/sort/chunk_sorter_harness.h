// Drives a CpuChunkSorter as run formation does, and keeps what leaves it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "sort/cpu_chunk_sorter.h"
#include "sort/make_piece_sorter.h"
#include "sort_test_support.h"
#include "watchdog.h"

namespace xxl::test::chunk_sorter {

struct Shape {
  std::size_t memory_bytes = 512 * kKiB;
  unsigned threads = 2;
  std::size_t push_bytes = 4 * kKiB;
  std::size_t piece_bytes = 8 * kKiB;
  bool leave_unsorted = false;  // what is a whole cell
  bool keeps_rest = false;
  bool long_runs = false;
  std::size_t streams = 1;  // that pieces are spread over, once the first has left
};

// Pushes records through a sorter as run formation does, but with a pace of its own.
class Harness {
 public:
  Harness(const RecordFormat& format, const Shape& shape, std::uint64_t seed)
      : format_(format),
        layout_(format),
        geometry_(CpuChunkGeometry::plan(
                      shape.memory_bytes, layout_, shape.threads,
                      std::max<std::size_t>(1, shape.push_bytes / format.record_bytes),
                      2 * std::max<std::size_t>(16, shape.piece_bytes / format.record_bytes),
                      shape.keeps_rest ? 4 : 2)
                      .value()),
        memory_(geometry_.memory_bytes),
        leave_unsorted_(shape.leave_unsorted),
        streams_(shape.streams),
        workers_(shape.threads),
        random_(seed) {
    geometry_.keeps_rest = shape.keeps_rest;
    geometry_.long_runs = shape.long_runs;
    for (unsigned thread = 0; thread < shape.threads; ++thread) {
      const std::size_t bytes = piece_scratch_bytes(layout_, geometry_.piece_capacity);
      scratch_.emplace_back(bytes);
      sorters_.push_back(
          make_piece_sorter(layout_, false, geometry_.piece_capacity, scratch_.back().span()));
    }
    sorter_ = std::make_unique<CpuChunkSorter>(layout_, geometry_, memory_.span(), workers_,
                                               mailbox_, sorters_, seed);
  }

  CpuChunkSorter& sorter() { return *sorter_; }
  const CpuChunkGeometry& geometry() const { return geometry_; }
  // Records that are certainly held in memory.
  std::size_t resident_records() const { return geometry_.resident_bytes / format_.record_bytes; }

  // Pushes a block; false when there is no room.
  bool push(const Segment& block) {
    return sorter_->push(block, [this, block] { taken_records_ += block.count; });
  }
  std::uint64_t taken_records() const { return taken_records_; }

  // Starts what can be pulled, up to `most` pieces.
  bool pull(std::size_t most) {
    for (std::size_t i = 0; i < most; ++i) {
      std::optional<ChunkSorter::RunPiece> piece = sorter_->pull();
      if (!piece) return i > 0;
      if (streams_ > 1 && runs_.empty()) {
        EXPECT_FALSE(sorter_->may_be_several_runs());
        EXPECT_TRUE(sorter_->spread(streams_));
      }
      start(std::move(*piece));
    }
    return true;
  }
  std::size_t pieces_running() const { return pieces_running_; }
  void wait() { mailbox_.wait_and_run(); }

  // Forms runs of all `records`, in blocks of random sizes. With `hesitant`, pulls fewer pieces
  // than it might.
  std::vector<Bytes> form_runs(const Bytes& records, bool hesitant = false) {
    const std::size_t count = records.size() / format_.record_bytes;
    std::size_t next = 0, block = 0;
    const auto push_blocks = [&] {
      while (next < count) {
        if (block == 0) {
          block = 1 + random_.below(std::min(count - next, geometry_.push_records));
        }
        if (!push({records.data() + next * format_.record_bytes, block})) return;
        next += block;
        block = 0;
      }
    };
    for (bool sealed = false;;) {
      push_blocks();
      if (next == count && !sealed) {
        sorter_->seal();
        sealed = true;
      }
      const std::size_t most = hesitant ? 1 : 2 * workers_.width();
      while (pieces_running_ < most && pull(1)) {
      }
      push_blocks();  // where pulling made room, no message will tell
      if (next == count && !sealed) continue;
      if (sorter_->finished() && pieces_running_ == 0) break;
      wait();
    }
    EXPECT_EQ(taken_records_, count);
    return runs_so_far();
  }

  // Pulls what a spill has given.
  std::vector<Bytes> pull_spilled() {
    for (;;) {
      while (pull(1)) {
      }
      if (sorter_->finished() && pieces_running_ == 0) return runs_so_far();
      wait();
    }
  }

  std::vector<Bytes> runs_so_far() const {
    std::vector<Bytes> runs;
    for (const auto& [number, pieces] : runs_) {
      EXPECT_TRUE(number == runs.size() || geometry_.keeps_rest);  // one that is kept is left out
      Bytes& run = runs.emplace_back();
      for (const auto& piece : pieces) {
        run.insert(run.end(), piece->content.begin(), piece->content.end());
      }
    }
    return runs;
  }

  // A piece that has left.
  struct Left {
    std::size_t cell = 0;
    bool whole_cell = false;
    Bytes content;
    std::uint64_t first = 0;
  };
  using Pieces = std::vector<std::shared_ptr<Left>>;
  const std::map<std::uint64_t, Pieces>& pieces_of_runs() const { return runs_; }
  const KeyLayout& layout() const { return layout_; }

 private:
  void start(ChunkSorter::RunPiece piece) {
    EXPECT_GT(piece.records, 0u);
    EXPECT_LE(piece.records, geometry_.piece_capacity);
    EXPECT_TRUE(runs_.empty() || piece.run >= runs_.rbegin()->first);
    auto left = std::make_shared<Left>(Left{piece.cell, piece.whole_cell, {}, piece.first});
    runs_[piece.run].push_back(left);
    ++pieces_running_;
    workers_.run([this, left, piece = std::move(piece)](unsigned thread) {
      const auto keep = [&](const RecordSource& records) {
        left->content.resize(records.size() * format_.record_bytes);
        records.write(0, records.size(), left->content.data());
      };
      if (leave_unsorted_ && piece.whole_cell) {
        keep(piece.leave_unsorted());
      } else {
        keep(piece.sort(thread));
      }
      piece.done();
      mailbox_.post([this] { --pieces_running_; });
    });
  }

  test::Watchdog watchdog_;
  RecordFormat format_;
  KeyLayout layout_;
  CpuChunkGeometry geometry_;
  MemoryRegion memory_;
  bool leave_unsorted_;
  std::size_t streams_;
  Mailbox mailbox_;
  std::vector<MemoryRegion> scratch_;
  std::vector<std::unique_ptr<PieceSorter>> sorters_;
  std::map<std::uint64_t, Pieces> runs_;
  std::uint64_t taken_records_ = 0;
  std::size_t pieces_running_ = 0;
  Workers workers_;
  Random random_;
  std::unique_ptr<CpuChunkSorter> sorter_;
};

}  // namespace xxl::test::chunk_sorter
