#include "run/text_scratch.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "run/run.h"

namespace xxl {

std::size_t TextScratch::buffer_bytes(std::size_t bytes) {
  return round_up(bytes, kSectorBytes);
}

io::ScratchPlace TextScratch::place(const TextRun& run, const TextBlock& block,
                                    std::size_t slot) const {
  return block.slots == 1 ? block.place : run.places[block.place.slot + slot];
}

void TextScratch::write(TextRun& run, TextBlock block, std::byte* buffer, std::size_t bytes,
                        std::function<void()> written) {
  block.bytes = static_cast<std::uint32_t>(bytes);
  block.slots = static_cast<std::uint32_t>(std::max<std::size_t>(1, ceil_div(bytes, slot_bytes())));
  block.checksum = block_checksum({buffer, bytes}, block_identity(run.identity, run.blocks.size()));
  {
    auto lock = monitor_.lock();
    if (!run.stripe) run.stripe = scratch_.new_stripe();
    if (block.slots == 1) {
      block.place = scratch_.allocate(*run.stripe);
    } else {
      block.place.slot = static_cast<std::uint32_t>(run.places.size());
      for (std::uint32_t slot = 0; slot < block.slots; ++slot) {
        run.places.push_back(scratch_.allocate(*run.stripe));
      }
    }
  }
  run.bytes += bytes;
  run.largest_block = std::max(run.largest_block, bytes);
  run.blocks.push_back(block);
  {
    auto lock = monitor_.lock();
    ++writes_;
  }
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
  const std::size_t bytes = buffer_bytes(block.bytes);
  const std::size_t requests = std::max<std::size_t>(1, ceil_div(bytes, slot_bytes()));
  struct Pending {
    std::atomic<std::size_t> left;
    std::atomic<bool> failed{false};
    std::function<void()> done;
    InFlight::Token token;
  };
  auto pending = std::make_shared<Pending>();
  pending->left = requests;
  pending->done = std::move(done);
  pending->token = in_flight_.begin();
  for (std::size_t slot = 0; slot < requests; ++slot) {
    const io::ScratchPlace where = place(run, block, slot);
    io::Request request;
    request.op = op;
    {
      auto lock = monitor_.lock();  // the store may be growing
      request.file = &scratch_.file(where);
      request.offset = scratch_.offset(where);
    }
    const std::size_t begin = slot * slot_bytes();
    request.data = {buffer + begin, std::min(slot_bytes(), bytes - begin)};
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

void TextScratch::check(const TextRun& run, std::size_t index, const std::byte* buffer) const {
  const TextBlock& block = run.blocks[index];
  if (block_checksum({buffer, block.bytes}, block_identity(run.identity, index)) ==
      block.checksum) {
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
