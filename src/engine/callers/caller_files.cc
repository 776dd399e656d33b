// Files that programs read and write record by record (xxl/file.h).
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/monitor.h"
#include "engine/callers/block_reader.h"
#include "engine/callers/block_writer.h"
#include "engine/inputs.h"
#include "engine/job_defaults.h"
#include "engine/job_io.h"
#include "engine/output.h"
#include "run/byte_sink.h"
#include "xxl/file.h"

namespace xxl::detail {
namespace {

constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();

JobOptions job_of(const std::string& path, const file_options& options) {
  FileJob job;
  job.output = path;
  job.memory_bytes = options.buffer_bytes;
  job.scratch_dirs = options.scratch_dirs;
  job.backend = options.backend;
  job.compressed_by_suffix = options.compressed_by_suffix;
  return engine_options<JobOptions>(job);
}

}  // namespace

class FileReaderCore::Reading {
 public:
  Reading(const std::string& path, std::size_t record_bytes, const file_options& options)
      : record_bytes_(record_bytes),
        buffer_bytes_(static_cast<std::size_t>(options.buffer_bytes)),
        inputs_(open_inputs({path}, record_bytes, options.compressed_by_suffix)),
        io_(open_io(job_of("-", options), {})) {
    if (!file().is_open()) file().open();
    read_from(0);
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
    read_from(offset);
  }
  std::span<const std::byte> next() { return reader_->next(); }

 private:
  io::File& file() { return inputs_.files.front(); }
  const io::File& file() const { return inputs_.files.front(); }
  void read_from(std::uint64_t offset) {
    reader_.reset();
    reader_.emplace(file(), offset, file().seekable() ? file().size() : kToTheEnd, record_bytes_,
                    buffer_bytes_, *io_);
  }

  std::size_t record_bytes_;
  std::size_t buffer_bytes_;
  Inputs inputs_;
  std::unique_ptr<io::IoService> io_;
  std::optional<BlockReader> reader_;
};

FileReaderCore::FileReaderCore(const std::string& path, std::size_t record_bytes,
                               const file_options& options)
    : reading_(std::make_unique<Reading>(path, record_bytes, options)) {}
FileReaderCore::FileReaderCore(FileReaderCore&&) noexcept = default;
FileReaderCore& FileReaderCore::operator=(FileReaderCore&&) noexcept = default;
FileReaderCore::~FileReaderCore() = default;
std::optional<std::uint64_t> FileReaderCore::size() const {
  return reading_->size();
}
void FileReaderCore::seek(std::uint64_t offset) {
  reading_->seek(offset);
}
std::span<const std::byte> FileReaderCore::next() {
  return reading_->next();
}

class FileWriterCore::Writing {
 public:
  Writing(const std::string& path, const file_options& options)
      : options_(job_of(path, options)),
        output_(options_, 0),
        io_(open_io(options_, {})),
        sink_(output_.make_sink(BlockWriter::kBlockBytes, 1, *io_, monitor_)),
        writer_(*sink_, static_cast<std::size_t>(options.buffer_bytes), monitor_) {}

  std::span<std::byte> room() { return writer_.room(); }
  void close(std::size_t bytes) {
    writer_.finish(bytes);
    output_.publish(writer_.bytes());
  }

 private:
  const JobOptions options_;
  Output output_;
  Monitor monitor_;
  std::unique_ptr<io::IoService> io_;
  std::unique_ptr<ByteSink> sink_;
  BlockWriter writer_;
};

FileWriterCore::FileWriterCore(const std::string& path, const file_options& options)
    : writing_(std::make_unique<Writing>(path, options)) {}
FileWriterCore::FileWriterCore(FileWriterCore&&) noexcept = default;
FileWriterCore& FileWriterCore::operator=(FileWriterCore&&) noexcept = default;
FileWriterCore::~FileWriterCore() = default;
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

class ScratchFileCore::Stored {
 public:
  Stored(std::size_t record_bytes, const file_options& options)
      : record_bytes_(record_bytes),
        buffer_bytes_(static_cast<std::size_t>(options.buffer_bytes)),
        file_(io::File::create_unnamed(job_of("-", options).scratch_dirs.front())),
        io_(open_io(job_of("-", options), {})),
        sink_(file_, BlockWriter::kBlockBytes, *io_) {
    writer_.emplace(sink_, buffer_bytes_, monitor_);
  }

  std::span<std::byte> room() { return writer_->room(); }
  void end(std::size_t bytes) {
    writer_->finish(bytes);
    bytes_ = writer_->bytes();
    writer_.reset();
    rewind();
  }
  void rewind() {
    reader_.reset();
    reader_.emplace(file_, 0, bytes_, record_bytes_, buffer_bytes_, *io_);
  }
  std::span<const std::byte> next() { return reader_->next(); }

 private:
  std::size_t record_bytes_;
  std::size_t buffer_bytes_;
  io::File file_;
  Monitor monitor_;
  std::unique_ptr<io::IoService> io_;
  FileBytes sink_;
  std::uint64_t bytes_ = 0;
  std::optional<BlockWriter> writer_;
  std::optional<BlockReader> reader_;
};

ScratchFileCore::ScratchFileCore(std::size_t record_bytes, const file_options& options)
    : stored_(std::make_unique<Stored>(record_bytes, options)) {}
ScratchFileCore::ScratchFileCore(ScratchFileCore&&) noexcept = default;
ScratchFileCore& ScratchFileCore::operator=(ScratchFileCore&&) noexcept = default;
ScratchFileCore::~ScratchFileCore() = default;
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

}  // namespace xxl::detail
