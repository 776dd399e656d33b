#include "job/join/join_source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/task.h"
#include "base/units.h"
#include "io/transfer.h"
#include "job/job_steps.h"
#include "record/record_order.h"

namespace xxl {
namespace {

// Gives the blocks of a merge's output to the joiner, in order.
class JoinSink final : public BlockSink {
 public:
  JoinSink(std::size_t record_bytes, io::BufferPool& buffers, Mailbox& mailbox, JoinSide side,
           StreamJoiner& joiner)
      : record_bytes_(record_bytes),
        payload_bytes_(buffers.buffer_bytes() / record_bytes * record_bytes),
        buffers_(buffers),
        mailbox_(mailbox),
        side_(side),
        joiner_(joiner) {}

  std::size_t payload_bytes() const override { return payload_bytes_; }
  void put(const FinishedBlock& block) override {
    ++pending_;
    mailbox_.post([this, block] { add(block); });
  }

 private:
  void add(const FinishedBlock& block) {
    waiting_.emplace(block.index, block);
    for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_;
         it = waiting_.erase(it), ++next_, --pending_) {
      std::byte* const buffer = it->second.buffer;
      joiner_.add(side_, {{buffer, it->second.bytes / record_bytes_},
                          [this, buffer] { buffers_.give_back(buffer); }});
    }
  }

  std::size_t record_bytes_;
  std::size_t payload_bytes_;
  io::BufferPool& buffers_;
  Mailbox& mailbox_;
  JoinSide side_;
  StreamJoiner& joiner_;
  std::map<std::uint64_t, FinishedBlock> waiting_;  // by index
  std::uint64_t next_ = 0;
};

constexpr std::size_t kSampleBytes = 64 * kKiB;
constexpr std::uint64_t kSamples = 64;

}  // namespace

ResidentSource::ResidentSource(FixedSorting& sorting, std::span<std::byte> region,
                               io::IoService& io, Workers& workers, Mailbox& mailbox, JoinSide side,
                               StreamJoiner& joiner)
    : side_(side), joiner_(joiner) {
  const auto open_run = [&sorting, &mailbox, this](const ChunkSorter&, io::BufferPool& buffers,
                                                   bool all_in_memory, bool) {
    // Where keys differ only beyond what splitters hold, even what fits may become several runs.
    const bool surely_all =
        all_in_memory && sorting.layout().words() <= kMaxSplitterWords && sink_ == nullptr;
    if (!surely_all) throw GivenUp{&Attempt::in_memory};
    sink_ = std::make_unique<JoinSink>(sorting.layout().record_bytes(), buffers, mailbox, side_,
                                       joiner_);
    return RunFormation::OpenedRun{*sink_, {}};
  };
  try {
    sorting_ = sorting.sort_in_memory(region, io, workers, mailbox, open_run);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) throw;
    // Other processes took the accelerator's memory since planning.
    throw GivenUp{&Attempt::in_memory};
  }
}

void ResidentSource::pump() {
  RunFormation& formation = sorting_->formation();
  if (state_ == State::sorting) {
    if (formation.pump()) return;
    formation.finish();
    state_ = State::finishing;
  }
  if (state_ == State::finishing && (sink_ == nullptr || sink_->pending() == 0)) {
    state_ = State::ended;
    joiner_.end(side_);
  }
}

MergedSource::MergedSource(const RunMergeContext& context, std::span<std::byte> region,
                           const std::vector<Run>& runs, const MultisetHash& input_hash,
                           JoinSide side, StreamJoiner& joiner)
    : input_hash_(input_hash),
      side_(side),
      joiner_(joiner),
      merge_(context, region, runs, context.geometry.final_block_bytes,
             [&](io::BufferPool& buffers) {
               return std::make_unique<JoinSink>(context.layout.record_bytes(), buffers,
                                                 context.mailbox, side, joiner);
             }) {}

void MergedSource::pump() {
  if (state_ == State::merging) {
    merge_.merger().pump();
    if (!merge_.merger().finished()) return;
    merge_.stage().finish();
    state_ = State::finishing;
  }
  if (state_ == State::finishing && merge_.sink().pending() == 0) {
    state_ = State::ended;
    joiner_.end(side_);
  }
}

