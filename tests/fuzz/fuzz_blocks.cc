// Any bytes as blocks of runs in scratch: what was written is read; what was changed on the disk,
// or is another block, is found. And slices of runs as other ranks are told of them: together they
// are the runs.
#include <algorithm>
#include <cstring>
#include <exception>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "cluster/key_cuts.h"
#include "cluster/local_scratch.h"
#include "cluster/run_slices.h"
#include "fuzz_input.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "io/transfer.h"
#include "run/run_store.h"
#include "waited_transfer.h"

namespace xxl {
namespace {

using fuzz::require;

constexpr std::size_t kSlotBytes = kSectorBytes;
constexpr std::size_t kMostBytes = 8 * kSectorBytes;

// What rank 0 gives to rank `receiver`, as if all ranks had given it.
class Echo final : public Peers {
 public:
  Echo(unsigned ranks, unsigned receiver) : ranks_(ranks), receiver_(receiver) {}

  unsigned rank() const override { return 0; }
  unsigned ranks() const override { return ranks_; }
  bool is_local(unsigned) const override { return false; }
  std::vector<Message> exchange(std::vector<Message> messages) override {
    return std::vector<Message>(ranks_, messages[receiver_]);
  }
  void serve(BlockServer*) override {}
  void fail(const std::string&) override { require(false); }
  void fetch(unsigned, BlockName, std::span<std::byte>, Done) override { require(false); }

 private:
  const unsigned ranks_, receiver_;
};

BlockPacker packer_of(unsigned kind) {
  if (kind == 0) return {};
  return {kind == 1 ? Codec::lz4 : Codec::zstd, 0, kMostBytes};
}

bool is_found(const RunStore& store, const StoredRun& run, const StoredBlock& block,
              std::byte* buffer) {
  try {
    store.open(run, block, buffer);
    return false;
  } catch (const Error& error) {
    return error.code() == ErrorCode::corrupt;
  }
}

class Blocks {
 public:
  Blocks(fuzz::Input& input, io::ScratchStore& scratch, io::IoService& io)
      : store_(scratch, io, packer_of(input.choose(3))), buffer_(2 * kMostBytes) {}
  ~Blocks() {
    for (const StoredBlock& block : blocks_) store_.release(run_, block);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  void write(std::string content) {
    std::memcpy(buffer_.data(), content.data(), content.size());
    test::WaitedTransfer written;
    blocks_.push_back(store_.write(run_, buffer_.data(), content.size(), written.done()));
    written.wait();
    contents_.push_back(std::move(content));
  }

  void check(fuzz::Input choices) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const StoredBlock& block = blocks_[i];
      read(i);
      store_.open(run_, block, buffer_.data());
      require(holds(i));
      // A bit that is wrong.
      read(i);
      const std::size_t place = choices.choose(256) * 256 + choices.choose(256);
      buffer_.data()[place % block.stored_bytes] ^= static_cast<std::byte>(1U << (place % 8));
      require(is_found(store_, run_, block, buffer_.data()));
      // Another block, unless it is the same.
      read((i + 1) % blocks_.size());
      require(is_found(store_, run_, block, buffer_.data()) || holds(i));
    }
  }

 private:
  void read(std::size_t index) {
    test::WaitedTransfer done;
    store_.read(run_, blocks_[index], buffer_.data(), done.done());
    done.wait();
  }
  bool holds(std::size_t index) const {
    const std::string& content = contents_[index];
    return std::memcmp(buffer_.data(), content.data(), content.size()) == 0;
  }

  RunStore store_;
  MemoryRegion buffer_;
  StoredRun run_;
  std::vector<StoredBlock> blocks_;
  std::vector<std::string> contents_;
};

// ---- slices

// As a block might be stored; in several places in a run that says where they are.
void describe(StoredRun& run, StoredBlock& block, fuzz::Input& input) {
  block.checksum = input.choose(256) * 0x1000000000000001u;
  block.bytes = 1 + input.choose(256);
  block.stored_bytes = 1 + input.choose(256);
  block.places = 1 + input.choose(3);
  block.packed = input.choose(2) == 1;
  block.place = {.slot = input.choose(256), .disk = static_cast<std::uint8_t>(input.choose(4))};
  if (block.places == 1) return;
  block.place.slot = static_cast<std::uint32_t>(run.places.size());
  for (std::uint32_t place = 0; place < block.places; ++place) {
    run.places.push_back({.slot = input.choose(256), .disk = static_cast<std::uint8_t>(place)});
  }
}

// Whether `block` of a slice is block `number` of the run. `with_places`: it is read where it lies.
bool is_same(const StoredRun& slice, const StoredBlock& block, const StoredRun& run,
             std::size_t number, const StoredBlock& original, bool with_places) {
  if (block.checksum != original.checksum || block.bytes != original.bytes ||
      block.stored_bytes != original.stored_bytes || block.packed != original.packed) {
    return false;
  }
  if (!with_places) return block.places == 1 && block.place.slot == number;
  return std::ranges::equal(slice.places_of(block), run.places_of(original));
}

struct Ranks {
  unsigned ranks, receiver;
  Echo peers;
  LocalScratch scratch;

