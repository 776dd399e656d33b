// Merges of text on simulated disks that serve one read each at a time, all in step.
#include "merge/general_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_region.h"
#include "base/random.h"
#include "io/transfer.h"
#include "io_test_support.h"
#include "simulated_queue.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::WholeLine;

using Records = std::vector<std::string>;

constexpr std::size_t kTextBlockBytes = kSectorBytes;

// A round serves what has waited longest on each disk (here: file). It begins when nothing else can
// be done: rounds are tasks of the only worker, behind all others.
class DisksInStep final : public io::IoQueue {
 public:
  // Counts in `rounds`.
  DisksInStep(Workers& workers, std::size_t& rounds) : workers_(workers), rounds_(rounds) {}

  void submit(io::Request request) noexcept override {
    if (request.op == io::Op::write) return carry_out(std::move(request));
    disks_[request.file].push_back(std::move(request));
    if (waiting_++ == 0) begin_round(0);
  }
  void register_memory(std::span<std::byte>) override {}
  io::QueueStats stats() const override { return {}; }
  std::string name() const override { return "in step"; }

 private:
  // What a read makes possible, and what that makes possible in turn, comes first.
  static constexpr unsigned kTasksOfRead = 3;

  static void carry_out(io::Request request) {
    io::Transfer transfer(std::move(request));
    transfer.carry_out();
    transfer.finish();
  }
  void begin_round(unsigned turn) {
    workers_.run([this, turn](unsigned) { turn < kTasksOfRead ? begin_round(turn + 1) : serve(); });
  }
  void serve() {
    ++rounds_;
    for (auto& [file, queue] : disks_) {
      if (queue.empty()) continue;
      io::Request request = std::move(queue.front());
      queue.pop_front();
      --waiting_;
      carry_out(std::move(request));
    }
    if (waiting_ > 0) begin_round(0);
  }

  Workers& workers_;
  std::map<const io::File*, std::deque<io::Request>> disks_;
  std::size_t waiting_ = 0;
  std::size_t& rounds_;
};

class Collector final : public CellWork {
 public:
  bool marks_same() const override { return false; }
  bool take(std::size_t cell, std::span<const CellRecords> sides, const Sort& sort) override {
    sort();
    Records records;
    for (std::size_t i = 0; i < sides[0].size(); ++i) records.emplace_back(sides[0][i]);
    return keep(cell, std::move(records));
  }
  bool stream(std::size_t cell, std::span<RecordMerge> sides) override {
    Records records;
    while (sides[0].next()) records.emplace_back(sides[0].record());
    ++streamed_;
    return keep(cell, std::move(records));
  }
  void skip(std::size_t) override {}

  Records merged() const {
    Records all;
    for (const auto& [cell, records] : cells_)
      all.insert(all.end(), records.begin(), records.end());
    return all;
  }
  std::size_t streamed() const { return streamed_; }

 private:
  bool keep(std::size_t cell, Records records) {
    std::lock_guard lock(mutex_);
    cells_[cell] = std::move(records);
    return true;
  }

  std::mutex mutex_;
  std::map<std::size_t, Records> cells_;
  std::size_t streamed_ = 0;  // one at a time
};

struct TextShape {
  unsigned disks = 8;
  std::size_t runs = 32;
  std::size_t records_of_run = 200;
  std::size_t buffers = 64;     // blocks that there is memory for
  std::size_t longest = 1000;   // bytes of a record, at least 1000
  std::size_t same_of_ten = 0;  // records that have one key
};

Records sorted_records(const TextShape& shape, Random& random) {
  Records records(shape.records_of_run);
  for (std::string& record : records) {
    record.resize(1000 + random.below(shape.longest - 999), 'm');
    if (random.below(10) < shape.same_of_ten) {
      record.resize(1000);
      continue;
    }
    for (char& c : record) c = static_cast<char>('a' + random.below(26));
  }
  std::sort(records.begin(), records.end());
  return records;
}

// Merges random runs on `workers`; returns the number of their blocks.
std::size_t merge_runs(const TextShape& shape, std::uint64_t seed, Workers& workers,
                       io::IoService::Factory queues) {
  const io::test::TempDirectory directory;
  io::ScratchStore store(std::vector<std::string>(shape.disks, directory.path()), kTextBlockBytes,
                         seed);
  Monitor monitor;
  io::IoService io(std::move(queues));
  GeneralScratch scratch(store, io, monitor);
  const WholeLine keys;
  const MemoryRegion memory((shape.buffers + 4) * kTextBlockBytes);
  WriteBuffers write_buffers(memory.span().first(4 * kTextBlockBytes), monitor);

  Random random(seed);
  Records expected;
  std::deque<GeneralRun> runs(shape.runs);
  std::vector<MergeSource> sources;
  std::size_t blocks_of_runs = 0;
  for (GeneralRun& run : runs) {
    const Records records = sorted_records(shape, random);
    GeneralRunWriter writer(run, keys, scratch, write_buffers, kTextBlockBytes);
    for (const std::string& record : records) writer.add(record);
    writer.finish();
    expected.insert(expected.end(), records.begin(), records.end());
    blocks_of_runs += run.blocks.size();
    sources.push_back({.run = &run, .resident = {}});
  }
  scratch.wait_for_writes();
  std::sort(expected.begin(), expected.end());

  BlockMemory blocks(monitor);
  blocks.extents().add(memory.span().last(shape.buffers * kTextBlockBytes));
  std::vector<std::vector<StringItem>> items(2 * workers.width(), std::vector<StringItem>(2000));
  std::vector<CellWorkspace> workspaces;
  for (unsigned thread = 0; thread < workers.width(); ++thread) {
    workspaces.push_back({items[2 * thread], items[2 * thread + 1], {}});
  }
  Collector collector;
  GeneralMerger merger(sources, {MergeSide{&keys, &scratch}}, 4 * kTextBlockBytes, workspaces,
                       blocks, collector, workers, monitor);
  merger.run([](std::uint64_t) {});
  EXPECT_TRUE(collector.merged() == expected);
  EXPECT_EQ(collector.streamed() > 0, shape.same_of_ten > 0);
  return blocks_of_runs;
}

TEST(GeneralMerger, keeps_all_disks_busy) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const TextShape shape;
    Workers workers(1, Workers::Threads::none);
    std::size_t rounds = 0;
    const std::size_t blocks = merge_runs(
        shape, seed, workers, [&] { return std::make_unique<DisksInStep>(workers, rounds); });
    // In the order of need it takes 1.2 times as many as there must be at least.
    EXPECT_LT(rounds, blocks / shape.disks * 114 / 100);
  }
}

TEST(GeneralMerger, merges_what_can_be_held_before_and_behind_what_cannot) {
  Workers workers(2);
  for (const unsigned disks : {1U, 8U}) {
    merge_runs({.disks = disks, .same_of_ten = 5}, 4, workers, test::simulated_queues(4));
  }
}

TEST(GeneralMerger, merges_blocks_of_different_sizes) {
  Workers workers(2);
  for (const unsigned disks : {1U, 8U}) {
    merge_runs({.disks = disks, .runs = 8, .buffers = 80, .longest = 20000}, 5, workers,
               test::simulated_queues(5));
  }
}

}  // namespace
}  // namespace xxl
