#include "join/group_store.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/units.h"
#include "io/transfer.h"

namespace xxl {
namespace {

std::byte* allocate(std::size_t bytes) {
  void* const memory = std::aligned_alloc(kSectorBytes, round_up(bytes, kSectorBytes));
  if (memory == nullptr) {
    throw Error(ErrorCode::no_space,
                "out of memory for a record of " + format_bytes(bytes) + " of a group");
  }
  return static_cast<std::byte*>(memory);
}

}  // namespace

GroupStore::GroupStore(std::span<std::byte> memory, std::string directory)
    : directory_(std::move(directory)) {
  const std::size_t half = round_down(memory.size() / 2, kSectorBytes);
  XXL_CHECK(half > 0);
  halves_[0].memory = memory.first(half);
  halves_[1].memory = memory.subspan(half, half);
}

void GroupStore::append(std::string_view record) {
  const std::size_t bytes = coded_bytes(record.size());
  ++records_;
  Half* half = &halves_[filling_];
  if (bytes > half->memory.size() - half->used) {
    if (bytes > half->memory.size()) return append_long(record);
    if (blocks_.empty() && filling_ == 0) {
      filling_ = 1;
    } else {
      for (Half& full : halves_) {
        spill(full.memory.first(full.used));
        full.used = 0;
      }
      filling_ = 0;
    }
    half = &halves_[filling_];
  }
  put_record(reinterpret_cast<char*>(half->memory.data() + half->used), record);
  half->used += bytes;
}

// A record too long for a half is a block by itself.
void GroupStore::append_long(std::string_view record) {
  for (Half& half : halves_) {
    spill(half.memory.first(half.used));
    half.used = 0;
  }
  filling_ = 0;
  const std::size_t bytes = coded_bytes(record.size());
  const HeapBytes block(allocate(bytes), &std::free);
  put_record(reinterpret_cast<char*>(block.get()), record);
  spill({block.get(), bytes});
}

void GroupStore::clear() {
  for (Half& half : halves_) half.used = 0;
  filling_ = 0;
  blocks_.clear();
  end_ = 0;
  records_ = 0;
  long_block_.reset();
  long_bytes_ = 0;
}

// Writes `bytes` (with room after them up to a whole sector) as the next block.
void GroupStore::spill(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (!file_) file_ = io::File::create_unnamed(directory_);
  const std::size_t stored = round_up(bytes.size(), kSectorBytes);
  io::write_at(*file_, end_, {bytes.data(), stored});
  blocks_.push_back({end_, bytes.size(), block_checksum(bytes)});
  end_ += stored;
  spilled_bytes_ += stored;
  file_bytes_ = std::max(file_bytes_, end_);
}

// Reads a block into the second half, which is empty once there are blocks.
std::span<const std::byte> GroupStore::load(std::size_t index) {
  const SpilledBlock& block = blocks_[index];
  const std::size_t stored = round_up(block.bytes, kSectorBytes);
  std::span<std::byte> to = halves_[1].memory;
  if (stored > to.size()) {
    if (long_bytes_ < stored) {
      long_block_.reset(allocate(stored));
      long_bytes_ = stored;
    }
    to = {long_block_.get(), stored};
  }
  const std::span<std::byte> data = to.first(block.bytes);
  if (io::read_at(*file_, block.offset, to.first(stored)) != stored ||
      block_checksum(data) != block.checksum) {
    throw Error(ErrorCode::corrupt,
                "a group of equal keys was not read as it was written: check this machine's disks",
                file_->path(), block.offset);
  }
  return data;
}

}  // namespace xxl
