// Files that programs read and write record by record (xxl/file.h).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/memory_region.h"
#include "base/monitor.h"
#include "base/of_process.h"
#include "base/units.h"
#include "io/buffer_pool.h"
#include "io/sequential_reader.h"
#include "job/inputs.h"
#include "job/job_defaults.h"
#include "job/job_io.h"
#include "job/output.h"
#include "run/byte_sink.h"
#include "run/general_output.h"
#include "run/general_scratch.h"
#include "xxl/file.h"

namespace xxl::detail {
namespace {

constexpr std::size_t kBlockBytes = kMiB;
constexpr std::size_t kRoomBytes = 64 * kKiB;
constexpr std::size_t kLeastBlocks = 3;

JobOptions job_of(const std::string& path, const file_options& options) {
  FileJob job;
  job.output = path;
  job.memory_bytes = options.buffer_bytes;
  job.scratch_dirs = options.scratch_dirs;
  job.backend = options.backend;
  job.compressed_by_suffix = options.compressed_by_suffix;
  set_defaults(job);
  return engine_options<JobOptions>(job);
}

std::size_t blocks_of(const file_options& options, std::size_t block_bytes) {
  return std::max(kLeastBlocks, static_cast<std::size_t>(options.buffer_bytes / block_bytes));
}

// Reads the records of files for a thread that waits.
class ReadAhead {
 public:
  // `files` must outlive it.
  ReadAhead(std::vector<io::File>& files, std::size_t record_bytes, const file_options& options)
      : files_(files),
        record_bytes_(record_bytes),
        block_bytes_(round_up(std::max(kBlockBytes, record_bytes), kSectorBytes)),
        memory_(blocks_of(options, block_bytes_) *
                io::SequentialReader::buffer_bytes(block_bytes_, record_bytes)),
        io_(open_io(job_of("-", options), memory_.span())) {
    start_at(0);
  }

  void start_at(std::uint64_t offset) {
    reader_.reset();
    given_.reset();
    mailbox_.emplace();  // with what the reader before was sent
    reader_.emplace(files_, record_bytes_, block_bytes_, memory_.span(), *io_, *mailbox_);
    reader_->start_at(offset);
  }
  std::span<const std::byte> next() {
    for (;;) {
      if (given_) reader_->release(*std::exchange(given_, std::nullopt));
      reader_->pump();
      given_ = reader_->next();
      if (given_ && !given_->records.empty()) return given_->records;
      if (given_) continue;
      if (reader_->finished()) return {};
      mailbox_->wait_and_run();
    }
  }

 private:
  std::vector<io::File>& files_;
  std::size_t record_bytes_;
  std::size_t block_bytes_;
  MemoryRegion memory_;
  std::unique_ptr<io::IoService> io_;
  std::optional<Mailbox> mailbox_;
  std::optional<io::SequentialReader> reader_;
  std::optional<io::RecordBlock> given_;
};

// Writes what a thread fills.
class WriteBehind {
 public:
  // `sink`, which takes blocks of kBlockBytes, and `monitor` must outlive it.
  WriteBehind(ByteSink& sink, const file_options& options, Monitor& monitor)
      : monitor_(monitor),
        memory_(blocks_of(options, kBlockBytes) * kBlockBytes),
        buffers_(memory_.span(), monitor),
        output_(sink, buffers_, kBlockBytes, monitor),
        piece_(output_.begin_open_ended(Ticket{})) {}

  std::span<std::byte> room() {
    if (std::exchange(is_filled_, true)) append(room_.size());
    return room_;
  }
  // Returns the bytes of the whole.
  std::uint64_t finish(std::size_t bytes) {
    append(bytes);
    monitor_.run([this] {
      piece_.finish();
      output_.finish();
      monitor_.check();
    });
    return output_.bytes();
  }

 private:
  void append(std::size_t bytes) {
    monitor_.run([&] { piece_.append({reinterpret_cast<const char*>(room_.data()), bytes}); });
  }

