#include "engine/output.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/units.h"
#include "run/block_packer.h"
#include "run/compressed_bytes.h"
#include "run/sinks.h"

namespace xxl {
namespace {

// Steps in which space is reserved for output of unknown size.
constexpr std::uint64_t kMinReserveBytes = 4 * kMiB;
constexpr std::uint64_t kMaxReserveBytes = 256 * kMiB;

constexpr std::size_t kMaxPackedBlockBytes = kMiB;

bool is_file_path(const std::string& path) {
  return path != "-" && io::OutputFile::is_replaceable(path);
}

// Memory for frames that come before their turn.
std::size_t most_kept_bytes(std::size_t block_bytes, unsigned threads) {
  return std::size_t{2} * threads * block_bytes;
}

}  // namespace

Output::Output(const JobOptions& options, std::uint64_t bytes)
    : path_(options.output), scratch_dirs_(options.scratch_dirs), codec_(options.output_codec()) {
  if (options.output_caller != nullptr) {
    stream_ = io::File::of_caller(*options.output_caller, path_);
  } else if (is_file_path(path_)) {
    open_file(bytes);
  } else {
    stream_ = io::open_output_stream(path_);
  }
}

void Output::open_file(std::uint64_t bytes) {
  file_ = std::make_shared<io::OutputFile>(path_, codec_ == Codec::none, scratch_dirs_);
  if (codec_ != Codec::none) return;  // the size is unknown
  reserved_bytes_ = round_up<std::uint64_t>(bytes, kSectorBytes);
  // In memory that takes about as long as writing: it is done while the input is read, if there is
  // ample room, for scratch as well.
  if (file_->file().is_in_memory() && file_->free_bytes() / 4 >= reserved_bytes_) {
    reserving_ = Thread::try_start([this] {
      try {
        file_->reserve(0, reserved_bytes_);
      } catch (...) {
        reserving_failed_ = std::current_exception();
      }
    });
  }
  if (!reserving_) file_->reserve(0, reserved_bytes_);
}

void Output::finish_reserving() {
  reserving_.join();
  if (reserving_failed_) std::rethrow_exception(reserving_failed_);
}

void Output::reserve_up_to(std::uint64_t end) {
  std::lock_guard lock(mutex_);
  finish_reserving();
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

std::size_t Output::memory_bytes(Codec codec, std::size_t block_bytes, unsigned threads) {
  if (codec == Codec::none) return 0;
  return CompressedBytes::memory_bytes(codec, 0, block_bytes, threads) +
         most_kept_bytes(block_bytes, threads);
}

std::unique_ptr<ByteSink> Output::make_sink(std::size_t block_bytes, unsigned threads,
                                            io::IoService& io, Monitor& monitor) {
  if (codec_ != Codec::none) {
    return std::make_unique<CompressedBytes>(target(), codec_, 0,
                                             most_kept_bytes(block_bytes, threads), io, monitor);
  }
  if (!is_file()) return std::make_unique<StreamBytes>(stream_, io);
  return std::make_unique<FileBytes>(file_->file(), block_bytes, io,
                                     [this](std::uint64_t end) { reserve_up_to(end); });
}

std::unique_ptr<BlockSink> Output::make_record_sink(std::size_t record_bytes,
                                                    std::size_t block_bytes, unsigned threads,
                                                    io::BufferPool& buffers, io::IoService& io,
                                                    Mailbox& mailbox) {
  if (stream_.caller() != nullptr) block_bytes = round_down(block_bytes, record_bytes);
  auto monitor = std::make_unique<Monitor>();
  auto sink = make_sink(block_bytes, threads, io, *monitor);
  return std::make_unique<OutputSink>(std::move(sink), block_bytes, buffers, mailbox,
                                      std::move(monitor));
}

bool output_is_file(const JobOptions& options) {
  return options.output_caller == nullptr && is_file_path(options.output);
}

std::uint64_t output_packing_bytes(const JobOptions& options) {
  const std::size_t block_bytes = std::clamp<std::size_t>(std::bit_floor(options.memory_bytes / 64),
                                                          kSectorBytes, kMaxPackedBlockBytes);
  const unsigned threads = options.parallel != 0 ? options.parallel : available_processors();
  return std::min<std::uint64_t>(Output::memory_bytes(options.output_codec(), block_bytes, threads),
                                 options.memory_bytes / kPackingPart);
}

std::shared_ptr<io::File> Output::start_again(std::uint64_t bytes) {
  finish_reserving();
  std::shared_ptr<io::OutputFile> old = std::move(file_);
  open_file(bytes);
  return {old, &old->file()};
}

void Output::publish(std::uint64_t bytes) {
  if (is_file()) {
    finish_reserving();
    file_->publish(codec_ == Codec::none ? bytes : file_->file().stored_bytes());
  } else if (stream_.caller() == nullptr) {
    io::end_output_stream(path_, stream_);
  }
}

}  // namespace xxl
