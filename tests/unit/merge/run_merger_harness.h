// Merges runs that it has put into scratch, or into files.
#pragma once

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/transfer.h"
#include "io_test_support.h"
#include "merge/run_merger.h"
#include "run/file_run.h"
#include "run/run_store.h"
#include "simulated_queue.h"
#include "sort/classifier.h"
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
};

// Merges runs that it has put into scratch, or into files.
class Harness {
 public:
  Harness(const RecordFormat& format, const Shape& shape, std::uint64_t seed,
          test::TransferFunction transfer = test::honest_transfer)
      : format_(format),
        shape_(shape),
        layout_(format),
        store_(std::vector<std::string>(shape.disks, directory_.path()), shape.block_bytes, seed),
        workers_(shape.threads),
        random_(seed),
        io_(test::simulated_queues(seed, std::move(transfer))) {}

  // A run of `records`, which are in order.
  void add_scratch_run(const Bytes& records) { add_scratch_run(records, std::nullopt); }

  // A run of `records` in order but for those cells of `grid` that `leave_unsorted` chooses: their
  // records lie in the order of `records`. The oracle is given that order.
  template <class LeaveUnsorted>
  void add_run_of_cells(const CellGrid& grid, const Bytes& records, LeaveUnsorted leave_unsorted) {
    const std::size_t size = format_.record_bytes;
    std::vector<Bytes> cells(grid.cells());
    for (std::size_t at = 0; at < records.size(); at += size) {
      const std::byte* record = records.data() + at;
      Bytes& cell = cells[grid.cell_of(trigger_of(layout_, record))];
      cell.insert(cell.end(), record, record + size);
    }
    RunCells run_cells(grid);
    Bytes run;
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      if (cells[cell].empty()) continue;
      const bool sorted = !leave_unsorted(cells[cell].size() / size);
      run_cells.enter(cell, run.size() / size, sorted);
      if (sorted) cells[cell] = test::sorted_records(format_, cells[cell]);
      run.insert(run.end(), cells[cell].begin(), cells[cell].end());
    }
    run_cells.finish(run.size() / size);
    add_scratch_run(run, std::move(run_cells));
  }

  std::size_t piece_capacity() const {
    return std::max(2 * shape_.piece_records + 1, shape_.piece_capacity);
  }

 private:
  void add_scratch_run(const Bytes& records, std::optional<RunCells> cells) {
    Run run;
    run.cells = std::move(cells);
    run.records = records.size() / format_.record_bytes;
    run.records_per_block = shape_.block_bytes / format_.record_bytes;
    run.identity = random_() | 1;
    const std::size_t payload = run.records_per_block * format_.record_bytes;
    MemoryRegion buffer(shape_.block_bytes);
    for (std::size_t at = 0; at < records.size(); at += payload) {
      const std::size_t bytes = std::min(payload, records.size() - at);
      std::memcpy(buffer.data(), records.data() + at, bytes);
      RunBlock block;
      block.trigger = block_trigger(run, layout_, buffer.data());
      static_cast<StoredBlock&>(block) = write(run, {buffer.data(), bytes});
      run.blocks.push_back(block);
    }
    runs_.push_back(std::move(run));
    append(records);
  }

  StoredBlock write(Run& run, std::span<std::byte> records) {
    std::promise<void> written;
    RunStore honest(store_, honest_io_);
    const StoredBlock block =
        honest.write(run, run.blocks.size(), records.data(), records.size(),
                     [&written](const std::exception_ptr& failure) {
                       failure == nullptr ? written.set_value() : written.set_exception(failure);
                     });
    written.get_future().get();
    return block;
  }

 public:
  // A sorted run as a file whose records start at `offset`.
  void add_file_run(const Bytes& records, std::size_t offset) {
    const std::string path = directory_ / "run" + std::to_string(runs_.size());
    std::string text(offset, 'x');
    text.append(reinterpret_cast<const char*>(records.data()), records.size());
    io::test::write_file(path, text);
    runs_.push_back(open_file_run(std::make_shared<io::File>(io::File::open_input(path)), offset,
                                  records.size() / format_.record_bytes, layout_,
                                  shape_.block_bytes + 2 * kSectorBytes));
    append(records);
  }

  std::vector<Run>& runs() { return runs_; }
  const std::string& directory() const { return directory_.path(); }
  Bytes expected() const { return test::sorted_records(format_, all_, shape_.unique); }
  std::uint64_t refetched_blocks() const { return refetched_; }
  const MultisetHash& files_hash() const { return files_hash_; }
  std::uint64_t records_handed_over() const { return handed_over_; }
  // What sorts large pieces is given to `wrap` first.
  using Wrap = std::function<std::unique_ptr<PieceSorter>(std::unique_ptr<PieceSorter>)>;
  void wrap_large_sorters(Wrap wrap) { wrap_ = std::move(wrap); }

  // The merged records. Checks that everything borrowed was given back.
  Bytes merge() {
    const std::size_t capacity = piece_capacity();
    const std::size_t buffer_bytes = shape_.block_bytes + 2 * kSectorBytes;
    const std::size_t blocks =
        std::max(runs_.size(), RunMerger::blocks_held(runs_, capacity)) + shape_.spare_blocks;
    MemoryRegion block_memory(blocks * buffer_bytes);
    io::BufferPool pool(block_memory.span(), buffer_bytes);
    const std::size_t output_blocks =
        3 + (shape_.threads + 1) * capacity * format_.record_bytes / kSectorBytes +
        (shape_.large_sorters + 1) * kLarge * capacity * format_.record_bytes / kSectorBytes;
    MemoryRegion output_memory(output_blocks * kSectorBytes);
    io::BufferPool output_pool(output_memory.span(), kSectorBytes);
    std::vector<MemoryRegion> scratch;
    std::vector<std::unique_ptr<PieceSorter>> sorters;
    for (unsigned thread = 0; thread < shape_.threads; ++thread) {
      scratch.emplace_back(piece_scratch_bytes(layout_, capacity));
      sorters.push_back(make_piece_sorter(layout_, shape_.unique, capacity, scratch.back().span()));
    }
    std::vector<MemoryRegion> spare_memory;
    std::vector<std::span<std::byte>> spare;
    for (unsigned thread = 0; thread < shape_.threads; ++thread) {
      spare_memory.emplace_back(capacity * format_.record_bytes);
      spare.push_back(spare_memory.back().span());
    }
    CollectingSink sink(kSectorBytes - 96, output_pool, mailbox_);
    OutputStage stage(layout_, {.unique = shape_.unique}, output_pool, sink, mailbox_);
    const MergeContext context{
        layout_,  io_,  workers_, mailbox_, &run_store_, sorters, shape_.piece_records,
        capacity, spare};
    LargePieces large;
    large.piece_records = kLarge * shape_.piece_records;
    large.piece_capacity = 2 * large.piece_records + 1;
    std::vector<std::unique_ptr<PieceSorter>> large_sorters;
    for (unsigned i = 0; i < shape_.large_sorters; ++i) {
      scratch.emplace_back(piece_scratch_bytes(layout_, large.piece_capacity));
      large_sorters.push_back(wrap_(
          make_piece_sorter(layout_, shape_.unique, large.piece_capacity, scratch.back().span())));
      large.sorters.push_back(large_sorters.back().get());
    }
    RunMerger merger(context, runs_, pool, stage);
    bool handed_over = large.sorters.empty();
    for (;;) {
      if (!handed_over && merger.records_merged() >= shape_.hand_over_at) {
        merger.hand_over(large);
        handed_over = true;
      }
      merger.pump();
      if (merger.finished()) break;
      mailbox_.wait_and_run();
    }
    handed_over_ = merger.records_handed_over();
    stage.finish();
    while (sink.pending() > 0) mailbox_.wait_and_run();
    EXPECT_EQ(pool.available(), pool.count());
    EXPECT_EQ(output_pool.available(), output_pool.count());
    EXPECT_EQ(store_.bytes_in_use(), 0u);
    EXPECT_EQ(merger.records_merged() * format_.record_bytes, all_.size());
    EXPECT_EQ(stage.hash(), test::hash_of(sink.stream(), format_.record_bytes));
    refetched_ = merger.refetched_blocks();
    files_hash_ = merger.files_hash();
    return sink.stream();
  }

 private:
  static constexpr std::size_t kLarge = 8;  // times as large as other pieces

  void append(const Bytes& records) { all_.insert(all_.end(), records.begin(), records.end()); }

  test::Watchdog watchdog_;
  RecordFormat format_;
  Shape shape_;
  KeyLayout layout_;
  io::test::TempDirectory directory_;
  io::ScratchStore store_;
  std::vector<Run> runs_;
  Bytes all_;
  std::uint64_t refetched_ = 0;
  std::uint64_t handed_over_ = 0;
  Wrap wrap_ = [](std::unique_ptr<PieceSorter> sorter) { return sorter; };
  MultisetHash files_hash_;
  Mailbox mailbox_;
  Workers workers_;
  Random random_;
  io::IoService io_;
  io::IoService honest_io_{test::simulated_queues(1)};  // what writes runs
  RunStore run_store_{store_, io_};
};

}  // namespace xxl::test::merge
