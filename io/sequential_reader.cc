#include "io/sequential_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/units.h"
#include "io/input_checks.h"
#include "io/open_files.h"

namespace xxl::io {

SequentialReader::SequentialReader(std::vector<File>& files, std::size_t record_bytes,
                                   std::size_t block_bytes, std::span<std::byte> memory,
                                   IoService& io, Mailbox& mailbox)
    : files_(files),
      record_bytes_(record_bytes),
      block_bytes_(block_bytes),
      headroom_(round_up(record_bytes, kSectorBytes)),
      pool_(memory, buffer_bytes(block_bytes, record_bytes)),
      io_(io),
      mailbox_(mailbox),
      most_open_(files_to_read_ahead(files.size())) {
  carry_.reserve(record_bytes);
  open_ = static_cast<std::size_t>(
      std::count_if(files.begin(), files.end(), [](const File& file) { return file.is_open(); }));
}

SequentialReader::~SequentialReader() {
  const bool reads_stream =
      !window_.empty() && !window_.back().done && !files_[window_.back().file].seekable();
  if (reads_stream) io_.cancel_streams();
}

std::size_t SequentialReader::buffer_bytes(std::size_t block_bytes, std::size_t record_bytes) {
  return round_up(record_bytes, kSectorBytes) + block_bytes;
}

void SequentialReader::start_at(std::uint64_t offset) {
  position_ = round_down<std::uint64_t>(offset, kSectorBytes);
  skipped_ = static_cast<std::size_t>(offset - position_);
}

void SequentialReader::pump() {
  while (to_read_ < files_.size() && pool_.available() > 0) {
    File& file = files_[to_read_];
    // A stream is read one block at a time: only its own reads know where it is. (Callers are asked
    // for many, and fill them in order.)
    const bool is_stream = !file.seekable() && file.caller() == nullptr;
    if (is_stream && !window_.empty() && !window_.back().done) return;
    if (!file.is_open()) {
      if (open_ >= most_open_ && !window_.empty()) return;
      file.open();
      ++open_;
    }
    start_read();
  }
}

void SequentialReader::start_read() {
  File& file = files_[to_read_];
  window_.push_back({.buffer = pool_.take(),
                     .file = to_read_,
                     .offset = position_,
                     .wanted = 0,
                     .completion = {}});
  Read& read = window_.back();
  const std::uint64_t offset = file.seekable() ? position_ : Request::kStream;
  Request request{Op::read, &file, offset, {read.buffer + headroom_, block_bytes_}, {}};
  if (file.caller() != nullptr) {  // whole records
    request.data = request.data.first(round_down(block_bytes_, record_bytes_));
  }
  if (file.seekable()) {
    read.wanted = std::min<std::uint64_t>(block_bytes_, file.size() - position_);
    request.data = request.data.first(round_up(read.wanted, kSectorBytes));
    position_ += read.wanted;
    if (position_ == file.size() && !file.has_grown(record_bytes_)) ends(read);
  }
  request.done = [this, &read, asked = request.data.size(),
                  token = in_flight_.begin()](const Completion& completion) mutable {
    mailbox_.post([this, &read, completion, asked] {
      read.completion = completion;
      read.done = true;
      if (files_[read.file].seekable()) return;
      read.behind = read.file != to_read_;
      if (read.behind) return;
      position_ += completion.bytes;
      if (completion.error != 0 || completion.bytes < asked) ends(read);
    });
    token.reset();
  };
  io_.queue_for(file).submit(std::move(request));
}

// The next read is of the next file.
void SequentialReader::ends(Read& read) {
  read.ends = true;
  ++to_read_;
  position_ = 0;
}

std::optional<RecordBlock> SequentialReader::next() {
  while (ready() && window_.front().behind) {
    pool_.give_back(window_.front().buffer);
    window_.pop_front();
  }
  if (!ready()) return std::nullopt;
  const Read read = window_.front();
  window_.pop_front();
  File& file = files_[read.file];
  check_read(file, read.offset, read.wanted, read.completion);
  const std::size_t arrived = file.seekable() ? read.wanted : read.completion.bytes;
  const std::size_t skipped = std::exchange(skipped_, 0);
  std::byte* first = read.buffer + headroom_ + skipped - carry_.size();
  std::memcpy(first, carry_.data(), carry_.size());
  const std::size_t bytes = carry_.size() + arrived - skipped;
  const std::size_t cut = bytes % record_bytes_;
  carry_.assign(first + bytes - cut, first + bytes);
  if (read.ends) {
    check_whole_records(file, read.offset + arrived, record_bytes_);
    file.close();
    --open_;
  }
  return RecordBlock{read.buffer, {first, bytes - cut}};
}

void SequentialReader::release(const RecordBlock& block) {
  pool_.give_back(block.buffer);
}

}  // namespace xxl::io
