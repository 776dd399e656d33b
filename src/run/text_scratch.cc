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
namespace {

// Of a table in parts, a part has about as many bytes.
constexpr std::size_t kPartBytes = 8 * kKiB;

// A part is this, its blocks, and their places.
struct PartHeader {
  std::uint64_t first_block = 0;
  std::uint32_t blocks = 0;
  std::uint32_t places = 0;
};

std::size_t part_bytes(std::size_t blocks, std::size_t places) {
  return sizeof(PartHeader) + blocks * sizeof(TextBlock) + places * sizeof(io::ScratchPlace);
}

std::shared_ptr<std::byte> allocate_buffer(std::size_t bytes) {
  void* const buffer = std::aligned_alloc(kSectorBytes, bytes);
  if (buffer == nullptr) throw std::bad_alloc();
  return {static_cast<std::byte*>(buffer), std::free};
}

}  // namespace

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

// Adds a block, of which the sizes are known, to `run`, with places for its slots.
void TextScratch::append_block(TextRun& run, TextBlock& block, std::uint64_t checksum) {
  if (run.parts != nullptr && part_bytes(run.blocks.size() + 1, run.places.size()) > kPartBytes) {
    write_part(run);
  }
  block.slots = static_cast<std::uint32_t>(
      std::max<std::size_t>(1, ceil_div<std::size_t>(block.stored_bytes, slot_bytes())));
  block.checksum = checksum;
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
  }
  run.bytes += block.bytes;
  run.largest_block = std::max(run.largest_block, buffer_bytes(block));
  run.blocks.push_back(block);
}

void TextScratch::begin_write() {
  auto lock = monitor_.lock();
  ++writes_;
}

void TextScratch::end_write() {
  {
    auto lock = monitor_.lock();
    --writes_;
  }
  monitor_.notify();
}

void TextScratch::write(TextRun& run, TextBlock block, std::byte* buffer, std::size_t bytes,
                        std::function<void()> written) {
  block.bytes = block.stored_bytes = static_cast<std::uint32_t>(bytes);
  const std::span<const std::byte> packed = packer_.pack({buffer, bytes}, slot_bytes());
  if (packed.empty()) return store(run, block, buffer, std::move(written));
  block.packed = true;
  block.stored_bytes = static_cast<std::uint32_t>(packed.size());
  const std::size_t padded = round_up(packed.size(), slot_bytes());
  // The block's own buffer is used again, unless it is too small: a program may do as it likes.
  std::shared_ptr<std::byte> larger;
  if (padded > buffer_bytes(bytes)) larger = allocate_buffer(padded);
  std::byte* const to = larger != nullptr ? larger.get() : buffer;
  std::memcpy(to, packed.data(), packed.size());
  std::memset(to + packed.size(), 0, padded - packed.size());
  store(run, block, to, [written = std::move(written), larger] { written(); });
}

// Writes what is in `buffer` as the next block.
void TextScratch::store(TextRun& run, TextBlock block, std::byte* buffer,
                        std::function<void()> written) {
  append_block(run, block,
               block_checksum(std::span<const std::byte>(buffer, block.stored_bytes),
                              block_identity(run.identity, run.first_block + run.blocks.size())));
  begin_write();
  transfer(io::Op::write, run, block, buffer, [this, written = std::move(written)] {
    written();
    end_write();
  });
}

void TextScratch::begin_parts(TextRun& run) {
  run.parts = std::make_unique<TextRun>();
  run.parts->identity = ~run.identity;
}

// Brings the table of the blocks since the last part to scratch.
void TextScratch::write_part(TextRun& run) {
  if (run.blocks.empty()) return;
  const PartHeader header{run.first_block, static_cast<std::uint32_t>(run.blocks.size()),
                          static_cast<std::uint32_t>(run.places.size())};
  TextBlock block;
  block.bytes = block.stored_bytes =
      static_cast<std::uint32_t>(part_bytes(header.blocks, header.places));
  const std::shared_ptr<std::byte> buffer = allocate_buffer(buffer_bytes(block));
  std::memset(buffer.get(), 0, buffer_bytes(block));
  std::byte* to = buffer.get();
  const auto put = [&](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    to += bytes;
  };
  put(&header, sizeof(header));
  put(run.blocks.data(), header.blocks * sizeof(TextBlock));
  put(run.places.data(), header.places * sizeof(io::ScratchPlace));
  store(*run.parts, block, buffer.get(), [buffer] {});
  run.first_block += header.blocks;
  run.blocks.clear();
  run.places.clear();
}

