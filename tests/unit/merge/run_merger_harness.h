// A merge of runs that were put into scratch, or into files.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/memory_region.h"
#include "base/units.h"
#include "merge/common_cells.h"
#include "merge/run_merger.h"
#include "merge/runs_on_disk.h"
#include "run/run_store.h"
#include "simulated_queue.h"
#include "sort/make_piece_sorter.h"
#include "sort_test_support.h"
#include "watchdog.h"

namespace xxl::test::merge {

// Keeps the merged stream.
class CollectingSink final : public BlockSink {
 public:
  CollectingSink(std::size_t payload_bytes, io::BufferPool& buffers, Mailbox& mailbox)
      : payload_bytes_(payload_bytes), buffers_(buffers), mailbox_(mailbox) {}
  std::size_t payload_bytes() const override { return payload_bytes_; }
  void put(const FinishedBlock& block) override {
    ++pending_;
    mailbox_.post([this, block] { keep(block); });
  }
  const Bytes& stream() const { return stream_; }

 private:
  void keep(const FinishedBlock& block) {
    --pending_;
    stream_.resize(std::max(stream_.size(), block.index * payload_bytes_ + block.bytes));
    std::memcpy(stream_.data() + block.index * payload_bytes_, block.buffer, block.bytes);
    buffers_.give_back(block.buffer);
  }

  std::size_t payload_bytes_;
  io::BufferPool& buffers_;
  Mailbox& mailbox_;
  Bytes stream_;
};

struct Shape {
  unsigned disks = 1;
  std::size_t block_bytes = kSectorBytes;
  std::size_t spare_blocks = 8;  // buffers beyond one for each run
  std::size_t piece_records = 200;
  bool unique = false;
  unsigned threads = 2;
  std::size_t piece_capacity = 0;  // 0: as small as may be
  // Sorters of large pieces, and after how many records of the merge they take over.
  unsigned large_sorters = 0;
  std::uint64_t hand_over_at = 0;
  std::uint64_t stop_at = ~std::uint64_t{0};  // after how many records no more are needed
};

// Merges runs that it has put into scratch, or into files.
class Harness : public RunsOnDisk {
 public:
  Harness(const RecordFormat& format, const Shape& shape, std::uint64_t seed,
          test::TransferFunction transfer = test::honest_transfer)
      : RunsOnDisk(format, shape.disks, shape.block_bytes, seed),
        format_(format),
        shape_(shape),
        workers_(shape.threads),
        io_(test::simulated_queues(seed, std::move(transfer))) {}

  std::size_t piece_capacity() const {
    return std::max(2 * shape_.piece_records + 1, shape_.piece_capacity);
  }

  Bytes expected() const { return test::sorted_records(format_, records(), shape_.unique); }
  std::uint64_t refetched_blocks() const { return refetched_; }
  const MultisetHash& files_hash() const { return files_hash_; }
  std::uint64_t records_handed_over() const { return handed_over_; }
  // What sorts large pieces is given to `wrap` first.
  using Wrap = std::function<std::unique_ptr<PieceSorter>(std::unique_ptr<PieceSorter>)>;
  void wrap_large_sorters(Wrap wrap) { wrap_ = std::move(wrap); }

  // The merged records. Checks that nothing is on its way any more, and, unless it was stopped,
  // that everything borrowed was given back.
  Bytes merge() {
    const std::size_t capacity = piece_capacity();
    const std::size_t blocks =
        std::max(runs().size(), CommonCells(runs(), capacity).blocks_held()) + shape_.spare_blocks;
    MemoryRegion block_memory(blocks * buffer_bytes());
    io::BufferPool pool(block_memory.span(), buffer_bytes());
    const std::size_t output_blocks =
        3 + (shape_.threads + 1) * capacity * format_.record_bytes / kSectorBytes +
        (shape_.large_sorters + 1) * kLarge * capacity * format_.record_bytes / kSectorBytes;
    MemoryRegion output_memory(output_blocks * kSectorBytes);
    io::BufferPool output_pool(output_memory.span(), kSectorBytes);
    std::vector<MemoryRegion> scratch;
    std::vector<std::unique_ptr<PieceSorter>> sorters;
    for (unsigned thread = 0; thread < shape_.threads; ++thread) {
      scratch.emplace_back(piece_scratch_bytes(layout(), capacity));
      sorters.push_back(
          make_piece_sorter(layout(), shape_.unique, capacity, scratch.back().span()));
    }
    std::vector<MemoryRegion> spare_memory;
    std::vector<std::span<std::byte>> spare;
    for (unsigned thread = 0; thread < shape_.threads; ++thread) {
      spare_memory.emplace_back(capacity * format_.record_bytes);
      spare.push_back(spare_memory.back().span());
    }
    CollectingSink sink(kSectorBytes - 96, output_pool, mailbox_);
    OutputStage stage(layout(), {.unique = shape_.unique}, output_pool, sink, mailbox_);
    const MergeContext context{{layout(), io_, workers_, mailbox_, &run_store_},
                               sorters,
                               shape_.piece_records,
                               capacity,
                               spare};
    LargePieces large;
    large.piece_records = kLarge * shape_.piece_records;
    large.piece_capacity = 2 * large.piece_records + 1;
    std::vector<std::unique_ptr<PieceSorter>> large_sorters;
    for (unsigned i = 0; i < shape_.large_sorters; ++i) {
      scratch.emplace_back(piece_scratch_bytes(layout(), large.piece_capacity));
      large_sorters.push_back(wrap_(
          make_piece_sorter(layout(), shape_.unique, large.piece_capacity, scratch.back().span())));
      large.sorters.push_back(large_sorters.back().get());
    }
    RunMerger merger(context, runs(), pool, stage);
    bool handed_over = large.sorters.empty();
    for (;;) {
      if (!handed_over && merger.records_merged() >= shape_.hand_over_at) {
        merger.hand_over(large);
        handed_over = true;
      }
      if (merger.records_merged() >= shape_.stop_at) merger.stop();
      merger.pump();
      if (merger.finished()) break;
      mailbox_.wait_and_run();
    }
    EXPECT_TRUE(merger.idle());
    handed_over_ = merger.records_handed_over();
    stage.finish();
    while (sink.pending() > 0) mailbox_.wait_and_run();
    if (merger.records_merged() >= shape_.stop_at) return sink.stream();
    EXPECT_EQ(pool.available(), pool.count());
    EXPECT_EQ(output_pool.available(), output_pool.count());
    EXPECT_EQ(store().bytes_in_use(), 0u);
    EXPECT_EQ(merger.records_merged() * format_.record_bytes, records().size());
    EXPECT_EQ(stage.hash(), test::hash_of(sink.stream(), format_.record_bytes));
    refetched_ = merger.refetched_blocks();
    files_hash_ = merger.files_hash();
    return sink.stream();
  }

 private:
  static constexpr std::size_t kLarge = 8;  // times as large as other pieces

  test::Watchdog watchdog_;
  RecordFormat format_;
  Shape shape_;
  std::uint64_t refetched_ = 0;
  std::uint64_t handed_over_ = 0;
  Wrap wrap_ = [](std::unique_ptr<PieceSorter> sorter) { return sorter; };
  MultisetHash files_hash_;
  Mailbox mailbox_;
  Workers workers_;
  io::IoService io_;
  RunStore run_store_{store(), io_};
};

}  // namespace xxl::test::merge
