#include "pipeline/decoded_file.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "io/input_checks.h"

namespace xxl {

DecodedFile::DecodedFile(const io::File& file, Codec codec, io::IoService& io, Monitor& monitor)
    : file_(file), codec_(codec), io_(io), monitor_(monitor) {}

DecodedFile::~DecodedFile() {
  // Where the queues are gone already, they have waited for every read.
  if (under_way_ && !done_ && !file_.seekable()) io_.cancel_streams();
}

void DecodedFile::start() {
  decompressor_.emplace(codec_, file_.path());
  memory_ = MemoryRegion(2 * kPieceBytes);
  start_read();
}

void DecodedFile::start_read() {
  if (at_end_) return;
  io::Request request;
  request.op = io::Op::read;
  request.file = &file_;
  request.data = memory_.span().subspan(reading_ * kPieceBytes, kPieceBytes);
  request.offset = io::Request::kStream;
  if (file_.seekable()) {
    request.offset = position_;
    request.data = request.data.first(std::min<std::uint64_t>(
        request.data.size(), round_up<std::uint64_t>(file_.size() - position_, kSectorBytes)));
  }
  done_ = false;
  under_way_ = true;
  request.done = [this, token = in_flight_.begin()](const io::Completion& completion) mutable {
    {
      auto lock = monitor_.lock();
      completion_ = completion;
      done_ = true;
    }
    monitor_.notify();
    token.reset();
  };
  io_.queue_for(file_).submit(std::move(request));
}

// Hands the piece that was read to the decompressor, and reads the next into the other buffer.
void DecodedFile::give_piece() {
  if (!under_way_) return decompressor_->finish_input();
  {
    auto lock = monitor_.lock();
    monitor_.wait(lock, [&] { return done_.load(); });
  }
  under_way_ = false;
  std::size_t wanted = 0;
  if (file_.seekable()) {
    wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, file_.size() - position_));
  }
  io::check_read(file_, position_, wanted, completion_);
  std::size_t bytes = completion_.bytes;
  if (file_.seekable()) {
    bytes = wanted;
    at_end_ = position_ + bytes == file_.size();
    if (at_end_) io::check_not_grown(file_);
  } else {
    at_end_ = bytes < kPieceBytes;
  }
  position_ += bytes;
  const auto piece = memory_.span().subspan(reading_ * kPieceBytes, bytes);
  reading_ ^= 1;
  start_read();
  if (!piece.empty()) decompressor_->give(piece);
}

std::size_t DecodedFile::read(std::span<std::byte> to) {
  if (finished_) return 0;
  if (!decompressor_) start();
  std::size_t made = 0;
  while (made < to.size() && !decompressor_->at_end()) {
    if (decompressor_->wants_input()) give_piece();
    made += decompressor_->read(to.subspan(made));
  }
  if (decompressor_->at_end()) {
    finished_ = true;
    decompressor_.reset();
    memory_ = {};
  }
  return made;
}

}  // namespace xxl
