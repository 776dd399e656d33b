#include "run/general_scratch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "run/block_reader.h"

namespace xxl {
namespace {

// The size of a part of a table, about.
constexpr std::size_t kPartBytes = 8 * kKiB;

// Long records are written in pieces, which are no longer than other blocks.
constexpr std::size_t kSlotsOfPiece = 4;

// A part: this head, its blocks, and their places.
struct PartHeader {
  std::uint32_t blocks = 0;
  std::uint32_t places = 0;
};

std::size_t part_bytes(std::size_t blocks, std::size_t places) {
  return sizeof(PartHeader) + blocks * sizeof(GeneralBlock) + places * sizeof(io::ScratchPlace);
}

std::shared_ptr<std::byte> allocate_buffer(std::size_t bytes) {
  void* const buffer = std::aligned_alloc(kSectorBytes, bytes);
  if (buffer == nullptr) throw std::bad_alloc();
  return {static_cast<std::byte*>(buffer), std::free};
}

}  // namespace

// For one more block, before it is written: append() must not fail while it is. Of a table in
// parts, what is there goes to scratch before it grows too long for one.
void GeneralScratch::make_room(GeneralRun& run) {
  if (run.parts != nullptr && part_bytes(run.blocks.size() + 1, run.places.size()) > kPartBytes) {
    write_part(run);
  }
  if (run.blocks.size() == run.blocks.capacity()) run.blocks.reserve(2 * run.blocks.size() + 1);
}

void GeneralScratch::append(GeneralRun& run, const GeneralBlock& block) noexcept {
  run.bytes += block.bytes;
  run.largest_block = std::max(run.largest_block, BlockSource::buffer_bytes(block));
  run.blocks.push_back(block);
}

// The end of a write that begins now: `written`, or a failure.
RunStore::Done GeneralScratch::write_begins(std::function<void()> written) {
  {
    auto lock = monitor_.lock();
    ++writes_;
  }
  return [this, written = std::move(written)](std::exception_ptr failure) {
    if (failure != nullptr) monitor_.fail(std::move(failure));
    written();
    monitor_.change([&] { --writes_; });
  };
}

void GeneralScratch::write(GeneralRun& run, GeneralBlock block, std::byte* buffer,
                           std::size_t bytes, std::function<void()> written) {
  make_room(run);
  static_cast<StoredBlock&>(block) =
      store_.write(run, buffer, bytes, write_begins(std::move(written)));
  append(run, block);
}

void GeneralScratch::begin_parts(GeneralRun& run) {
  run.parts = std::make_unique<GeneralRun>();
}

// Writes the table of the blocks since the last part to scratch.
void GeneralScratch::write_part(GeneralRun& run) {
  if (run.blocks.empty()) return;
  const PartHeader header{static_cast<std::uint32_t>(run.blocks.size()),
                          static_cast<std::uint32_t>(run.places.size())};
  const std::size_t bytes = part_bytes(header.blocks, header.places);
  const std::shared_ptr<std::byte> buffer = allocate_buffer(BlockSource::buffer_bytes(bytes));
  std::memset(buffer.get(), 0, BlockSource::buffer_bytes(bytes));
  std::byte* to = buffer.get();
  const auto put = [&to](const void* from, std::size_t count) {
    if (count > 0) std::memcpy(to, from, count);
    to += count;
  };
  put(&header, sizeof(header));
  put(run.blocks.data(), header.blocks * sizeof(GeneralBlock));
  put(run.places.data(), header.places * sizeof(io::ScratchPlace));
  write(*run.parts, {}, buffer.get(), bytes, [buffer] {});
  run.blocks.clear();
  run.places.clear();
}

GeneralRun GeneralScratch::read_part(const GeneralRun& run, std::size_t index) {
  const GeneralBlock& block = run.parts->blocks[index];
  const std::shared_ptr<std::byte> buffer = allocate_buffer(BlockSource::buffer_bytes(block));
  BlockReader(*run.parts, *source_, buffer.get()).get(block);
  PartHeader header;
  std::memcpy(&header, buffer.get(), sizeof(header));
  GeneralRun part;
  part.blocks.resize(header.blocks);
  part.places.resize(header.places);
  const std::byte* const blocks = buffer.get() + sizeof(header);
  std::memcpy(part.blocks.data(), blocks, header.blocks * sizeof(GeneralBlock));
  const std::byte* const places = blocks + header.blocks * sizeof(GeneralBlock);
  if (header.places > 0) {
    std::memcpy(part.places.data(), places, header.places * sizeof(io::ScratchPlace));
  }
  return part;
}

// The whole block is made in separate memory: at most one for each thread.
void GeneralScratch::write_long_packed(GeneralRun& run, GeneralBlock block,
                                       std::string_view record) {
  const std::size_t bytes = coded_bytes(record.size());
  const std::shared_ptr<std::byte> buffer = allocate_buffer(BlockSource::buffer_bytes(bytes));
  put_record(reinterpret_cast<char*>(buffer.get()), record);
  std::memset(buffer.get() + bytes, 0, BlockSource::buffer_bytes(bytes) - bytes);
  const auto done = std::make_shared<bool>(false);
  write(run, block, buffer.get(), bytes, [this, buffer, done] {
    auto lock = monitor_.lock();
    *done = true;
  });
  monitor_.wait([&] { return *done; });
}

void GeneralScratch::write_long(GeneralRun& run, GeneralBlock block, std::string_view record,
                                WriteBuffers& buffers) {
  if (store_.packer().takes(coded_bytes(record.size())))
    return write_long_packed(run, block, record);
  char length[kMaxLengthBytes];
  const std::size_t length_bytes =
      static_cast<std::size_t>(put_length(length, record.size()) - length);
  const auto head = std::as_bytes(std::span(length, length_bytes));
  const auto body = std::as_bytes(std::span(record));
  make_room(run);
  static_cast<StoredBlock&>(block) = store_.place(run, {head, body});
  append(run, block);
  const std::size_t piece_bytes = kSlotsOfPiece * store_.slot_bytes();
  auto rest = body;
  for (std::size_t slot = 0; slot == 0 || !rest.empty(); slot += kSlotsOfPiece) {
    std::byte* const buffer = buffers.take(piece_bytes);
    std::size_t bytes = 0;
    if (slot == 0) {
      std::memcpy(buffer, head.data(), head.size());
      bytes = head.size();
    }
    const auto part = rest.first(std::min(rest.size(), piece_bytes - bytes));
    std::memcpy(buffer + bytes, part.data(), part.size());
    bytes += part.size();
    rest = rest.subspan(part.size());
    const std::size_t padded = BlockSource::buffer_bytes(bytes);
    std::memset(buffer + bytes, 0, padded - bytes);
    store_.write_slots(
        run, block, slot, {buffer, padded},
        write_begins([buffer, piece_bytes, &buffers] { buffers.give_back(buffer, piece_bytes); }));
  }
}

// Multiples of the golden ratio have leading bits that are spread evenly.
std::size_t GeneralScratch::first_of_run(std::size_t bytes) {
  return static_cast<std::size_t>(bytes * (++runs_ * 0x9e3779b97f4a7c15u >> 40) >> 24);
}

void GeneralScratch::wait_for_writes() {
  monitor_.wait([&] { return writes_ == 0; });
}

void GeneralScratch::read(const GeneralRun& run, std::size_t index, std::byte* buffer,
                          std::function<void()> arrived) {
  source_->read(run, run.blocks[index], buffer,
                [this, arrived = std::move(arrived)](std::exception_ptr failure) {
                  if (failure != nullptr) return monitor_.fail(std::move(failure));
                  arrived();
                });
}

GeneralRunWriter::~GeneralRunWriter() {
  if (buffer_ != nullptr) buffers_.give_back(buffer_, block_bytes_);
}

// The description of a block that starts with `first`.
GeneralBlock GeneralRunWriter::begin_block(std::string_view first) {
  if (run_.parts != nullptr) return {};  // a run read from beginning to end has no triggers
  key_.clear();
  keys_.append_key(first, kMaxTriggerBytes + 1, key_);
  GeneralBlock block;
  std::string_view trigger = std::string_view(key_).substr(0, kMaxTriggerBytes);
  if (!run_.blocks.empty()) trigger = separator(last_key_, key_, block.separates);
  block.whole_key = trigger.size() == key_.size();
  block.trigger_begin = static_cast<std::uint32_t>(run_.triggers.size());
  block.trigger_bytes = static_cast<std::uint16_t>(trigger.size());
  run_.triggers.append(trigger);
  return block;
}

// `record` is the last one of a block.
void GeneralRunWriter::set_last_key(std::string_view record) {
  if (run_.parts != nullptr) return;
  last_key_.clear();
  keys_.append_key(record, kMaxTriggerBytes + 1, last_key_);
  // A key that is cut may not look equal to a shorter one.
  if (last_key_.size() > kMaxTriggerBytes + 1) last_key_.resize(kMaxTriggerBytes + 1);
}

void GeneralRunWriter::open_block(std::string_view first) {
  close_block();
  buffer_ = buffers_.take(block_bytes_);
  room_ = run_.records > 0 ? block_bytes_ : scratch_.first_of_run(block_bytes_);
  used_ = 0;
  block_ = begin_block(first);
}

void GeneralRunWriter::close_block() {
  if (buffer_ == nullptr) return;
  set_last_key(coded_record(reinterpret_cast<const char*>(last_)));
  const std::size_t padded = BlockSource::buffer_bytes(used_);
  std::memset(buffer_ + used_, 0, padded - used_);
  scratch_.write(run_, block_, buffer_, used_,
                 [&buffers = buffers_, buffer = buffer_, size = block_bytes_] {
                   buffers.give_back(buffer, size);
                 });
  buffer_ = nullptr;
  room_ = used_ = 0;
}

// A record larger than a block is a block by itself.
void GeneralRunWriter::add_long(std::string_view record) {
  close_block();
  const GeneralBlock block = begin_block(record);
  scratch_.write_long(run_, block, record, buffers_);
  set_last_key(record);
  ++run_.records;
}

void GeneralRunWriter::finish() {
  close_block();
  if (run_.parts != nullptr) return scratch_.end_parts(run_);
  run_.last_key = last_key_.substr(0, kMaxTriggerBytes);
  run_.blocks.shrink_to_fit();
  run_.places.shrink_to_fit();
  run_.triggers.shrink_to_fit();
}

}  // namespace xxl
