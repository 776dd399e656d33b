#include "io/decoded_file.h"

namespace xxl {

DecodedFile::DecodedFile(io::File& file, Codec codec, std::size_t max_window_bytes,
                         io::IoService& io, Monitor& monitor)
    : file_(file), codec_(codec), max_window_bytes_(max_window_bytes), io_(io), monitor_(monitor) {}

void DecodedFile::start() {
  decompressor_.emplace(codec_, file_.path(), max_window_bytes_);
  memory_ = MemoryRegion(2 * kPieceBytes);
  reader_.emplace(file_, memory_.span(), io_, monitor_);
}

// Hands the next piece to the decompressor.
void DecodedFile::give_piece() {
  const std::span<const std::byte> piece = reader_->next();
  if (!piece.empty()) {
    decompressor_->give(piece);
  } else {
    decompressor_->finish_input();
  }
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
    reader_.reset();
    memory_ = {};
  }
  return made;
}

}  // namespace xxl