TextRun TextScratch::read_part(const TextRun& run, std::size_t index) {
  const std::shared_ptr<std::byte> buffer = allocate_buffer(buffer_bytes(run.parts->blocks[index]));
  const auto arrived = std::make_shared<bool>(false);
  read(*run.parts, index, buffer.get(), [&monitor = monitor_, buffer, arrived] {
    {
      auto lock = monitor.lock();
      *arrived = true;
    }
    monitor.notify();
  });
  {
    auto lock = monitor_.lock();
    monitor_.wait(lock, [&] { return *arrived; });
  }
  open(*run.parts, index, buffer.get());
  PartHeader header;
  std::memcpy(&header, buffer.get(), sizeof(header));
  TextRun part;
  part.identity = run.identity;
  part.first_block = header.first_block;
  part.blocks.resize(header.blocks);
  part.places.resize(header.places);
  const std::byte* const blocks = buffer.get() + sizeof(header);
  std::memcpy(part.blocks.data(), blocks, header.blocks * sizeof(TextBlock));
  const std::byte* const places = blocks + header.blocks * sizeof(TextBlock);
  if (header.places > 0) {
    std::memcpy(part.places.data(), places, header.places * sizeof(io::ScratchPlace));
  }
  return part;
}

// The whole block is made in memory of its own: no more than one for each thread.
void TextScratch::write_long_packed(TextRun& run, TextBlock block, std::string_view record) {
  const std::size_t bytes = coded_bytes(record.size());
  const std::shared_ptr<std::byte> buffer = allocate_buffer(buffer_bytes(bytes));
  put_record(reinterpret_cast<char*>(buffer.get()), record);
  std::memset(buffer.get() + bytes, 0, buffer_bytes(bytes) - bytes);
  const auto done = std::make_shared<bool>(false);
  write(run, block, buffer.get(), bytes, [this, buffer, done] {
    auto lock = monitor_.lock();
    *done = true;
  });
  auto lock = monitor_.lock();
  monitor_.wait(lock, [&] { return *done; });
}

void TextScratch::write_long(TextRun& run, TextBlock block, std::string_view record,
                             WriteBuffers& buffers) {
  if (packer_.takes(coded_bytes(record.size()))) return write_long_packed(run, block, record);
  char length[kMaxLengthBytes];
  const std::size_t length_bytes =
      static_cast<std::size_t>(put_length(length, record.size()) - length);
  const auto head = std::as_bytes(std::span(length, length_bytes));
  const auto body = std::as_bytes(std::span(record));
  block.bytes = block.stored_bytes = static_cast<std::uint32_t>(head.size() + body.size());
  append_block(run, block,
               block_checksum({head, body},
                              block_identity(run.identity, run.first_block + run.blocks.size())));
  auto rest = body;
  for (std::size_t slot = 0; slot < block.slots; ++slot) {
    std::byte* const buffer = buffers.take(slot_bytes());
    std::size_t bytes = 0;
    if (slot == 0) {
      std::memcpy(buffer, head.data(), head.size());
      bytes = head.size();
    }
    const auto part = rest.first(std::min(rest.size(), slot_bytes() - bytes));
    std::memcpy(buffer + bytes, part.data(), part.size());
    bytes += part.size();
    rest = rest.subspan(part.size());
    const std::size_t padded = buffer_bytes(bytes);
    std::memset(buffer + bytes, 0, padded - bytes);
    begin_write();
    transfer_slots(io::Op::write, place(run, block, slot), {buffer, padded},
                   [this, buffer, &buffers](bool) {
                     buffers.give_back(buffer, slot_bytes());
                     end_write();
                   });
  }
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
  // Packed blocks are written as whole slots. The ends of slots would otherwise be stretches of the
  // file that were reserved and never written, and file systems take long to delete such a file.
  const bool whole_slots = block.packed && op == io::Op::write;
  const std::size_t bytes =
      whole_slots ? block.slots * slot_bytes() : buffer_bytes(block.stored_bytes);
  struct Pending {
    std::atomic<std::size_t> left = 1;  // one for whoever starts them
    std::atomic<bool> failed = false;
    std::function<void()> done;

    void end(bool ok) {
      if (!ok) failed = true;
      if (--left == 0 && !failed) done();
    }
  };
  const auto pending = std::make_shared<Pending>();
  pending->done = std::move(done);
  for (std::size_t slot = 0; slot < block.slots;) {
    const io::ScratchPlace where = place(run, block, slot);
    const std::size_t begin = slot * slot_bytes();
    // Slots that lie one behind the other are one transfer.
    std::size_t count = 1;
    const auto follows = [&](const io::ScratchPlace& next) {
      return next.disk == where.disk && next.slot == where.slot + count;
    };
    while (slot + count < block.slots && follows(place(run, block, slot + count))) ++count;
    ++pending->left;
    transfer_slots(op, where, {buffer + begin, std::min(count * slot_bytes(), bytes - begin)},
                   [pending](bool ok) { pending->end(ok); });
    slot += count;
  }
  pending->end(true);
}

