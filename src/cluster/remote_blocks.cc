#include "cluster/remote_blocks.h"

#include <utility>

namespace xxl {

bool ScratchServer::read(BlockName name, Ready ready) {
  const auto [scratch, run, block] = own_(name);
  std::byte* buffer;
  {
    std::lock_guard lock(mutex_);
    if (buffers_.available() == 0) return false;
    buffer = buffers_.take();
  }
  scratch.read(run, block, buffer,
               [ready = std::move(ready), buffer, bytes = block.stored_bytes,
                token = in_flight_.begin()](std::exception_ptr failure) mutable {
                 ready({buffer, bytes}, std::move(failure));
                 ready = nullptr;
                 token.reset();
               });
  return true;
}

void ScratchServer::give_back(std::span<std::byte> block) {
  std::lock_guard lock(mutex_);
  buffers_.give_back(block.data());
}

void RemoteBlocks::read(const StoredRun& run, const StoredBlock& block, std::byte* buffer,
                        Done done) {
  const SliceOrigin origin = origins_.at(&run);
  if (BlockSource* const local = scratch_.of(origin.rank)) {
    return local->read(run, block, buffer, std::move(done));
  }
  peers_.fetch(
      origin.rank, {origin.run, block.place.slot}, {buffer, block.stored_bytes},
      [done = std::move(done), token = in_flight_.begin()](std::exception_ptr failure) mutable {
        done(std::move(failure));
        done = nullptr;
        token.reset();
      });
}

// (All open what they have read alike.)
void RemoteBlocks::open(const StoredRun& run, const StoredBlock& block, std::byte* buffer) const {
  const BlockSource* const local = scratch_.of(origins_.at(&run).rank);
  (local != nullptr ? local : scratch_.of(peers_.rank()))->open(run, block, buffer);
}

}  // namespace xxl
