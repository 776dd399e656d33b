#include "job/join/probe_input.h"

#include <algorithm>

#include "base/task.h"

namespace xxl {

std::optional<ProbeInput::Records> ProbeBlocks::next(std::size_t most) {
  release();
  reader_.pump();
  while (blocks_.empty() || blocks_.back().cut == blocks_.back().records) {
    const auto block = reader_.next();
    if (!block) return std::nullopt;
    const std::size_t records = block->records.size() / record_bytes_;
    if (records == 0) {
      reader_.release(*block);
      reader_.pump();
      continue;
    }
    blocks_.push_back({*block, records});
  }
  Block& block = blocks_.back();
  const Records piece{block.block.records.data() + block.cut * record_bytes_,
                      std::min(most, block.records - block.cut), first_ + blocks_.size() - 1};
  block.cut += piece.count;
  ++block.uses;
  return piece;
}

void ProbeBlocks::done(const Records& piece) {
  --block(piece).uses;
  release();
}

// Returns blocks that are no longer needed to the reader.
void ProbeBlocks::release() {
  while (!blocks_.empty() && blocks_.front().uses == 0 &&
         blocks_.front().cut == blocks_.front().records) {
    meter_.advance(blocks_.front().block.records.size());
    reader_.release(blocks_.front().block);
    blocks_.pop_front();
    ++first_;
  }
}

ProbeBatches::ProbeBatches(const Context& context)
    : c_(context),
      slabs_(context.memory, context.slab_bytes),
      partitions_{HashPartitions(context.table, context.layout, slabs_),
                  HashPartitions(context.table, context.layout, slabs_)} {}

// Has what has been read distributed, as long as there is a batch for it.
void ProbeBatches::fill() {
  for (;;) {
    c_.reader.pump();
    Batch& batch = batches_[filling_];
    if (batch.stage != Stage::filling) return;
    if (!waiting_) waiting_ = c_.reader.next();
    const bool at_end = !waiting_ && c_.reader.finished();
    if (!waiting_ && !at_end) return;
    const std::size_t records = at_end ? 0 : waiting_->records.size() / c_.layout.record_bytes();
    if (batch.records > 0 && (at_end || batch.records + records > c_.batch_records)) {
      batch.stage = Stage::full;
      filling_ = 1 - filling_;
      continue;
    }
    if (at_end) return;
    distribute(filling_, *waiting_);
    waiting_.reset();
  }
}

void ProbeBatches::distribute(std::size_t number, const io::RecordBlock& block) {
  Batch& batch = batches_[number];
  const Segment segment{block.records.data(), block.records.size() / c_.layout.record_bytes()};
  batch.records += segment.count;
  ++batch.distributing;
  ++distributing_;
  run_task(c_.workers, c_.mailbox, in_flight_,
           [this, number, block, segment, ticket = batch.tickets++](unsigned thread) {
             partitions_[number].distribute(ticket, segment, c_.scratch[thread]);
             c_.mailbox.post([this, number, block] {
               --batches_[number].distributing;
               --distributing_;
               c_.meter.advance(block.records.size());
               c_.reader.release(block);
             });
           });
}

std::optional<ProbeInput::Records> ProbeBatches::next(std::size_t most) {
  fill();
  Batch& batch = batches_[emptying_];
  if (batch.stage == Stage::full && batch.distributing == 0) {
    const HashPartitions& partitions = partitions_[emptying_];
    for (const Chain& chain : partitions.chains()) {
      partitions.slab_chains().append_segments(chain, batch.segments);
    }
    std::reverse(batch.segments.begin(), batch.segments.end());
    batch.stage = Stage::in_use;
  }
  // All of both may be in pieces that are in use.
  if (batch.stage != Stage::in_use || batch.segments.empty()) return std::nullopt;
  Segment& segment = batch.segments.back();
  const Records piece{segment.records, std::min(most, segment.count), emptying_};
  segment.records += piece.count * c_.layout.record_bytes();
  segment.count -= piece.count;
  if (segment.count == 0) batch.segments.pop_back();
  if (batch.segments.empty()) emptying_ = 1 - emptying_;
  ++batch.uses;
  return piece;
}

void ProbeBatches::done(const Records& piece) {
  Batch& batch = batches_[piece.place];
  if (--batch.uses > 0 || !batch.segments.empty()) return;
  partitions_[piece.place].clear();
  batch = {};
}

bool ProbeBatches::ended() const {
  return c_.reader.finished() && !waiting_ && distributing_ == 0 && batches_[0].records == 0 &&
         batches_[1].records == 0;
}

}  // namespace xxl