// Slots one behind the other, from `where` on. `done` is called when a failure has gone to the
// monitor, too.
void TextScratch::transfer_slots(io::Op op, io::ScratchPlace where, std::span<std::byte> data,
                                 std::function<void(bool ok)> done) {
  io::Request request;
  request.op = op;
  {
    auto lock = monitor_.lock();  // the store may be growing
    request.file = &scratch_.file(where);
    request.offset = scratch_.offset(where);
  }
  request.data = data;
  request.done = [this, op, file = request.file, offset = request.offset, wanted = data.size(),
                  done = std::move(done),
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    const bool ok = completion.error == 0 && completion.bytes == wanted;
    if (!ok) {
      monitor_.guard([&] {
        throw_io_error(completion.error != 0 ? completion.error : EIO,
                       op == io::Op::read ? "cannot read scratch" : "cannot write scratch",
                       file->path(), offset);
      });
    }
    done(ok);
    done = nullptr;
    token.reset();
  };
  io_.queue_for(*request.file).submit(std::move(request));
}

void TextScratch::open(const TextRun& run, std::size_t index, std::byte* buffer) const {
  const TextBlock& block = run.blocks[index];
  if (block_checksum(std::span<const std::byte>(buffer, block.stored_bytes),
                     block_identity(run.identity, run.first_block + index)) == block.checksum &&
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
  if (buffer_ != nullptr) buffers_.give_back(buffer_, block_bytes_);
}

// What describes a block that starts with `first`.
TextBlock TextRunWriter::begin_block(std::string_view first) {
  if (run_.parts != nullptr) return {};  // what is read from beginning to end has no triggers
  key_.clear();
  keys_.append_key(first, kMaxTriggerBytes + 1, key_);
  TextBlock block;
  std::string_view trigger = std::string_view(key_).substr(0, kMaxTriggerBytes);
  if (!run_.blocks.empty()) trigger = separator(last_key_, key_, block.separates);
  block.whole_key = trigger.size() == key_.size();
  block.trigger_begin = static_cast<std::uint32_t>(run_.triggers.size());
  block.trigger_bytes = static_cast<std::uint16_t>(trigger.size());
  run_.triggers.append(trigger);
  return block;
}

// `record` is the last one of a block.
void TextRunWriter::set_last_key(std::string_view record) {
  if (run_.parts != nullptr) return;
  last_key_.clear();
  keys_.append_key(record, kMaxTriggerBytes + 1, last_key_);
  // A key that is cut may not look equal to a shorter one.
  if (last_key_.size() > kMaxTriggerBytes + 1) last_key_.resize(kMaxTriggerBytes + 1);
}

void TextRunWriter::open_block(std::string_view first) {
  close_block();
  buffer_ = buffers_.take(block_bytes_);
  size_ = block_bytes_;
  used_ = 0;
  block_ = begin_block(first);
}

void TextRunWriter::close_block() {
  if (buffer_ == nullptr) return;
  set_last_key(coded_record(reinterpret_cast<const char*>(last_)));
  const std::size_t padded = TextScratch::buffer_bytes(used_);
  std::memset(buffer_ + used_, 0, padded - used_);
  scratch_.write(
      run_, block_, buffer_, used_,
      [&buffers = buffers_, buffer = buffer_, size = size_] { buffers.give_back(buffer, size); });
  buffer_ = nullptr;
  size_ = used_ = 0;
}

// A record that is larger than a block is one by itself.
void TextRunWriter::add_long(std::string_view record) {
  close_block();
  const TextBlock block = begin_block(record);
  scratch_.write_long(run_, block, record, buffers_);
  set_last_key(record);
  ++run_.records;
}

void TextRunWriter::finish() {
  close_block();
  if (run_.parts != nullptr) return scratch_.end_parts(run_);
  run_.last_key = last_key_.substr(0, kMaxTriggerBytes);
  run_.blocks.shrink_to_fit();
  run_.places.shrink_to_fit();
  run_.triggers.shrink_to_fit();
}

}  // namespace xxl
