// Runs without disks, whose blocks come into memory as a test wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "merge/fetched_run.h"
#include "record/key_layout.h"
#include "run/run.h"
#include "sort_test_support.h"

namespace xxl::test::merge {

// `records` dealt out to `runs` runs, each in order. They share keys if the records do.
inline std::vector<Bytes> dealt_out(const RecordFormat& format, const Bytes& records,
                                    std::size_t runs, Random& random) {
  std::vector<Bytes> dealt(runs);
  for (std::size_t at = 0; at < records.size(); at += format.record_bytes) {
    const auto record = records.begin() + static_cast<std::ptrdiff_t>(at);
    Bytes& run = dealt[random.below(runs)];
    run.insert(run.end(), record, record + static_cast<std::ptrdiff_t>(format.record_bytes));
  }
  for (Bytes& run : dealt) run = sorted_records(format, run);
  return dealt;
}

class RunsInMemory {
 public:
  // Runs of `records`, each in order; nothing of them is there.
  RunsInMemory(const RecordFormat& format, std::size_t records_per_block,
               std::vector<Bytes> records)
      : layout_(format), data_(std::move(records)), described_(data_.size()) {
    const std::size_t block_bytes = records_per_block * layout_.record_bytes();
    for (std::size_t i = 0; i < data_.size(); ++i) {
      Run& run = described_[i];
      run.records = data_[i].size() / layout_.record_bytes();
      run.records_per_block = records_per_block;
      for (std::size_t at = 0; at < data_[i].size(); at += block_bytes) {
        run.blocks.emplace_back().trigger = block_trigger(run, layout_, data_[i].data() + at);
      }
      runs_.emplace_back(run, layout_.record_bytes());
    }
  }
  // The first block that is missing of `runs()[run]` arrives; there must be one.
  void fetch_next_of(std::size_t run) {
    const std::uint32_t block = runs_[run].first_missing();
    std::byte* const buffer =
        data_[run].data() + block * described_[run].records_per_block * layout_.record_bytes();
    runs_[run].start(block);
    runs_[run].arrive(block, buffer, buffer);
  }
  void fetch_all() {
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      while (runs_[run].first_missing() < described_[run].blocks.size()) fetch_next_of(run);
    }
  }

  const KeyLayout& layout() const { return layout_; }
  const std::vector<FetchedRun>& runs() const { return runs_; }
  const std::vector<Run>& described() const { return described_; }
  const Bytes& records_of(std::size_t run) const { return data_[run]; }
  // Of all runs, one after the other.
  Bytes records() const {
    Bytes all;
    for (const Bytes& run : data_) all.insert(all.end(), run.begin(), run.end());
    return all;
  }

 private:
  KeyLayout layout_;
  std::vector<Bytes> data_;
  std::vector<Run> described_;
  std::vector<FetchedRun> runs_;
};

}  // namespace xxl::test::merge
