#include "cluster/scratch_part.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/in_flight.h"
#include "base/memory_region.h"
#include "base/monitor.h"
#include "base/turns.h"
#include "base/units.h"
#include "cluster/message.h"
#include "run/block_packer.h"
#include "run/block_reader.h"
#include "run/general_output.h"
#include "run/general_scratch.h"

namespace xxl {
namespace {

// Blocks of memory for copying: one is read while the one before is taken from, to others that are
// filled and written.
constexpr std::size_t kReadBlocks = 2;
constexpr std::size_t kWriteBlocks = 3;

// The space of a slot: blocks are as large, or several times as large.
constexpr std::size_t kSlotBytes = 16 * kKiB;

// Ranges of keys are of about equal size: a rank may get more than its share by this part.
constexpr std::uint64_t kUnevenPart = 16;

}  // namespace

class ScratchPart::Sink final : public ByteSink {
 public:
  explicit Sink(ScratchPart& part) : part_(part) {}
  bool in_order() const override { return false; }
  void put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) override {
    const StoredBlock block = part_.blocks_->write(
        part_.run_, buffer, bytes,
        [done = std::move(done), token = in_flight_.begin()](std::exception_ptr failure) mutable {
          done(std::move(failure));
          done = nullptr;
          token.reset();
        });
    std::lock_guard lock(part_.mutex_);
    std::vector<StoredBlock>& table = part_.table_;
    table.resize(std::max<std::size_t>(table.size(), index + 1));
    table[index] = block;
  }

 private:
  ScratchPart& part_;
  InFlight in_flight_;
};

ScratchPart::ScratchPart(const JobOptions& options)
    : options_(options),
      parts_(PartRules{.parts = 1}, kSectorBytes),
      store_(options.scratch_dirs, kSlotBytes, 1) {
  if (options_.progress != nullptr) store_.count_in(&options_.progress->scratch_bytes);
}

void ScratchPart::reserve(std::uint64_t bytes) {
  if (options_.scratch_codec == Codec::none) store_.reserve(bytes + bytes / kUnevenPart);
}

std::unique_ptr<ByteSink> ScratchPart::make_sink(std::size_t block_bytes, io::IoService& io) {
  XXL_CHECK(!blocks_);
  block_bytes_ = block_bytes;
  io_ = &io;
  blocks_.emplace(store_, io,
                  BlockPacker(options_.scratch_codec, options_.scratch_level, block_bytes));
  return std::make_unique<Sink>(*this);
}

// Gives all bytes in order to `visit`. `memory`: of two blocks.
void ScratchPart::read(std::span<std::byte> memory, const Visit& visit) {
  BlockReader even(run_, *blocks_, memory.data());
  BlockReader odd(run_, *blocks_, memory.data() + block_bytes_);
  const auto reader = [&](std::size_t index) -> BlockReader& {
    return index % kReadBlocks == 0 ? even : odd;
  };
  for (std::size_t index = 0; index < table_.size(); ++index) {
    reader(index).start(table_[index]);
    if (index + 1 < table_.size()) reader(index + 1).start(table_[index + 1]);
    const std::byte* const block = reader(index).get(table_[index]);
    visit({reinterpret_cast<const char*>(block), table_[index].bytes});
  }
}

// This rank writes the sectors that begin in its part. What is before the first of them it gives to
// all, and gets what is missing of the last.
void ScratchPart::copy_to(const io::File& file, const std::vector<std::uint64_t>& starts,
                          std::uint64_t skipped, Peers& peers) {
  const std::uint64_t start = starts[peers.rank()], end = starts[peers.rank() + 1];
  const std::uint64_t first = std::min(round_up<std::uint64_t>(start, kSectorBytes), end);
  const std::uint64_t last = std::min(round_up<std::uint64_t>(end, kSectorBytes), starts.back());
  if (!blocks_) return void(tell_all(peers, {}));
  const MemoryRegion memory((kReadBlocks + kWriteBlocks) * block_bytes_);
  Monitor monitor;
  monitor.guard([&] {
    WriteBuffers buffers(memory.span().subspan(kReadBlocks * block_bytes_), monitor);
    FileBytes sink(file, block_bytes_, *io_, nullptr, first);
    GeneralOutput output(sink, buffers, block_bytes_, monitor);
    GeneralOutput::Reservation written = output.begin_open_ended(Ticket{});
    MessageWriter head;
    std::uint64_t left = first - start;  // of the head
    read(memory.span(), [&](std::string_view bytes) {
      const auto take = [&bytes](std::uint64_t& most) {
        const std::string_view taken = bytes.substr(0, most);
        bytes.remove_prefix(taken.size());
        most -= taken.size();
        return taken;
      };
      take(skipped);
      head.put_bytes(std::as_bytes(std::span(take(left))));
      written.append(bytes);
    });
    const std::vector<Message> heads = tell_all(peers, head.take());
    std::uint64_t at = first < end ? end : last;
    for (std::size_t next = peers.rank() + 1; at < last; at += heads[next++].size()) {
      written.append({reinterpret_cast<const char*>(heads[next].data()), heads[next].size()});
    }
    written.finish();
    output.finish();
  });
  monitor.check();
}

}  // namespace xxl
