#include "job/output.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "run/block_packer.h"
#include "run/compressed_bytes.h"
#include "run/part_sink.h"
#include "run/sinks.h"

namespace xxl {
namespace {

// Records of a fixed size are written to smaller parts than this without alignment: the space
// between two parts would need more memory than there is for the output.
constexpr std::uint64_t kLeastAlignedBytes = 64 * kKiB;

constexpr std::size_t kMaxPackedBlockBytes = kMiB;

// An output that follows scratch has this part of its space reserved at once, and so much for each
// thread: scratch is given back a little late, when whole blocks have been merged and the cells
// that lie in them are written. The rest is reserved in steps.
constexpr std::uint64_t kReservedPart = 8;
constexpr std::uint64_t kReservedOfThread = 8 * kMiB;
constexpr std::uint64_t kStepsAfterScratch = 64;
constexpr std::uint64_t kMinStepBytes = kMiB;

bool is_file_path(const std::string& path) {
  return path != "-" && io::OutputFile::is_replaceable(path);
}

// Memory for frames that come before their turn.
std::size_t most_kept_bytes(std::size_t block_bytes, unsigned threads) {
  return std::size_t{2} * threads * block_bytes;
}

}  // namespace

Output::Output(const JobOptions& options, std::uint64_t bytes, bool follows_scratch)
    : options_(options), codec_(options.output_codec()), follows_scratch_(follows_scratch) {
  const std::string& path = options.output;
  if (options.output_caller != nullptr) {
    stream_ = io::File::of_caller(*options.output_caller, path);
  } else if (options.in_parts()) {
    open_parts(bytes);
  } else if (is_file_path(path)) {
    open_file(bytes);
  } else {
    stream_ = io::open_output_stream(path, options.verify);
  }
}

void Output::open_file(std::uint64_t bytes) {
  const bool is_small = codec_ == Codec::none && bytes <= io::OutputFile::kSmallBytes;
  file_ = std::make_shared<io::OutputFile>(options_.output, codec_ == Codec::none,
                                           options_.scratch_dirs, is_small);
  if (options_.verify) file_->prepare_to_verify();
  if (codec_ != Codec::none) return;  // the size is unknown
  bytes = round_up<std::uint64_t>(bytes, kSectorBytes);
  if (file_->file().is_in_memory()) {
    reserve_beside([this, bytes] { file_->reserve(0, bytes); }, bytes);
  }
  const std::uint64_t now = reserving_ ? bytes : bytes - bytes_after_scratch(bytes);
  const std::uint64_t most_step =
      now == bytes ? GrowingFile::kMaxStepBytes
                   : std::clamp<std::uint64_t>(bytes / kStepsAfterScratch, kMinStepBytes,
                                               GrowingFile::kMaxStepBytes);
  space_.emplace([this](std::uint64_t at, std::uint64_t more) { file_->reserve(at, more); }, now,
                 ~std::uint64_t{0}, most_step);
  if (!reserving_) file_->reserve(0, now);
}

// How many of `bytes` get the space that scratch gives back, if all of it is on the same device.
std::uint64_t Output::bytes_after_scratch(std::uint64_t bytes) {
  const auto is_here = [this](const std::string& path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 && status.st_dev == file_->file().device();
  };
  if (!follows_scratch_ || !std::ranges::all_of(options_.scratch_dirs, is_here) ||
      !file_->file().gives_back_soon() || !file_->file().give_back(0, kSectorBytes)) {
    return 0;
  }
  const std::uint64_t at_once = bytes / kReservedPart + options_.thread_count() * kReservedOfThread;
  return round_down<std::uint64_t>(bytes - std::min(bytes, at_once), kSectorBytes);
}

void Output::open_parts(std::uint64_t bytes) {
  const std::string& path = options_.output;
  if (path == "-") {
    throw Error(ErrorCode::usage, "parts need a directory: give its name with --output");
  }
  part_files_ =
      std::make_unique<PartFiles>(path, options_.verify, part_ending(options_.record_kind));
  if (bytes > free_bytes()) {
    throw Error(
        ErrorCode::no_space,
        "needs " + format_bytes(bytes) + ", and " + format_bytes(free_bytes()) + " are free", path);
  }
  if (options_.parts == 0 || bytes == 0 || !part_files_->is_in_memory()) return;
  const std::uint64_t part_bytes =
      round_up<std::uint64_t>(bytes / options_.parts + 1, kSectorBytes);
  reserve_beside(
      [this, part_bytes] {
        for (std::size_t part = 0; part < options_.parts; ++part) {
          part_files_->file(part, part_bytes, false, part_bytes);
        }
      },
      bytes);
}

// In memory, reserving takes about as long as writing: it is done while the input is read, if there
// is ample room, for scratch as well.
void Output::reserve_beside(std::function<void()> reserve, std::uint64_t bytes) {
  if (free_bytes() / 4 < bytes) return;
  reserving_ = Thread::try_start([this, reserve = std::move(reserve)] {
    try {
      reserve();
    } catch (...) {
      reserving_failed_ = std::current_exception();
    }
  });
}

void Output::finish_reserving() {
  reserving_.join();
  if (reserving_failed_) std::rethrow_exception(reserving_failed_);
}

void Output::reserve_up_to(std::uint64_t end) {
  std::lock_guard lock(mutex_);
  finish_reserving();
  for (;;) {
    try {
      return space_->reserve_up_to(end);
    } catch (const Error& error) {
      const bool is_full = error.code() == ErrorCode::no_space;
      if (!is_full || scratch_ == nullptr || !scratch_->wait_until_given_back()) throw;
    }
  }
}

std::uint64_t Output::free_bytes() const {
  return in_parts() ? part_files_->free_bytes() : file_->free_bytes();
}

OutputParts* Output::cut_parts(std::uint64_t bytes, PartKey key, std::size_t record_bytes) {
  if (!in_parts()) return nullptr;
  const std::uint64_t size = options_.parts != 0 ? bytes / options_.parts : options_.part_bytes;
  const bool aligned = record_bytes == 0 || size >= kLeastAlignedBytes;
  parts_ = std::make_unique<OutputParts>(
      PartRules{options_.parts, options_.part_bytes, std::move(key.key), std::move(key.directory)},
      aligned ? kSectorBytes : 1);
  parts_->expect(bytes);
  record_bytes_ = record_bytes;
  most_bytes_ = size == 0 ? ~std::uint64_t{0} : round_up<std::uint64_t>(size, kSectorBytes);
  return parts_.get();
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
  if (in_parts()) {
    XXL_CHECK(parts_ != nullptr);
    const bool direct = parts_->alignment() == kSectorBytes;
    return std::make_unique<PartSink>(
        *parts_, block_bytes,
        [this, direct](std::size_t part, std::uint64_t end) {
          return part_files_->file(part, end, direct, most_bytes_);
        },
        io);
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

bool output_appears_at_end(const JobOptions& options) {
  return options.output_caller == nullptr && (options.in_parts() || is_file_path(options.output));
}

void check_parts(const JobOptions& options, bool knows_size) {
  const auto refuse = [](const char* message) { throw Error(ErrorCode::usage, message); };
  if ((options.parts != 0) + (options.part_bytes != 0) + !options.part_by.empty() > 1) {
    refuse("--parts, --part-bytes and --part-by exclude each other");
  }
  if (options.parts > kMostParts) refuse("--parts can be at most 100000");
  if (options.parts != 0 && !knows_size) {
    refuse("--parts needs to know how large the output will be: use --part-bytes");
  }
}

std::uint64_t output_packing_bytes(const JobOptions& options) {
  const std::size_t block_bytes = std::clamp<std::size_t>(std::bit_floor(options.memory_bytes / 64),
                                                          kSectorBytes, kMaxPackedBlockBytes);
  return std::min<std::uint64_t>(
      Output::memory_bytes(options.output_codec(), block_bytes, options.thread_count()),
      options.memory_bytes / kPackingPart);
}

std::shared_ptr<io::File> Output::start_again(std::uint64_t bytes) {
  finish_reserving();
  std::shared_ptr<io::OutputFile> old = std::move(file_);
  open_file(bytes);
  return {old, &old->file()};
}

void Output::publish(std::uint64_t bytes, io::ReadBack* read_back) {
  if (in_parts()) {
    finish_reserving();
    if (parts_ == nullptr) cut_parts(0, {}, record_bytes_);  // there was nothing to write
    while (parts_->lacks_parts()) parts_->cut();
    part_files_->publish(parts_->parts(), parts_->take_directories(),
                         parts_->alignment() == kSectorBytes, options_.record_kind,
                         record_bytes_ == 0 ? 1 : 0, options_.key_text, read_back);
  } else if (is_file()) {
    finish_reserving();
    file_->publish(codec_ == Codec::none ? bytes : file_->file().stored_bytes(), read_back);
  } else if (stream_.caller() == nullptr) {
    io::end_output_stream(options_.output, stream_);
  }
}

void Output::publish(std::uint64_t bytes, io::IoService& io, PhaseMeter& meter,
                     const WaitTimes& waits, io::ReadBack::Reader reader) {
  if (!options_.verify || stream_.is_open()) {
    publish(bytes);
    return meter.end("finish", waits);
  }
  meter.end("finish", waits);
  meter.begin(Phase::verifying, is_compressed() ? 0 : bytes);
  io::ReadBack read_back(io, options_.stop, [&](std::uint64_t read) { meter.advance(read); });
  if (is_file() && !is_compressed()) read_back.give_to(std::move(reader));
  publish(bytes, &read_back);
  meter.end("verify");
}

}  // namespace xxl