  Ranks(unsigned of, unsigned to, io::ScratchStore& store, RunStore& blocks, io::IoService& io)
      : ranks(of), receiver(to), peers(of, to), scratch(store, blocks, io, peers) {}
  bool with_places() const { return receiver == 0; }
};

void check_run_slices(fuzz::Input& input, Ranks& ranks) {
  Run run;
  run.records_per_block = 1 + input.choose(5);
  run.records = 1 + input.choose(30);
  for (std::uint64_t at = 0; at < run.records; at += run.records_per_block) {
    describe(run, run.blocks.emplace_back(), input);
  }
  RunCuts cuts{{0}};
  for (unsigned rank = 1; rank < ranks.ranks; ++rank) {
    cuts.push_back({std::min<std::uint64_t>(run.records, cuts.back()[0] + input.choose(20))});
  }
  cuts.push_back({run.records});
  std::vector<Run> runs;
  runs.push_back(std::move(run));
  const RunSlices<Run> slices = exchange_slices(runs, cuts, ranks.scratch, ranks.peers);
  const std::uint64_t begin = cuts[ranks.receiver][0], end = cuts[ranks.receiver + 1][0];
  require(slices.runs.size() == (begin == end ? 0 : ranks.ranks));
  if (begin == end) return;
  const Run &slice = slices.runs[0], &whole = runs[0];
  const std::uint64_t first = begin / whole.records_per_block;
  require(first * whole.records_per_block + slice.skipped == begin);
  require(slice.records - slice.skipped == end - begin && slice.skipped < whole.records_per_block);
  require(slice.blocks.size() ==
          (slice.records + whole.records_per_block - 1) / whole.records_per_block);
  for (std::size_t i = 0; i < slice.blocks.size(); ++i) {
    const std::size_t number = first + i;
    require(
        is_same(slice, slice.blocks[i], whole, number, whole.blocks[number], ranks.with_places()));
  }
}

void check_text_slices(fuzz::Input& input, Ranks& ranks) {
  const auto key = [&] {
    return std::string(input.take_until('\x1f').substr(0, kMaxTriggerBytes));
  };
  // The first and the last key of each block.
  std::vector<std::string> keys(2 * (1 + input.choose(6)));
  std::ranges::generate(keys, key);
  std::ranges::sort(keys);
  std::vector<std::string> cuts(ranks.ranks - 1);
  std::ranges::generate(cuts, key);
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::erase(cuts, "");
  GeneralRun run;
  for (std::size_t i = 0; i < keys.size(); i += 2) {
    GeneralBlock& block = run.blocks.emplace_back();
    describe(run, block, input);
    run.bytes += block.bytes;
    const std::string_view trigger = separator(
        i == 0 ? std::string_view() : std::string_view(keys[i - 1]), keys[i], block.separates);
    block.trigger_begin = static_cast<std::uint32_t>(run.triggers.size());
    block.trigger_bytes = static_cast<std::uint16_t>(trigger.size());
    run.triggers += trigger;
    block.whole_key = trigger == keys[i];
  }
  run.records = keys.size();
  run.last_key = keys.back();
  const GeneralRun* const all[] = {&run};
  const std::vector<std::string> chosen = choose_key_cuts(all, ranks.peers);
  require(chosen.size() < ranks.ranks && std::ranges::is_sorted(chosen));
  const RunSlices<GeneralRun> slices = exchange_slices(all, 0, cuts, ranks.scratch, ranks.peers);
  std::vector<bool> is_there(run.blocks.size(), false);
  if (!slices.runs.empty()) {
    const GeneralRun& slice = slices.runs[0];
    const auto is_from = [&](std::size_t first) {
      for (std::size_t i = 0; i < slice.blocks.size(); ++i) {
        const std::size_t number = first + i;
        if (!is_same(slice, slice.blocks[i], run, number, run.blocks[number],
                     ranks.with_places()) ||
            slice.trigger(i) != run.trigger(number)) {
          return false;
        }
      }
      return true;
    };
    require(slice.blocks.size() <= run.blocks.size());
    bool found = false;
    for (std::size_t first = 0; first + slice.blocks.size() <= run.blocks.size(); ++first) {
      if (!is_from(first)) continue;
      found = true;
      std::fill_n(is_there.begin() + static_cast<std::ptrdiff_t>(first), slice.blocks.size(), true);
    }
    require(found);
  }
  // No record of this rank's range is missing.
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto rank = std::ranges::upper_bound(cuts, keys[i]) - cuts.begin();
    if (rank == ranks.receiver) require(is_there[i / 2]);
  }
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xxl;
  static io::IoService io(Backend::threads, {});
  static io::ScratchStore scratch({"/dev/shm"}, kSlotBytes, 1);
  static RunStore own(scratch, io);
  fuzz::Input input(data, size);
  const unsigned kind = input.choose(3);
  if (kind == 0) {
    Blocks blocks(input, scratch, io);
    const fuzz::Input choices = input;
    for (unsigned i = 0; i < 4 && !input.rest().empty(); ++i) {
      const unsigned times = 1 + input.choose(64);
      const std::string_view piece = input.take_until('\x1f');
      std::string content;
      for (unsigned j = 0; j < times; ++j) content += piece;
      content.resize(std::min(content.size(), kMostBytes));
      if (!content.empty()) blocks.write(std::move(content));
    }
    blocks.check(choices);
    return 0;
  }
  const unsigned ranks = 1 + input.choose(4);
  Ranks of(ranks, input.choose(ranks), scratch, own, io);
  kind == 1 ? check_run_slices(input, of) : check_text_slices(input, of);
  return 0;
}
