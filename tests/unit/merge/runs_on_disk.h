// Runs that are put into scratch, or into files, for tests of what reads them.
#pragma once

#include <algorithm>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_region.h"
#include "base/random.h"
#include "io_test_support.h"
#include "record/key_layout.h"
#include "run/file_run.h"
#include "run/run.h"
#include "run/run_store.h"
#include "simulated_queue.h"
#include "sort_test_support.h"

namespace xxl::test::merge {

class RunsOnDisk {
 public:
  // Scratch on `disks` disks; runs in files have blocks of the same size.
  RunsOnDisk(const RecordFormat& format, unsigned disks, std::size_t block_bytes,
             std::uint64_t seed)
      : format_(format),
        layout_(format),
        block_bytes_(block_bytes),
        store_(std::vector<std::string>(disks, directory_.path()), block_bytes, seed),
        random_(seed) {}

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

  // A sorted run as a file whose records start at `offset`.
  void add_file_run(const Bytes& records, std::size_t offset) {
    const std::string path = directory_ / "run" + std::to_string(runs_.size());
    std::string text(offset, 'x');
    text.append(reinterpret_cast<const char*>(records.data()), records.size());
    io::test::write_file(path, text);
    runs_.push_back(open_file_run(std::make_shared<io::File>(io::File::open_input(path)), offset,
                                  records.size() / format_.record_bytes, layout_, buffer_bytes()));
    append(records);
  }

  // Of a buffer that holds a block of any run.
  std::size_t buffer_bytes() const { return block_bytes_ + 2 * kSectorBytes; }
  const KeyLayout& layout() const { return layout_; }
  const std::string& directory() const { return directory_.path(); }
  io::ScratchStore& store() { return store_; }
  const std::vector<Run>& runs() const { return runs_; }
  // The records of all runs, one run after the other.
  const Bytes& records() const { return records_; }

 private:
  void add_scratch_run(const Bytes& records, std::optional<RunCells> cells) {
    Run run;
    run.cells = std::move(cells);
    run.records = records.size() / format_.record_bytes;
    run.records_per_block = block_bytes_ / format_.record_bytes;
    const std::size_t payload = run.records_per_block * format_.record_bytes;
    MemoryRegion buffer(block_bytes_);
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
    const StoredBlock block = honest.write(
        run, records.data(), records.size(), [&written](const std::exception_ptr& failure) {
          failure == nullptr ? written.set_value() : written.set_exception(failure);
        });
    written.get_future().get();
    return block;
  }

  void append(const Bytes& records) {
    records_.insert(records_.end(), records.begin(), records.end());
  }

  RecordFormat format_;
  KeyLayout layout_;
  std::size_t block_bytes_;
  io::test::TempDirectory directory_;
  io::ScratchStore store_;
  std::vector<Run> runs_;
  Bytes records_;
  Random random_;
  io::IoService honest_io_{test::simulated_queues(1)};
};

}  // namespace xxl::test::merge