  Monitor& monitor_;
  MemoryRegion memory_;
  WriteBuffers buffers_;
  GeneralOutput output_;
  GeneralOutput::Reservation piece_;
  std::array<std::byte, kRoomBytes> room_;
  bool is_filled_ = false;
};

// The file of a descriptor once more, for direct transfers: flags belong to an opened file.
io::File opened_again(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  std::error_code error;
  const std::string name = std::filesystem::read_symlink(link, error).string();
  const int again = ::open(link.c_str(), O_RDWR | O_CLOEXEC);
  if (again < 0) throw_io_error(errno, Operation::open_output, error ? link : name);
  return io::File(again, error ? link : name, io::enable_direct(again));
}

}  // namespace

class FileReaderCore::Reading : public OfProcess {
 public:
  Reading(const std::string& path, std::size_t record_bytes, const file_options& options)
      : inputs_(open_inputs({path}, record_bytes, recognize_suffix(options.compressed_by_suffix))),
        reader_(inputs_.files, record_bytes, options) {
    only_file(inputs_);
  }

  std::optional<std::uint64_t> size() const {
    return file().seekable() ? std::optional(file().size()) : std::nullopt;
  }
  void seek(std::uint64_t offset) {
    if (!file().seekable()) {
      throw Error(ErrorCode::usage,
                  "pipes, compressed and empty files are only read from their start",
                  file().path());
    }
    if (offset > file().size()) {
      throw Error(ErrorCode::usage, "the file ends before this place", file().path(), offset);
    }
    reader_.start_at(offset);
  }
  std::span<const std::byte> next() { return reader_.next(); }

 private:
  const io::File& file() const { return inputs_.files.front(); }

  Inputs inputs_;
  ReadAhead reader_;
};

FileReaderCore::FileReaderCore(const std::string& path, std::size_t record_bytes,
                               const file_options& options)
    : reading_(std::make_unique<Reading>(path, record_bytes, options)) {}
FileReaderCore::FileReaderCore(FileReaderCore&&) noexcept = default;
FileReaderCore& FileReaderCore::operator=(FileReaderCore&&) noexcept = default;
FileReaderCore::~FileReaderCore() {
  leave_to_parent(reading_);
}
std::optional<std::uint64_t> FileReaderCore::size() const {
  return reading_ != nullptr ? reading_->size() : 0;
}
void FileReaderCore::seek(std::uint64_t offset) {
  if (reading_ == nullptr) throw Error(ErrorCode::usage, "a file_reader was moved from");
  reading_->seek(offset);
}
std::span<const std::byte> FileReaderCore::next() {
  if (reading_ == nullptr) return {};
  return reading_->next();
}

class FileWriterCore::Writing : public OfProcess {
 public:
  Writing(const std::string& path, const file_options& options)
      : options_(job_of(path, options)),
        output_(options_, 0),
        io_(open_io(options_, {})),
        sink_(output_.make_sink(kBlockBytes, 1, *io_, monitor_)),
        writer_(*sink_, options, monitor_) {}

  std::span<std::byte> room() {
    check();
    try {
      return writer_.room();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }
  void close(std::size_t bytes) {
    check();
    output_.publish(writer_.finish(bytes));
  }

 private:
  void check() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  const JobOptions options_;
  Output output_;
  Monitor monitor_;
  std::unique_ptr<io::IoService> io_;
  std::unique_ptr<ByteSink> sink_;
  WriteBehind writer_;
  std::exception_ptr failure_;  // of the first room() that had one
};

FileWriterCore::FileWriterCore(const std::string& path, const file_options& options)
    : writing_(std::make_unique<Writing>(path, options)) {}
FileWriterCore::FileWriterCore(FileWriterCore&&) noexcept = default;
FileWriterCore& FileWriterCore::operator=(FileWriterCore&&) noexcept = default;
FileWriterCore::~FileWriterCore() {
  leave_to_parent(writing_);
}
void FileWriterCore::check_open() const {
  if (writing_ == nullptr) throw Error(ErrorCode::usage, "a file_writer was closed before");
}
std::span<std::byte> FileWriterCore::room() {
  check_open();
  return writing_->room();
}
void FileWriterCore::close(std::size_t bytes) {
  check_open();
  const std::unique_ptr<Writing> writing = std::move(writing_);
  writing->close(bytes);
}

class ScratchFileCore::Stored : public OfProcess {
 public:
  Stored(std::size_t record_bytes, const file_options& options)
      : record_bytes_(record_bytes),
        options_(options),
        file_(io::File::create_unnamed(job_of("-", options).scratch_dirs.front())),
        io_(open_io(job_of("-", options), {})),
        sink_(file_, kBlockBytes, *io_) {
    writer_.emplace(sink_, options_, monitor_);
  }

