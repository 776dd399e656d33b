// Sorted runs in temporary files, merged a batch at a time.
//
// A batch is everything in memory that does not come after some record, the split. Blocks are
// fetched in the order of their first records. So all records before the first one of the next
// block are in memory, and no split goes beyond it. Source: Dementiev and Sanders, "Asynchronous
// Parallel Disk Sorting" (SPAA 2003), section 2.2.
//
//     run 0    |a  c  f |g  k |  not fetched        in memory: c f g h i k
//     run 1       |b  d  h  i |m  ...               split: at most m
//
// A run added later may have a block needed sooner than the blocks in memory. Then the farthest
// block makes room, and is read again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <list>
#include <utility>
#include <vector>

#include "xxl/scratch_blocks.h"

namespace xxl::detail {

// A sorted run.
template <class T>
struct RunOfBlocks {
  struct Block {
    T first;
    std::uint32_t number;
    std::uint32_t records;
  };
  std::vector<Block> blocks;
  std::size_t begun = 0;  // number of blocks that have given records
  std::size_t next = 0;   // the block to fetch next

  bool is_done() const { return begun == blocks.size(); }
  const Block& next_block() const { return blocks[next]; }
};

// `Before`: a strict weak order.
template <class T, class Before>
class MergedRuns {
 public:
  // `buffers`: blocks of the memory of `files`, more than runs are added. `files` must outlive it.
  MergedRuns(ScratchBlocks& files, std::vector<std::byte*> buffers, Before before)
      : files_(files),
        buffers_(buffers.size()),
        free_(std::move(buffers)),
        before_(std::move(before)) {}

  using Run = RunOfBlocks<T>;

  // The number of runs that have a block from which nothing was taken.
  std::size_t runs() const { return runs_.size(); }
  void add(Run run) { runs_.push_back(std::move(run)); }
  // Takes the shortest runs from `other`, two at least, except blocks begun there. Each one is not
  // longer than all before it together, so a record is merged again only with as many others.
  void add_shortest(MergedRuns& other) {
    other.wait();
    other.drop_all();
    const auto blocks_left = [](const Run& run) { return run.blocks.size() - run.begun; };
    other.runs_.sort([&](const Run& a, const Run& b) { return blocks_left(a) < blocks_left(b); });
    std::size_t blocks = 0;
    auto end = other.runs_.begin();
    for (std::size_t runs = 0; end != other.runs_.end(); ++end, ++runs) {
      if (runs >= 2 && blocks_left(*end) > blocks) break;
      blocks += blocks_left(*end);
    }
    runs_.splice(runs_.end(), other.runs_, other.runs_.begin(), end);
  }

  // Begins to read what comes next.
  void fetch() {
    for (Run* run; (run = next_run()) != nullptr; ++run->next) {
      if (free_.empty() && !drop_farther_than(run->next_block().first)) return;
      const auto& block = run->next_block();
      files_.read(block.number, free_.back());
      T* const records = reinterpret_cast<T*>(free_.back());
      loaded_.push_back({records, records + block.records, free_.back(), run, run->next, true});
      free_.pop_back();
    }
  }
  // Fetches, and waits until everything that was fetched is there.
  void load() {
    wait();
    fetch();
    wait();
  }

  // The members below are for use after load().

  // No split may come after this record. Null: everything is in memory.
  const T* limit() const {
    const Run* const run = next_run();
    return run == nullptr ? nullptr : &run->next_block().first;
  }
  std::uint64_t records_in_memory() const {
    std::uint64_t records = 0;
    for (const Loaded& block : loaded_) records += block.size();
    return records;
  }
  std::size_t blocks_in_memory() const { return loaded_.size(); }
  // Whether too many buffers hold begun blocks: the ends of many runs. Then all records in memory
  // must be taken.
  bool is_crowded() const {
    const auto begun = std::count_if(loaded_.begin(), loaded_.end(),
                                     [](const Loaded& block) { return block.run == nullptr; });
    return static_cast<std::size_t>(begun) > buffers_ / 4 * 3;
  }
  // Appends every `stride`-th record in memory.
  void sample(std::size_t stride, std::vector<const T*>& to) const {
    for (const Loaded& block : loaded_) {
      for (std::size_t i = stride - 1; i < block.size(); i += stride) to.push_back(block.at + i);
    }
  }
  // How many come before `split`.
  std::uint64_t count_before(const T& split) const {
    std::uint64_t records = 0;
    for (const Loaded& block : loaded_) {
      records += block.count([&](const T& record) { return before_(record, split); });
    }
    return records;
  }
  // Moves at most `most` records accepted by `takes` to `to`. Returns the end.
  template <class Takes>
  T* take(T* to, std::size_t most, const Takes& takes) {
    for (Loaded& block : loaded_) {
      const std::size_t some = std::min(block.count(takes), most);
      if (some == 0) continue;
      if (Run* const run = std::exchange(block.run, nullptr)) {
        files_.release(run->blocks[block.index].number);
        ++run->begun;
      }
      std::memcpy(static_cast<void*>(to), block.at, some * sizeof(T));
      to += some;
      block.at += some;
      most -= some;
      if (block.size() == 0) free_.push_back(block.buffer);
    }
    std::erase_if(loaded_, [](const Loaded& block) { return block.size() == 0; });
    std::erase_if(runs_, [](const Run& run) { return run.is_done(); });
    return to;
  }

 private:
  struct Loaded {
    T* at;  // the first record that has not been taken
    T* end;
    std::byte* buffer;
    Run* run;  // null: the block is begun
    std::size_t index;
    bool moving;

    std::size_t size() const { return static_cast<std::size_t>(end - at); }
    template <class Takes>
    std::size_t count(const Takes& takes) const {
      return static_cast<std::size_t>(std::partition_point(at, end, takes) - at);
    }
  };

  Run* next_run() const {
    const Run* next = nullptr;
    for (const Run& run : runs_) {
      if (run.next == run.blocks.size()) continue;
      if (next == nullptr || before_(run.next_block().first, next->next_block().first)) {
        next = &run;
      }
    }
    return const_cast<Run*>(next);
  }
  void wait() {
    for (Loaded& block : loaded_) {
      if (block.moving) files_.wait_read(block.run->blocks[block.index].number);
      block.moving = false;
    }
  }
  // Makes a buffer free, unless all hold what comes before `record`.
  bool drop_farther_than(const T& record) {
    auto farthest = loaded_.end();
    for (auto block = loaded_.begin(); block != loaded_.end(); ++block) {
      if (block->run == nullptr) continue;
      if (farthest == loaded_.end() || !before_(*block->at, *farthest->at)) farthest = block;
    }
    if (farthest == loaded_.end() || farthest->moving || !before_(record, *farthest->at)) {
      return false;
    }
    farthest->run->next = farthest->index;
    free_.push_back(farthest->buffer);
    loaded_.erase(farthest);
    return true;
  }
  void drop_all() {
    for (const Loaded& block : loaded_) {
      if (block.run == nullptr) continue;
      block.run->next = block.run->begun;
      free_.push_back(block.buffer);
    }
    std::erase_if(loaded_, [](const Loaded& block) { return block.run != nullptr; });
  }

  ScratchBlocks& files_;
  const std::size_t buffers_;
  std::vector<std::byte*> free_;
  Before before_;
  std::list<Run> runs_;
  std::vector<Loaded> loaded_;
};

}  // namespace xxl::detail
