#include "run/text_scratch.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "run/run.h"

namespace xxl {

std::size_t TextScratch::buffer_bytes(std::size_t bytes) {
  return round_up(bytes, kSectorBytes);
}

std::size_t TextScratch::buffer_bytes(const TextBlock& block) {
  return buffer_bytes(std::max(block.bytes, block.stored_bytes));
}

io::ScratchPlace TextScratch::place(const TextRun& run, const TextBlock& block,
                                    std::size_t slot) const {
  return block.slots == 1 ? block.place : run.places[block.place.slot + slot];
}

void TextScratch::write(TextRun& run, TextBlock block, std::byte* buffer, std::size_t bytes,
                        std::function<void()> written) {
  block.bytes = block.stored_bytes = static_cast<std::uint32_t>(bytes);
  const std::span<const std::byte> packed = packer_.pack({buffer, bytes}, slot_bytes());
  if (packed.empty()) return store(run, block, buffer, std::move(written));
  block.packed = true;
  block.stored_bytes = static_cast<std::uint32_t>(packed.size());
  const std::size_t padded = buffer_bytes(packed.size());
  // The block's own buffer is used again, unless it is too small: a program may do as it likes.
  std::shared_ptr<std::byte> larger;
  if (padded > buffer_bytes(bytes)) {
    larger.reset(static_cast<std::byte*>(std::aligned_alloc(kSectorBytes, padded)), std::free);
    if (larger == nullptr) throw std::bad_alloc();
  }
  std::byte* const to = larger != nullptr ? larger.get() : buffer;
  std::memcpy(to, packed.data(), packed.size());
  std::memset(to + packed.size(), 0, padded - packed.size());
  store(run, block, to, [written = std::move(written), larger] { written(); });
}

// Writes what is in `buffer` as the next block.
void TextScratch::store(TextRun& run, TextBlock block, std::byte* buffer,
                        std::function<void()> written) {
  block.slots = static_cast<std::uint32_t>(
      std::max<std::size_t>(1, ceil_div<std::size_t>(block.stored_bytes, slot_bytes())));
  block.checksum =
      block_checksum({buffer, block.stored_bytes}, block_identity(run.identity, run.blocks.size()));
  {
    auto lock = monitor_.lock();
    if (!run.stripe) run.stripe = scratch_.new_stripe();
    if (block.slots == 1) {
      block.place = scratch_.allocate(*run.stripe);
    } else {
      block.place.slot = static_cast<std::uint32_t>(run.places.size());
      if (packer_.packs()) {  // slots are small
        scratch_.allocate(*run.stripe, block.slots, run.places);
      } else {
        for (std::uint32_t slot = 0; slot < block.slots; ++slot) {
          run.places.push_back(scratch_.allocate(*run.stripe));
        }
      }
    }
    ++writes_;
  }
  run.bytes += block.bytes;
  run.largest_block = std::max(run.largest_block, buffer_bytes(block));
  run.blocks.push_back(block);
  transfer(io::Op::write, run, block, buffer, [this, written = std::move(written)] {
    {
      auto lock = monitor_.lock();
      --writes_;
    }
    written();
    monitor_.notify();
  });
}

void TextScratch::wait_for_writes() {
  auto lock = monitor_.lock();
  monitor_.wait(lock, [&] { return writes_ == 0; });
}

void TextScratch::read(const TextRun& run, std::size_t index, std::byte* buffer,
                       std::function<void()> arrived) {
  transfer(io::Op::read, run, run.blocks[index], buffer, std::move(arrived));
}

void TextScratch::transfer(io::Op op, const TextRun& run, const TextBlock& block, std::byte* buffer,
                           std::function<void()> done) {
  // Slots that lie one behind the other are one request.
  std::vector<io::Request> requests;
  std::size_t left = buffer_bytes(std::max<std::size_t>(block.stored_bytes, 1));
  {
    auto lock = monitor_.lock();  // the store may be growing
    for (std::size_t slot = 0; slot < block.slots; ++slot) {
      const io::ScratchPlace where = place(run, block, slot);
      const io::File& file = scratch_.file(where);
      const std::uint64_t offset = scratch_.offset(where);
      const std::size_t part = std::min(slot_bytes(), left);
      left -= part;
      if (!requests.empty() && requests.back().file == &file &&
          requests.back().offset + requests.back().data.size() == offset) {
        requests.back().data = {requests.back().data.data(), requests.back().data.size() + part};
      } else {
        io::Request& request = requests.emplace_back();
        request.op = op;
        request.file = &file;
        request.offset = offset;
        request.data = {buffer + slot * slot_bytes(), part};
      }
    }
  }
  struct Pending {
    std::atomic<std::size_t> left;
    std::atomic<bool> failed{false};
    std::function<void()> done;
    InFlight::Token token;
  };
  auto pending = std::make_shared<Pending>();
  pending->left = requests.size();
  pending->done = std::move(done);
  pending->token = in_flight_.begin();
  for (io::Request& request : requests) {
    request.done = [this, op, pending, file = request.file, offset = request.offset,
                    wanted = request.data.size()](const io::Completion& completion) {
      if (completion.error != 0 || completion.bytes < wanted) {
        pending->failed = true;
        monitor_.guard([&] {
          throw_io_error(completion.error != 0 ? completion.error : EIO,
                         op == io::Op::read ? "cannot read scratch" : "cannot write scratch",
                         file->path(), offset);
        });
      }
      if (--pending->left > 0) return;
      if (!pending->failed) pending->done();
      pending->token.reset();
    };
    io_.queue_for(*request.file).submit(std::move(request));
  }
}

void TextScratch::open(const TextRun& run, std::size_t index, std::byte* buffer) const {
  const TextBlock& block = run.blocks[index];
  if (block_checksum({buffer, block.stored_bytes}, block_identity(run.identity, index)) ==
          block.checksum &&
      (!block.packed || packer_.unpack(buffer, block.stored_bytes, block.bytes))) {
    return;
  }
  const io::ScratchPlace where = place(run, block, 0);
  throw Error(ErrorCode::corrupt,
              "a block read back from scratch is not the one that was written: check this "
              "machine's memory and disks",
              scratch_.directory(where.disk), scratch_.offset(where));
}

void TextScratch::release(const TextRun& run, std::size_t index) {
  const TextBlock& block = run.blocks[index];
  auto lock = monitor_.lock();
  for (std::size_t slot = 0; slot < block.slots; ++slot) scratch_.release(place(run, block, slot));
}

TextRunWriter::~TextRunWriter() {
  if (buffer_ != nullptr) buffers_.give_back(buffer_, size_);
}

void TextRunWriter::open_block(std::string_view first, std::size_t bytes) {
  close_block();
  size_ = std::max(block_bytes_, bytes);
  if (size_ > buffers_.total_bytes()) {
    throw Error(ErrorCode::no_space, "a record of " + format_bytes(bytes) +
                                         " is too long for this -S: give more memory");
  }
  buffer_ = buffers_.take(size_);
  used_ = 0;
  key_.clear();
  keys_.append_key(first, kMaxTriggerBytes + 1, key_);
  block_ = {};
  std::string_view trigger = std::string_view(key_).substr(0, kMaxTriggerBytes);
  if (!run_.blocks.empty()) trigger = separator(last_key_, key_, block_.separates);
  block_.whole_key = trigger.size() == key_.size();
  block_.trigger_begin = static_cast<std::uint32_t>(run_.triggers.size());
  block_.trigger_bytes = static_cast<std::uint16_t>(trigger.size());
  run_.triggers.append(trigger);
}

void TextRunWriter::close_block() {
  if (buffer_ == nullptr) return;
  last_key_.clear();
  keys_.append_key(coded_record(reinterpret_cast<const char*>(last_)), kMaxTriggerBytes + 1,
                   last_key_);
  // A key that is cut may not look equal to a shorter one.
  if (last_key_.size() > kMaxTriggerBytes + 1) last_key_.resize(kMaxTriggerBytes + 1);
  const std::size_t padded = TextScratch::buffer_bytes(used_);
  std::memset(buffer_ + used_, 0, std::min(padded, round_up(size_, kSectorBytes)) - used_);
  scratch_.write(
      run_, block_, buffer_, used_,
      [&buffers = buffers_, buffer = buffer_, size = size_] { buffers.give_back(buffer, size); });
  buffer_ = nullptr;
  size_ = used_ = 0;
}

void TextRunWriter::finish() {
  close_block();
  run_.last_key = last_key_.substr(0, kMaxTriggerBytes);
}

}  // namespace xxl