  std::span<std::byte> room() { return writer_->room(); }
  void end(std::size_t bytes) {
    const std::uint64_t size = writer_->finish(bytes);
    writer_.reset();
    if (ftruncate(file_.fd(), static_cast<off_t>(size)) != 0) {
      throw_io_error(errno, Operation::write, file_.path());
    }
    inputs_.push_back(io::File::open_input("/proc/self/fd/" + std::to_string(file_.fd())));
    reader_.emplace(inputs_, record_bytes_, options_);
  }
  void rewind() { reader_->start_at(0); }
  std::span<const std::byte> next() { return reader_->next(); }

 private:
  std::size_t record_bytes_;
  const file_options options_;
  io::File file_;
  Monitor monitor_;
  std::unique_ptr<io::IoService> io_;
  FileBytes sink_;
  std::optional<WriteBehind> writer_;
  std::vector<io::File> inputs_;  // file_ again, to be read
  std::optional<ReadAhead> reader_;
};

ScratchFileCore::ScratchFileCore(std::size_t record_bytes, const file_options& options)
    : stored_(std::make_unique<Stored>(record_bytes, options)) {}
ScratchFileCore::ScratchFileCore(ScratchFileCore&&) noexcept = default;
ScratchFileCore& ScratchFileCore::operator=(ScratchFileCore&&) noexcept = default;
ScratchFileCore::~ScratchFileCore() {
  leave_to_parent(stored_);
}
std::span<std::byte> ScratchFileCore::room() {
  return stored_->room();
}
void ScratchFileCore::end(std::size_t bytes) {
  stored_->end(bytes);
}
void ScratchFileCore::rewind() {
  stored_->rewind();
}
std::span<const std::byte> ScratchFileCore::next() {
  return stored_->next();
}

// Blocks begin at multiples of their size, but the first. What does not fill a sector at either end
// goes through the page cache, where its neighbours may be: no page is written both ways.
class StretchWriterCore::Writing : public OfProcess {
 public:
  Writing(int descriptor, std::uint64_t offset, const file_options& options)
      : descriptor_(descriptor),
        file_(opened_again(descriptor)),
        memory_(blocks_of(options, kBlockBytes) * kBlockBytes),
        pool_(memory_.span(), kBlockBytes),
        io_(open_io(job_of("-", options), memory_.span())),
        at_(offset),
        size_(file_.stored_bytes()),
        reserved_(size_) {}
  ~Writing() {
    in_flight_.reset();  // waits
    if (reserved_ > size_) (void)!::ftruncate(file_.fd(), static_cast<off_t>(size_));
  }

  std::span<std::byte> room() {
    if (room_ != nullptr) hand_on(kBlockBytes - at_ % kSectorBytes);
    while (pool_.available() == 0 && pending_ > 0) mailbox_.wait_and_run();
    check();
    room_ = pool_.take();
    const auto skipped = static_cast<std::size_t>(at_ % kSectorBytes);
    return {room_ + skipped, kBlockBytes - skipped};
  }
  void end(std::size_t bytes) {
    if (room_ != nullptr) hand_on(bytes);
    wait();
    check();
    if (reserved_ > size_ && ::ftruncate(file_.fd(), static_cast<off_t>(size_)) != 0) {
      throw_io_error(errno, Operation::write, file_.path());
    }
    reserved_ = size_;
  }

