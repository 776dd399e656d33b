#include "run/block_packer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/units.h"
#include "run/compress_program.h"

namespace xxl {
namespace {

constexpr std::size_t kSlotsOfBlock = 8;

// The packed form of this thread's current block.
std::vector<std::byte>& packed_of_thread() {
  thread_local std::vector<std::byte> packed;
  return packed;
}

}  // namespace

std::size_t BlockPacker::slot_bytes(std::size_t block_bytes) {
  return round_up(std::max(block_bytes / kSlotsOfBlock, kSectorBytes), kSectorBytes);
}

std::size_t BlockPacker::memory_bytes(Codec codec, int level, std::size_t most_bytes) {
  if (codec == Codec::none) return 0;
  // The compressor, its output, and a block larger than usual.
  return io::compress_memory_bytes(codec, level, most_bytes) + io::block_bound(codec, most_bytes) +
         most_bytes;
}

std::span<const std::byte> BlockPacker::pack(std::span<const std::byte> block,
                                             std::size_t slot_bytes) const {
  std::vector<std::byte>& packed = packed_of_thread();
  if (!program_.empty()) {
    if (*no_program_) return {};
    try {
      packed = run_compress_program(program_, false, block, 2 * block.size() + kMiB);
    } catch (const NoSuchProgram& error) {
      if (!on_no_program_) throw;
      if (!no_program_->exchange(true)) on_no_program_(error);
      return {};
    }
    return packed;
  }
  if (!takes(block.size())) return {};
  packed.resize(std::max(packed.size(), io::block_bound(codec_, block.size())));
  const std::size_t bytes = io::compress_block(codec_, level_, block, packed);
  if (ceil_div(bytes, slot_bytes) >= ceil_div(block.size(), slot_bytes)) return {};
  return std::span(packed).first(bytes);
}

bool BlockPacker::unpack(std::byte* buffer, std::size_t packed_bytes, std::size_t bytes) const {
  if (!program_.empty()) {
    const std::vector<std::byte> block =
        run_compress_program(program_, true, {buffer, packed_bytes}, bytes);
    if (block.size() != bytes) {
      throw Error(ErrorCode::corrupt,
                  "'" + program_ + "' -d does not give back what '" + program_ + "' was given");
    }
    std::memcpy(buffer, block.data(), bytes);
    return true;
  }
  std::vector<std::byte>& packed = packed_of_thread();
  packed.resize(std::max(packed.size(), packed_bytes));
  std::memcpy(packed.data(), buffer, packed_bytes);
  return io::decompress_block(codec_, std::span(packed).first(packed_bytes), {buffer, bytes});
}

}  // namespace xxl
