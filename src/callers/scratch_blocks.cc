#include "xxl/scratch_blocks.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/monitor.h"
#include "base/of_process.h"
#include "base/units.h"
#include "callers/shared_resources.h"
#include "io/scratch_store.h"
#include "job/job_io.h"
#include "run/run_store.h"

namespace xxl::detail {
namespace {

constexpr std::size_t kBlocks = 512;  // that memory has, within these bounds:
constexpr std::size_t kLeastBlockBytes = 4 * kKiB;
constexpr std::size_t kMostBlockBytes = kMiB;
constexpr std::size_t kLeastRecords = 8;  // of a block: tables keep the first one

std::size_t block_bytes_of(std::uint64_t memory_bytes, std::size_t record_bytes) {
  const std::uint64_t wanted = std::bit_floor(memory_bytes / kBlocks);
  return std::max(std::clamp<std::size_t>(wanted, kLeastBlockBytes, kMostBlockBytes),
                  round_up(kLeastRecords * record_bytes, kSectorBytes));
}

JobOptions options_of(const Grant& grant, const resources& shared, const char* what) {
  if (shared.options().device == Device::gpu) {
    throw Error(ErrorCode::device, std::string(what) + " uses no GPU");
  }
  JobOptions options;
  grant.give_to(options);
  static_cast<JobMeans&>(options) = grant.means();
  return options;
}

std::size_t region_bytes(const JobOptions& options, std::size_t block_bytes, const char* what) {
  const std::uint64_t blocks = options.memory_bytes / block_bytes;
  if (blocks >= ScratchBlocks::kLeastBlocks) return blocks * block_bytes;
  throw Error(ErrorCode::no_space, std::string(what) +
                                       " with records of this size needs at least " +
                                       format_bytes(ScratchBlocks::kLeastBlocks * block_bytes) +
                                       " of memory, not " + format_bytes(options.memory_bytes));
}

}  // namespace

class ScratchBlocks::Files : public OfProcess {
 public:
  Files(const resources& shared, std::uint64_t memory_bytes, std::size_t record_bytes,
        const char* what)
      : what_(what),
        grant_(shared, memory_bytes),
        options_(options_of(grant_, shared, what)),
        block_bytes_(block_bytes_of(options_.memory_bytes, record_bytes)),
        memory_(region_bytes(options_, block_bytes_, what)),
        monitor_(options_.stop) {}

  std::size_t block_bytes() const { return block_bytes_; }
  std::span<std::byte> memory() const { return memory_.span(); }

  std::uint32_t write(std::byte* data, std::size_t bytes) {
    if (store_ == nullptr) open();
    check_process();
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(blocks_.size()));
      blocks_.emplace_back();
    }
    const std::uint32_t number = free_.back();
    Block& block = blocks_[number];
    block.moving = true;
    block.run.stripe = std::move(stripe_);
    monitor_.run([&] {
      monitor_.pass();
      block.stored = store_->write(block.run, data, bytes, on_moved(block));
    });
    stripe_ = std::move(block.run.stripe);
    free_.pop_back();
    return number;
  }
  void wait(std::uint32_t number) {
    check_process();
    monitor_.run([&] { monitor_.wait([&] { return !blocks_[number].moving; }); });
  }
  void read(std::uint32_t number, std::byte* data) {
    wait(number);
    Block& block = blocks_[number];
    block.moving = true;
    block.data = data;
    store_->read(block.run, block.stored, data, on_moved(block));
  }
  void wait_read(std::uint32_t number) {
    wait(number);
    Block& block = blocks_[number];
    store_->open(block.run, block.stored, block.data);
  }
  void release(std::uint32_t number) {
    Block& block = blocks_[number];
    store_->release(block.run, block.stored);
    block.run.places.clear();
    free_.push_back(number);
  }

 private:
  struct Block {
    StoredRun run;  // its places
    StoredBlock stored;
    std::byte* data = nullptr;  // where it is read to
    bool moving = false;        // with the monitor's lock
  };

  void open() {
    begin_in_this_process();
    BlockPacker packer;
    if (options_.scratch_codec != Codec::none) {
      packer = BlockPacker(options_.scratch_codec, options_.scratch_level, block_bytes_);
    }
    io_ = open_io(options_, memory_.span());
    scratch_ = std::make_unique<io::ScratchStore>(
        options_.scratch_dirs,
        packer.packs() ? BlockPacker::slot_bytes(block_bytes_) : block_bytes_, 1);
    store_ = std::make_unique<RunStore>(*scratch_, *io_, std::move(packer));
  }
  void check_process() const {
    if (is_of_this_process()) return;
    throw Error(ErrorCode::usage,
                std::string(what_) + " is used by the process that filled it, not by a child");
  }
  RunStore::Done on_moved(Block& block) {
    return [this, &block](std::exception_ptr failure) {
      if (failure != nullptr) monitor_.fail(std::move(failure));
      monitor_.change([&] { block.moving = false; });
    };
  }

  const char* what_;
  Grant grant_;
  JobOptions options_;
  const std::size_t block_bytes_;
  MemoryRegion memory_;
  Monitor monitor_;
  std::deque<Block> blocks_;  // by number
  std::vector<std::uint32_t> free_;
  std::optional<io::ScratchStripe> stripe_;
  std::unique_ptr<io::IoService> io_;
  std::unique_ptr<io::ScratchStore> scratch_;
  std::unique_ptr<RunStore> store_;  // last: waits for transfers
};

ScratchBlocks::ScratchBlocks(const resources& shared, std::uint64_t memory_bytes,
                             std::size_t record_bytes, const char* what)
    : files_(std::make_unique<Files>(shared, memory_bytes, record_bytes, what)) {}
ScratchBlocks::~ScratchBlocks() {
  leave_to_parent(files_);
}
std::size_t ScratchBlocks::block_bytes() const {
  return files_->block_bytes();
}
std::span<std::byte> ScratchBlocks::memory() const {
  return files_->memory();
}
std::uint32_t ScratchBlocks::write(std::byte* block, std::size_t bytes) {
  return files_->write(block, bytes);
}
void ScratchBlocks::wait_written(std::uint32_t number) {
  files_->wait(number);
}
void ScratchBlocks::read(std::uint32_t number, std::byte* block) {
  files_->read(number, block);
}
void ScratchBlocks::wait_read(std::uint32_t number) {
  files_->wait_read(number);
}
void ScratchBlocks::release(std::uint32_t number) {
  files_->release(number);
}

}  // namespace xxl::detail