 private:
  void hand_on(std::size_t bytes) {
    const std::uint64_t end = at_ + bytes;
    const std::uint64_t first = std::min(round_up<std::uint64_t>(at_, kSectorBytes), end);
    const std::uint64_t last = std::max(first, round_down<std::uint64_t>(end, kSectorBytes));
    const std::byte* const data = room_ + at_ % kSectorBytes;
    write_cached(data, static_cast<std::size_t>(first - at_), at_);
    write_cached(data + (last - at_), static_cast<std::size_t>(end - last), last);
    if (first < last) reserve_up_to(last);
    std::byte* const block = std::exchange(room_, nullptr);
    if (first < last) {
      submit(block, {block + at_ % kSectorBytes + (first - at_), last - first}, first);
    } else {
      pool_.give_back(block);
    }
    at_ = end;
    size_ = std::max(size_, end);
  }
  // In steps: writes that extend a file wait for each other.
  void reserve_up_to(std::uint64_t end) {
    if (end <= reserved_) return;
    const std::uint64_t step =
        std::max(end - reserved_, std::min<std::uint64_t>(at_, kMostReservedBytes));
    file_.reserve(reserved_, step);
    reserved_ += step;
  }
  void submit(std::byte* block, std::span<std::byte> data, std::uint64_t offset) {
    io::Request request{io::Op::write, &file_, offset, data, {}};
    request.done = [this, block, offset, wanted = data.size(),
                    token = in_flight_->begin()](const io::Completion& completion) mutable {
      const bool is_short = completion.error == 0 && completion.bytes != wanted;
      mailbox_.post([this, block, offset, error = is_short ? EIO : completion.error] {
        --pending_;
        pool_.give_back(block);
        if (error != 0 && error_ == 0) {
          error_ = error;
          failed_at_ = offset;
        }
      });
      token.reset();
    };
    io_->queue_for(file_).submit(std::move(request));
    ++pending_;
  }
  void wait() {
    while (pending_ > 0) mailbox_.wait_and_run();
  }
  void write_cached(const std::byte* data, std::size_t bytes, std::uint64_t offset) {
    while (bytes > 0) {
      const ssize_t done = ::pwrite(descriptor_, data, bytes, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) throw_io_error(errno, Operation::write, file_.path(), offset);
      data += done;
      bytes -= static_cast<std::size_t>(done);
      offset += static_cast<std::uint64_t>(done);
    }
  }
  void check() const {
    if (error_ != 0) throw_io_error(error_, Operation::write, file_.path(), failed_at_);
  }

  static constexpr std::uint64_t kMostReservedBytes = 64 * kMiB;

  const int descriptor_;
  io::File file_;
  MemoryRegion memory_;
  io::BufferPool pool_;
  std::unique_ptr<io::IoService> io_;
  Mailbox mailbox_;
  std::byte* room_ = nullptr;  // the block that is being filled
  std::uint64_t at_;           // where it goes
  std::uint64_t size_;         // of the file, with what was handed on
  std::uint64_t reserved_;     // its size on disk
  std::size_t pending_ = 0;    // blocks on their way
  int error_ = 0;              // of the write that failed first
  std::uint64_t failed_at_ = 0;
  std::optional<InFlight> in_flight_{std::in_place};
};

StretchWriterCore::StretchWriterCore(int descriptor, std::uint64_t offset,
                                     const file_options& options)
    : writing_(std::make_unique<Writing>(descriptor, offset, options)) {}
StretchWriterCore::StretchWriterCore(StretchWriterCore&&) noexcept = default;
StretchWriterCore& StretchWriterCore::operator=(StretchWriterCore&&) noexcept = default;
StretchWriterCore::~StretchWriterCore() {
  leave_to_parent(writing_);
}
std::span<std::byte> StretchWriterCore::room() {
  return writing_->room();
}
void StretchWriterCore::end(std::size_t bytes) {
  writing_->end(bytes);
}

}  // namespace xxl::detail
