#include "job/general_sort/general_offload.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "job/general_sort/emit_rules.h"

namespace xxl {
namespace {

constexpr std::size_t kBatchRecords = 256;     // handed to a pack at a time
constexpr std::size_t kSampledRecords = 1000;  // to learn how long records and keys are

}  // namespace

GeneralOffload::GeneralOffload(OffloadContext context)
    : context_(std::move(context)),
      thread_(Thread::start("for the GPUs", [this] { coordinate(); })) {}

GeneralOffload::~GeneralOffload() {
  mailbox_.post([this] { stopping_ = true; });
  thread_.join();
}

// --- the thread that reads ---

void GeneralOffload::add(std::uint64_t number, Region& region) {
  mailbox_.post([this, number, &region] {
    auto job = std::make_unique<Packing>();
    job->number = number;
    job->region = &region;
    jobs_.push_back(std::move(job));
  });
}

void GeneralOffload::settle() {
  auto lock = context_.monitor.lock();
  settled_ = false;
  mailbox_.post([this] { settling_ = true; });
  context_.monitor.wait(lock, [this] { return settled_; });
}

void GeneralOffload::finish() {
  mailbox_.post([this] { input_ended_ = true; });
  auto lock = context_.monitor.lock();
  context_.monitor.wait(lock, [this] { return state_ != State::adding; });
}

GeneralTotals GeneralOffload::emit(GeneralOutput& output, Ticket first_ticket,
                                   const std::function<void(std::uint64_t)>& on_progress) {
  mailbox_.post([this, &output, first_ticket] {
    output_ = &output;
    next_ticket_ = first_ticket;
  });
  std::uint64_t told = 0;
  auto lock = context_.monitor.lock();
  while (state_ != State::done) {
    context_.monitor.wait(lock, [&] { return state_ == State::done || emitted_bytes_ != told; });
    const std::uint64_t more = emitted_bytes_ - told;
    told += more;
    lock.unlock();
    on_progress(more);
    lock.lock();
  }
  return emitted_;
}

std::vector<GeneralOffload::FormedRun> GeneralOffload::take_runs() {
  return std::move(runs_);
}

// --- the coordinator ---

void GeneralOffload::coordinate() {
  context_.monitor.guard([this] {
    for (;;) {
      mailbox_.wait_and_run();
      if (stopping_) return;
      if (!finished_) pump();
      if (finished_) break;
    }
    // The accelerator is free for others. Messages that it left are not run.
    if (sorter_ != nullptr) report_ = context_.accelerator.report();
    sorter_.reset();
    pinned_.reset();
    set_state(State::done);
  });
}

// Does all that can be done now.
void GeneralOffload::pump() {
  std::size_t left;
  do {
    left = jobs_.size();
    start_packing();
    push_packs();
  } while (jobs_.size() < left);  // the first region now may take the last pack
  take_slices();
  if (settling_ && jobs_.empty()) try_to_settle();
}

void GeneralOffload::try_to_settle() {
  if (sorter_ != nullptr) sorter_->seal();  // nothing, if it has been done
  one_chunk_ = false;
  if (chunks_written_ < chunks_.size()) return;
  settling_ = false;
  {
    auto lock = context_.monitor.lock();
    settled_ = true;
  }
  context_.monitor.notify();
}

void GeneralOffload::set_state(State state) {
  {
    auto lock = context_.monitor.lock();
    state_ = state;
  }
  context_.monitor.notify();
}

// Runs `work` on a worker, then `done` here. If it fails, the whole sort does.
void GeneralOffload::run_task(std::function<void()> work, std::function<void()> done) {
  context_.workers.run([this, work = std::move(work), done = std::move(done),
                        token = in_flight_.begin()](unsigned) mutable {
    context_.monitor.guard([&] {
      context_.monitor.pass();
      work();
      mailbox_.post(std::move(done));
    });
    token.reset();
  });
}

// What the first records are like.
GeneralSorterSpec GeneralOffload::describe(const Region& region) const {
  const GeneralSortOptions& options = context_.options;
  GeneralSorterSpec spec;
  spec.keys = &context_.keys();
  spec.terminator = options.syntax.terminator;
  spec.input_bytes = context_.input_bytes;
  spec.threads = context_.workers.width();
  std::size_t records = 0;
  std::uint64_t record_bytes = 0, key_bytes = 0;
  std::string key;
  visit_segment(region.segments.front(), 0, options.syntax, [&](std::string_view record) {
    if (options.malformed && options.malformed(record)) return true;
    ++records;
    record_bytes += record.size();
    if (!spec.keys->is_whole_record()) {
      key.clear();
      spec.keys->append_key(record, KeyExtractor::kWholeKey, key);
      key_bytes += key.size();
    }
    return records < kSampledRecords;
  });
  if (records > 0) {
    spec.record_bytes = static_cast<double>(record_bytes) / static_cast<double>(records);
    spec.key_bytes = static_cast<double>(key_bytes) / static_cast<double>(records);
  }
  return spec;
}

void GeneralOffload::make_sorter(const Region& region) {
  try {
    const std::span<std::byte> staging = context_.memory.staging();
    pinned_ = std::make_unique<Pinned>(context_.accelerator, staging);
    sorter_ = context_.accelerator.make_general_sorter(describe(region), staging, mailbox_);
  } catch (const Error& error) {
    // Other processes took its memory since planning: the CPU does it all.
    if (error.code() != ErrorCode::no_space) throw;
    pinned_.reset();
    declined_ = true;
  }
}

// A region that is first in order may take the last pack: it is the one that leaves next.
void GeneralOffload::start_packing() {
  for (const auto& owned : jobs_) {
    Packing& job = *owned;
    if (job.packing || job.packed) continue;
    if (sorter_ == nullptr && !declined_) make_sorter(*job.region);
    if (declined_) {
      job.packed = job.too_long = true;
      continue;
    }
    GeneralSorter::Pack* const pack = sorter_->take_pack(owned == jobs_.front() ? 0 : 1);
    if (pack == nullptr) return;
    job.packing = true;
    const auto packed = std::make_shared<Packed>();
    const auto fill = [this, &job, pack, packed] {
      context_.faults.watch(job.number, [&] { *packed = this->pack(job, *pack); });
    };
    run_task(fill, [this, &job, pack, packed] { pack_filled(job, pack, *packed); });
  }
}

// Fills `pack` from `job.place` on, and moves that.
GeneralOffload::Packed GeneralOffload::pack(Packing& job, GeneralSorter::Pack& pack) {
  Packed packed;
  std::array<std::string_view, kBatchRecords> batch;
  std::size_t count = 0;
  const char* refused = nullptr;  // the record for which there was no room
  const auto flush = [&] {
    const std::size_t taken = pack.add({batch.data(), count});
    for (std::size_t i = 0; i < taken; ++i) {
      add_record(packed.hash, batch[i]);
      packed.bytes += batch[i].size() + 1;
    }
    if (taken < count) refused = batch[taken].data();
    count = 0;
    return refused == nullptr;
  };
  // Checked records may be left out and counted: none may be checked twice.
  const std::size_t most = context_.records.are_checked() ? 1 : kBatchRecords;
  const std::vector<GeneralSegment>& segments = job.region->segments;
  for (; job.place.segment < segments.size(); job.place = {job.place.segment + 1, 0}) {
    const GeneralSegment& segment = segments[job.place.segment];
    context_.records.visit(segment, job.place.offset, [&](std::string_view record) {
      batch[count++] = record;
      return count < most || flush();
    });
    if (refused == nullptr && count > 0) flush();
    if (refused != nullptr) {
      job.place.offset = static_cast<std::size_t>(refused - segment.text.data());
      packed.too_long = pack.records() == 0;
      break;
    }
  }
  return packed;
}

void GeneralOffload::pack_filled(Packing& job, GeneralSorter::Pack* pack, const Packed& packed) {
  {
    auto lock = context_.monitor.lock();
    input_hash_ += packed.hash;
    record_bytes_ += packed.bytes;
  }
  job.packing = false;
  if (pack->records() > 0) {
    job.packs.push_back(pack);
  } else {
    sorter_->drop(pack);
  }
  job.too_long = packed.too_long;
  job.packed = job.too_long || job.place.segment == job.region->segments.size();
  if (job.packed && !job.too_long) {
    context_.faults.pass(job.number);
    context_.give_back(std::exchange(job.region, nullptr));
  }
}

// Packs leave in the order of the input.
void GeneralOffload::push_packs() {
  for (; !jobs_.empty(); jobs_.pop_front()) {
    Packing& job = *jobs_.front();
    while (!job.packs.empty()) {
      const auto chunk = sorter_->push(job.packs.front());
      if (!chunk) return;
      job.packs.pop_front();
      if (*chunk == chunks_.size()) chunks_.emplace_back().order = {job.number, job.part++};
    }
    if (!job.packed) return;
    if (job.too_long) {
      one_chunk_ = false;
      if (sorter_ != nullptr) sorter_->seal();
      context_.sort_rest(job.region, job.place, {job.number, job.part});
    }
  }
  if (input_ended_) end_input();
}

void GeneralOffload::end_input() {
  input_ended_ = false;
  if (sorter_ != nullptr) sorter_->seal();
  if (chunks_.size() == 1 && one_chunk_) {
    set_state(State::holding);
  } else {
    sealed_ = true;
    finished_ = chunks_written_ == chunks_.size();
  }
}

// --- sorted slices ---

void GeneralOffload::take_slices() {
  if (sorter_ == nullptr || (state_ == State::holding && output_ == nullptr)) return;
  const EmitRules rules = emit_rules(context_.options, context_.keys());
  const bool in_order = rules.kept.has_groups() || rules.skip > 0 || rules.limit != kNoLimit;
  while (const auto slice = sorter_->next_slice()) {
    if (output_ != nullptr && !in_order) {
      emit_slice(*slice);
    } else {
      LeavingChunk& chunk = chunks_[slice->chunk];
      chunk.waiting.push_back(*slice);
      write_slices(chunk);
    }
  }
}

// To the output, beside other slices.
void GeneralOffload::emit_slice(const GeneralSorter::SortedSlice& slice) {
  ++emitting_;
  last_emitted_ |= slice.last;
  const auto work = [this, slice, ticket = next_ticket_++] {
    GeneralEmission<PieceWriter> emission(
        context_.keys(), context_.options.syntax, emit_rules(context_.options, context_.keys()),
        output_->begin(ticket, slice.text.size()), context_.options.syntax);
    emission.add(slice.text);
    const GeneralTotals& totals = emission.finish();
    auto lock = context_.monitor.lock();
    emitted_ += totals;
    emitted_bytes_ += slice.text.size();
  };
  run_task(work, [this, slice] {
    sorter_->release(slice);
    context_.monitor.notify();
    if (--emitting_ == 0 && last_emitted_) finished_ = true;
  });
}

// To a run, or to the output if the order matters there: one after the other.
void GeneralOffload::write_slices(LeavingChunk& chunk) {
  if (chunk.busy || chunk.waiting.empty()) return;
  chunk.busy = true;
  const GeneralSorter::SortedSlice slice = chunk.waiting.front();
  chunk.waiting.pop_front();
  run_task([this, &chunk, slice] { write_slice(chunk, slice); },
           [this, &chunk, slice] {
             chunk.busy = false;
             sorter_->release(slice);
             context_.monitor.notify();
             if (chunk.written) return chunk_written(chunk);
             write_slices(chunk);
           });
}

void GeneralOffload::write_slice(LeavingChunk& chunk, const GeneralSorter::SortedSlice& slice) {
  const GeneralSortOptions& options = context_.options;
  if (chunk.target == nullptr) {
    if (output_ != nullptr) {
      chunk.target = std::make_unique<GeneralEmission<PieceWriter>>(
          context_.keys(), options.syntax, emit_rules(options, context_.keys()),
          output_->begin_open_ended(next_ticket_), options.syntax);
    } else {
      chunk.run = std::make_unique<GeneralRun>();
      chunk.target = std::make_unique<GeneralEmission<GeneralRunWriter>>(
          context_.keys(), options.syntax, emit_rules_of_run(options, context_.keys()), *chunk.run,
          context_.keys(), context_.scratch.get(), context_.memory.write_buffers(),
          context_.memory.geometry().block_bytes);
    }
  }
  if (!chunk.satisfied) chunk.satisfied = !chunk.target->add(slice.text);
  // What the output does not need is not fetched.
  if (slice.last || (chunk.satisfied && output_ != nullptr)) {
    chunk.totals = chunk.target->finish();
    chunk.written = true;
  }
  if (output_ != nullptr) {
    auto lock = context_.monitor.lock();
    emitted_bytes_ += slice.text.size();
  }
}

void GeneralOffload::chunk_written(LeavingChunk& chunk) {
  {
    auto lock = context_.monitor.lock();
    (output_ != nullptr ? emitted_ : formed_) += chunk.totals;
  }
  chunk.target.reset();
  if (output_ != nullptr) {
    finished_ = true;
    return;
  }
  const std::uint64_t bytes = chunk.run->bytes;
  runs_.push_back({chunk.order, std::move(chunk.run), bytes});
  if (++chunks_written_ == chunks_.size() && sealed_) finished_ = true;
}

}  // namespace xxl
