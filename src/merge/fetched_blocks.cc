#include "merge/fetched_blocks.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/task.h"
#include "base/units.h"
#include "io/input_checks.h"
#include "merge/common_cells.h"
#include "merge/prefetch_schedule.h"
#include "run/file_run.h"

namespace xxl {
namespace {

FetchOrder fetch_order(const FetchContext& context, const std::vector<Run>& runs,
                       const io::BufferPool& buffers, std::size_t held) {
  XXL_CHECK(buffers.count() > held);
  const unsigned disks = context.store == nullptr ? 1 : context.store->disks();
  const std::size_t spare = buffers.count() - held;
  const std::size_t wanted = scheduled_buffers(spare, 2 * disks);
  // With no more than are spare, no block must ever be dropped. What was sorted in memory cannot
  // be: it would be read again as it was before.
  return FetchOrder(predicted_blocks(runs, triggers_are_exact(context.layout)), disks,
                    has_cells(runs) ? std::min(wanted, spare) : wanted);
}

}  // namespace

FetchedBlocks::FetchedBlocks(const FetchContext& context, const std::vector<Run>& runs,
                             io::BufferPool& buffers, std::size_t held, OnChange on_change)
    : context_(context),
      buffers_(buffers),
      on_change_(std::move(on_change)),
      order_(fetch_order(context, runs, buffers, held)) {
  runs_.reserve(runs.size());
  for (const Run& run : runs) runs_.emplace_back(run, context.layout.record_bytes());
}

void FetchedBlocks::fetch() {
  while (buffers_.available() > 0) {
    BlockRef ref;
    if (!dropped_.empty()) {
      ref = dropped_.front();
      dropped_.pop_front();
    } else if (!order_.finished()) {
      ref = order_.next();
    } else {
      return;
    }
    // A block fetched out of order may already have come and gone.
    if (runs_[ref.run].lacks(ref.block)) start_read(ref);
  }
}

void FetchedBlocks::fetch_next_of(std::uint32_t run) {
  if (buffers_.available() == 0) drop_farthest();
  ++refetched_;
  start_read({run, runs_[run].first_missing()});
}

void FetchedBlocks::release(const std::vector<std::uint64_t>& ends) {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const Run& run = runs_[i].run();
    std::uint32_t block = runs_[i].first_block();
    while (std::byte* const buffer = runs_[i].release_before(ends[i])) {
      buffers_.give_back(buffer);
      if (run.in_scratch() && !context_.keeps_blocks)
        context_.store->release(run, run.blocks[block]);
      ++block;
    }
  }
}

// ---- reading ----

void FetchedBlocks::start_read(BlockRef ref) {
  runs_[ref.run].start(ref.block);
  ++reading_;
  std::byte* const buffer = buffers_.take();
  return runs_[ref.run].run().in_scratch() ? read_of_scratch(ref, buffer)
                                           : read_of_file(ref, buffer);
}

void FetchedBlocks::read_of_scratch(BlockRef ref, std::byte* buffer) {
  const Run& run = runs_[ref.run].run();
  const RunBlock& stored = run.blocks[ref.block];
  XXL_CHECK(RunStore::buffer_bytes(stored) <= buffers_.buffer_bytes());
  context_.store->read(
      run, stored, buffer,
      [this, ref, buffer, token = in_flight_.begin()](std::exception_ptr failure) mutable {
        context_.mailbox.post([this, ref, buffer, failure = std::move(failure)] {
          if (failure != nullptr) {
            --reading_;
            std::rethrow_exception(failure);
          }
          check(ref, buffer, 0);
        });
        token.reset();
      });
}

void FetchedBlocks::read_of_file(BlockRef ref, std::byte* buffer) {
  const Run& run = runs_[ref.run].run();
  const std::size_t record_bytes = context_.layout.record_bytes();
  const std::uint64_t start =
      run.file_offset + std::uint64_t{ref.block} * run.records_per_block * record_bytes;
  const std::uint64_t offset = round_down<std::uint64_t>(start, kSectorBytes);
  const std::size_t lead = start - offset;  // read before the block for the sake of alignment
  const std::size_t wanted = lead + run.records_in_block(ref.block) * record_bytes;
  XXL_CHECK(round_up(wanted, kSectorBytes) <= buffers_.buffer_bytes());
  io::Request request{
      io::Op::read, run.file.get(), offset, {buffer, round_up(wanted, kSectorBytes)}, {}};
  request.done = [this, ref, buffer, lead, wanted, file = run.file.get(), offset,
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    context_.mailbox.post([this, ref, buffer, lead, wanted, file, offset, completion] {
      if (completion.error != 0 || completion.bytes < wanted) {
        --reading_;
        io::check_read(*file, offset, wanted, completion);
      }
      check(ref, buffer, lead);
    });
    token.reset();
  };
  context_.io.queue_for(*request.file).submit(std::move(request));
}

// Has a worker check the block, which starts `lead` bytes into the buffer; only then is it there.
void FetchedBlocks::check(BlockRef ref, std::byte* buffer, std::size_t lead) {
  std::byte* const records = buffer + lead;
  run_task(context_.workers, context_.mailbox, in_flight_, [this, ref, buffer, records](unsigned) {
    std::exception_ptr fault;
    MultisetHash hash;
    try {
      hash = check_records(ref, records);
    } catch (...) {
      fault = std::current_exception();
    }
    context_.mailbox.post([this, ref, buffer, records, fault = std::move(fault), hash] {
      --reading_;
      if (fault != nullptr) std::rethrow_exception(fault);
      if (runs_[ref.run].arrive(ref.block, buffer, records)) files_hash_ += hash;
      on_change_(ref.run);
    });
  });
}

// Checks a block that was read, and unpacks it. Returns what files_hash() has of it. Throws Error.
MultisetHash FetchedBlocks::check_records(BlockRef ref, std::byte* records) const {
  const Run& run = runs_[ref.run].run();
  if (!run.in_scratch()) return check_file_block(run, context_.layout, ref.block, records);
  context_.store->open(run, run.blocks[ref.block], records);
  return {};
}

// ---- when memory is full of blocks that cannot be merged yet ----

// Drops the last block in memory of the run whose last block starts with the largest key; a run's
// only block, or one merged in part, is worth more if kept.
void FetchedBlocks::drop_farthest() {
  BlockRef farthest;
  const std::byte* farthest_record = nullptr;
  for (std::uint32_t i = 0; i < runs_.size(); ++i) {
    XXL_CHECK(!runs_[i].run().cells);
    const std::optional<std::uint32_t> last = runs_[i].last_block();
    if (!last) continue;
    const std::byte* first =
        runs_[i].record(std::uint64_t{*last} * runs_[i].run().records_per_block);
    if (farthest_record == nullptr || context_.layout.compare(first, farthest_record) >= 0) {
      farthest = {i, *last};
      farthest_record = first;
    }
  }
  XXL_CHECK(farthest_record != nullptr);
  buffers_.give_back(runs_[farthest.run].drop(farthest.block));
  on_change_(farthest.run);
  dropped_.push_front(farthest);
}

}  // namespace xxl