FileSource::FileSource(Inputs& inputs, const KeyLayout& layout, std::size_t block_bytes,
                       std::span<std::byte> memory, bool assumed, io::IoService& io,
                       Workers& workers, Mailbox& mailbox, JoinSide side, StreamJoiner& joiner)
    : layout_(layout),
      path_(inputs.files.front().path()),
      assumed_(assumed),
      workers_(workers),
      mailbox_(mailbox),
      side_(side),
      joiner_(joiner),
      reader_(inputs.files, layout.record_bytes(), block_bytes, memory, io, mailbox) {}

void FileSource::pump() {
  reader_.pump();
  while (const auto block = reader_.next()) {
    const std::size_t records = block->records.size() / layout_.record_bytes();
    checking_.push_back({*block, records_, false, std::nullopt});
    records_ += records;
    check(checking_.back());
    reader_.pump();
  }
  deliver();
}

// Has a worker check that the block is in order and comes after the one before.
void FileSource::check(Checked& checked) {
  const std::span<const std::byte> records = checked.block.records;
  const std::size_t record_bytes = layout_.record_bytes();
  std::vector<std::byte> before = last_;
  if (!records.empty())
    last_.assign(records.end() - static_cast<std::ptrdiff_t>(record_bytes), records.end());
  run_task(workers_, mailbox_, in_flight_,
           [this, &checked, records, record_bytes, before = std::move(before)](unsigned) {
             std::optional<std::uint64_t> fault;
             if (!before.empty() && !records.empty() &&
                 layout_.compare(before.data(), records.data()) > 0) {
               fault = checked.first;
             } else if (const auto at = first_disorder(layout_, records)) {
               fault = checked.first + *at;
             }
             mailbox_.post([&checked, fault] {
               checked.fault = fault;
               checked.done = true;
             });
           });
}

void FileSource::deliver() {
  const std::size_t record_bytes = layout_.record_bytes();
  while (!checking_.empty() && checking_.front().done) {
    const Checked checked = checking_.front();
    checking_.pop_front();
    if (checked.fault) {
      if (assumed_) throw GivenUp{&Attempt::assumes_order};
      throw Error(ErrorCode::bad_input,
                  "record " + std::to_string(*checked.fault) +
                      " is not in order: this input is not sorted by its key, so leave out "
                      "--presorted",
                  path_, *checked.fault * record_bytes);
    }
    joiner_.add(side_, {{checked.block.records.data(), checked.block.records.size() / record_bytes},
                        [this, block = checked.block] {
                          reader_.release(block);
                          reader_.pump();
                        }});
  }
  if (!ended_ && reader_.finished() && checking_.empty()) {
    ended_ = true;
    joiner_.end(side_);
  }
}

bool looks_sorted(const io::File& file, const KeyLayout& layout) {
  const std::size_t record_bytes = layout.record_bytes();
  const std::uint64_t records = file.size() / record_bytes;
  const std::size_t sample_records = std::max<std::size_t>(1, kSampleBytes / record_bytes);
  MemoryRegion memory(round_up(sample_records * record_bytes, kSectorBytes) + 2 * kSectorBytes);
  std::vector<std::byte> last;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    const std::uint64_t first = records * sample / kSamples;
    const std::uint64_t count = std::min<std::uint64_t>(sample_records, records - first);
    if (count == 0) continue;
    const std::uint64_t start = first * record_bytes;
    const std::uint64_t aligned = round_down<std::uint64_t>(start, kSectorBytes);
    const std::size_t wanted = start - aligned + count * record_bytes;
    const auto buffer = memory.span().first(round_up(wanted, kSectorBytes));
    if (io::read_at(file, aligned, buffer) < wanted) return false;
    const auto sampled = buffer.subspan(start - aligned, count * record_bytes);
    // Samples of a small file overlap.
    if (!last.empty() && record_bytes * records > kSamples * sample_records * record_bytes &&
        layout.compare(last.data(), sampled.data()) > 0) {
      return false;
    }
    if (first_disorder(layout, sampled)) return false;
    last.assign(sampled.end() - static_cast<std::ptrdiff_t>(record_bytes), sampled.end());
  }
  return true;
}

}  // namespace xxl
