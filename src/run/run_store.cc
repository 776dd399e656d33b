#include "run/run_store.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/checksum.h"
#include "base/error.h"
#include "base/units.h"

namespace xxl {

void throw_not_as_written(const std::string& directory, std::uint64_t offset) {
  throw Error(ErrorCode::corrupt,
              "a block read back from scratch is not the one that was written: check this "
              "machine's memory and disks",
              directory, offset);
}

// Finds places for `block`, of which the sizes are known.
void RunStore::allocate(StoredRun& run, StoredBlock& block) {
  const std::size_t slots =
      std::max<std::size_t>(1, ceil_div<std::size_t>(block.stored_bytes, slot_bytes()));
  std::lock_guard lock(mutex_);
  if (!run.stripe) run.stripe = scratch_.new_stripe();
  if (slots == 1) {
    block.place = scratch_.allocate(*run.stripe);
    return;
  }
  const std::vector<io::ScratchPlace> places = scratch_.allocate(*run.stripe, slots);
  block.places = static_cast<std::uint32_t>(places.size());
  block.place = places.front();
  if (places.size() == 1) return;
  block.place.slot = static_cast<std::uint32_t>(run.places.size());
  run.places.insert(run.places.end(), places.begin(), places.end());
}

std::vector<io::ScratchPlace> RunStore::places_of(const StoredRun& run,
                                                  const StoredBlock& block) const {
  std::lock_guard lock(mutex_);
  const std::span<const io::ScratchPlace> places = run.places_of(block);
  return {places.begin(), places.end()};
}

StoredBlock RunStore::write(StoredRun& run, std::byte* buffer, std::size_t bytes, Done done) {
  StoredBlock block;
  block.bytes = block.stored_bytes = static_cast<std::uint32_t>(bytes);
  std::shared_ptr<std::byte> larger;
  std::byte* from = buffer;
  // Packed blocks are written as whole slots. Otherwise the ends of slots would be reserved but
  // never written, and file systems are slow to delete such files.
  std::size_t padded = buffer_bytes(bytes);
  if (const std::span<const std::byte> packed = packer_.pack({buffer, bytes}, slot_bytes());
      !packed.empty()) {
    block.packed = true;
    block.stored_bytes = static_cast<std::uint32_t>(packed.size());
    padded = round_up(packed.size(), slot_bytes());
    // The block's own buffer is used again unless it is too small: a program's output has any size.
    if (padded > buffer_bytes(bytes)) {
      from = static_cast<std::byte*>(std::aligned_alloc(kSectorBytes, padded));
      if (from == nullptr) throw std::bad_alloc();
      larger.reset(from, std::free);
    }
    std::memcpy(from, packed.data(), packed.size());
    std::memset(from + packed.size(), 0, padded - packed.size());
  }
  block.checksum = block_checksum(std::span<const std::byte>(from, block.stored_bytes));
  allocate(run, block);
  transfer(
      io::Op::write, places_of(run, block), padded, from,
      [done = std::move(done), larger](std::exception_ptr failure) { done(std::move(failure)); });
  return block;
}

StoredBlock RunStore::place(StoredRun& run,
                            std::initializer_list<std::span<const std::byte>> parts) {
  StoredBlock block;
  for (const auto& part : parts) block.bytes += static_cast<std::uint32_t>(part.size());
  block.stored_bytes = block.bytes;
  block.checksum = block_checksum(parts);
  allocate(run, block);
  return block;
}

void RunStore::write_slots(const StoredRun& run, const StoredBlock& block, std::size_t first_slot,
                           std::span<std::byte> data, Done done) {
  std::vector<io::ScratchPlace> places;
  for (io::ScratchPlace place : places_of(run, block)) {
    const std::size_t before = std::min<std::size_t>(first_slot, place.slots);
    first_slot -= before;
    place.slot += static_cast<std::uint32_t>(before);
    place.slots = static_cast<std::uint16_t>(place.slots - before);
    if (place.slots > 0) places.push_back(place);
  }
  transfer(io::Op::write, places, data.size(), data.data(), std::move(done));
}

void RunStore::read(const StoredRun& run, const StoredBlock& block, std::byte* buffer, Done done) {
  transfer(io::Op::read, places_of(run, block), buffer_bytes(block.stored_bytes), buffer,
           std::move(done));
}

// Ends by `done`, whatever fails once there is something under way.
void RunStore::transfer(io::Op op, const std::vector<io::ScratchPlace>& places, std::size_t bytes,
                        std::byte* buffer, Done done) {
  struct Pending {
    std::mutex mutex;
    std::size_t left = 1;  // one for the caller
    std::exception_ptr failure;
    Done done;

    void begin() {
      std::lock_guard lock(mutex);
      ++left;
    }
    void end(std::exception_ptr error) {
      {
        std::lock_guard lock(mutex);
        if (failure == nullptr) failure = std::move(error);
        if (--left > 0) return;
      }
      done(std::move(failure));
    }
  };
  const auto pending = std::make_shared<Pending>();
  pending->done = std::move(done);
  try {
    std::span<std::byte> left(buffer, bytes);
    for (std::size_t i = 0; i < places.size() && !left.empty(); ++i) {
      const std::size_t here = std::min(places[i].slots * slot_bytes(), left.size());
      io::Request request_here =
          request(op, places[i], left.first(here),
                  [pending](std::exception_ptr failure) { pending->end(std::move(failure)); });
      io::IoQueue& queue = io_.queue_for(*request_here.file);
      pending->begin();
      queue.submit(std::move(request_here));
      left = left.subspan(here);
    }
  } catch (...) {  // what is under way has its end to come
    return pending->end(std::current_exception());
  }
  pending->end(nullptr);
}

io::Request RunStore::request(io::Op op, io::ScratchPlace where, std::span<std::byte> data,
                              Done done) {
  io::Request request{op, &scratch_.file(where), scratch_.offset(where), data, {}};
  request.done = [op, file = request.file, offset = request.offset, wanted = data.size(),
                  done = std::move(done),
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    std::exception_ptr failure;
    if (completion.error != 0 || completion.bytes != wanted) {
      try {
        throw_io_error(completion.error != 0 ? completion.error : EIO,
                       op == io::Op::read ? "cannot read scratch" : "cannot write scratch",
                       file->path(), offset);
      } catch (...) {  // (even std::bad_alloc)
        failure = std::current_exception();
      }
    }
    done(std::move(failure));
    done = nullptr;
    token.reset();
  };
  return request;
}

void RunStore::open(const StoredRun& run, const StoredBlock& block, std::byte* buffer) const {
  if (block_checksum(std::span<const std::byte>(buffer, block.stored_bytes)) == block.checksum &&
      (!block.packed || packer_.unpack(buffer, block.stored_bytes, block.bytes))) {
    return;
  }
  const io::ScratchPlace where = places_of(run, block).front();
  throw_not_as_written(scratch_.directory(where.disk), scratch_.offset(where));
}

void RunStore::release(const StoredRun& run, const StoredBlock& block) {
  for (const io::ScratchPlace& place : places_of(run, block)) scratch_.release(place);
}

}  // namespace xxl
