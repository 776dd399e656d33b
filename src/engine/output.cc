#include "engine/output.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "run/compressed_bytes.h"
#include "run/sinks.h"

namespace xxl {
namespace {

// Steps in which space is reserved for what is of unknown size.
constexpr std::uint64_t kMinReserveBytes = 4 * kMiB;
constexpr std::uint64_t kMaxReserveBytes = 256 * kMiB;

}  // namespace

Output::Output(std::string path, std::vector<std::string> scratch_dirs, std::uint64_t bytes,
               Codec codec)
    : path_(std::move(path)), scratch_dirs_(std::move(scratch_dirs)), codec_(codec) {
  if (path_ != "-" && io::OutputFile::is_replaceable(path_)) {
    open_file(bytes);
  } else {
    stream_ = io::open_output_stream(path_);
  }
}

void Output::open_file(std::uint64_t bytes) {
  file_ = std::make_shared<io::OutputFile>(path_, codec_ == Codec::none, scratch_dirs_);
  reserved_bytes_ = round_up<std::uint64_t>(bytes, kSectorBytes);
  file_->reserve(0, reserved_bytes_);
}

void Output::reserve_up_to(std::uint64_t end) {
  std::lock_guard lock(mutex_);
  if (end <= reserved_bytes_) return;
  const std::uint64_t needed = end - reserved_bytes_;
  std::uint64_t step =
      std::max(needed, std::clamp(reserved_bytes_, kMinReserveBytes, kMaxReserveBytes));
  try {
    file_->reserve(reserved_bytes_, step);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space || step == needed) throw;
    step = needed;  // the rest of the disk
    file_->reserve(reserved_bytes_, step);
  }
  reserved_bytes_ += step;
}

std::uint64_t Output::free_bytes() const {
  return file_->free_bytes();
}

std::unique_ptr<ByteSink> Output::make_plain_sink(std::size_t block_bytes, io::IoService& io) {
  if (!is_file()) return std::make_unique<StreamBytes>(stream_, io);
  return std::make_unique<FileBytes>(file_->file(), block_bytes, io,
                                     [this](std::uint64_t end) { reserve_up_to(end); });
}

std::unique_ptr<ByteSink> Output::make_sink(std::size_t block_bytes, std::size_t kept_frame_bytes,
                                            io::IoService& io, Monitor& monitor) {
  if (codec_ == Codec::none) return make_plain_sink(block_bytes, io);
  return std::make_unique<CompressedBytes>(target(), codec_, 0, kept_frame_bytes, io, monitor);
}

std::unique_ptr<BlockSink> Output::make_record_sink(std::size_t block_bytes,
                                                    io::BufferPool& buffers, io::IoService& io,
                                                    Mailbox& mailbox) {
  return std::make_unique<OutputSink>(make_plain_sink(block_bytes, io), block_bytes, buffers,
                                      mailbox);
}

std::shared_ptr<io::File> Output::start_again(std::uint64_t bytes) {
  std::shared_ptr<io::OutputFile> old = std::move(file_);
  open_file(bytes);
  return {old, &old->file()};
}

void Output::publish(std::uint64_t bytes) {
  if (is_file()) {
    file_->publish(bytes);
  } else {
    io::end_output_stream(path_, stream_);
  }
}

}  // namespace xxl
