#include "columns/arrow_module/posix_files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "columns/arrow_module/failed.h"
#include "columns/arrow_module/memory.h"

namespace xxl::arrow_module {
namespace {

constexpr std::int64_t kMostBytesOfACall = std::int64_t{1} << 30;

// Repeats `call`, which makes one system call for (place, bytes), until all is read or the end is
// met.
template <class Call>
::arrow::Result<std::int64_t> read_all(int fd, std::int64_t bytes, void* out, Call call) {
  if (fd < 0) return ::arrow::Status::Invalid("the file was closed");
  std::int64_t done = 0;
  while (done < bytes) {
    const auto most = static_cast<std::size_t>(std::min(bytes - done, kMostBytesOfACall));
    const ssize_t result = call(static_cast<char*>(out) + done, most, done);
    if (result == 0) break;
    if (result > 0) {
      done += result;
    } else if (errno == EAGAIN) {  // a pipe that another process has made non-blocking
      pollfd watched{fd, POLLIN, 0};
      poll(&watched, 1, -1);
    } else if (errno != EINTR) {
      return system_error(errno, "read failed");
    }
  }
  return done;
}

// A part of a file as memory, until destruction.
class MappedBuffer : public ::arrow::Buffer {
 public:
  MappedBuffer(const std::uint8_t* data, std::int64_t bytes, std::shared_ptr<Mappings> mappings,
               void* mapping, std::size_t mapping_bytes)
      : Buffer(data, bytes),
        mappings_(std::move(mappings)),
        mapping_(mapping),
        mapping_bytes_(mapping_bytes) {}
  ~MappedBuffer() override;

 private:
  std::shared_ptr<Mappings> mappings_;
  void* mapping_;
  std::size_t mapping_bytes_;
};

}  // namespace

// Which parts of a file are mapped where.
class Mappings {
 public:
  void add(const std::uint8_t* data, std::int64_t bytes, std::int64_t position) {
    std::lock_guard lock(mutex_);
    mapped_[data] = {bytes, position};
  }
  void remove(const std::uint8_t* data) {
    std::lock_guard lock(mutex_);
    mapped_.erase(data);
  }
  // The place in the file.
  std::optional<std::int64_t> find(const std::uint8_t* data) const {
    std::lock_guard lock(mutex_);
    auto next = mapped_.upper_bound(data);
    if (next == mapped_.begin()) return std::nullopt;
    const auto& [begin, part] = *--next;
    if (data - begin >= part.bytes) return std::nullopt;
    return part.position + (data - begin);
  }

 private:
  struct MappedRange {
    std::int64_t bytes;
    std::int64_t position;
  };
  mutable std::mutex mutex_;
  std::map<const std::uint8_t*, MappedRange> mapped_;
};

MappedBuffer::~MappedBuffer() {
  mappings_->remove(data());
  munmap(mapping_, mapping_bytes_);
}

int open_for_reading(const std::string& path, FileIdentity& identity) {
  const int fd = path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                             : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) throw Failed(ErrorCode::io, joined({path, "cannot open for reading"}), errno);
  struct stat status;
  if (fstat(fd, &status) != 0 || S_ISDIR(status.st_mode)) {
    const int error = S_ISDIR(status.st_mode) ? EISDIR : errno;
    close(fd);
    throw Failed(ErrorCode::io, joined({path, "cannot read"}), error);
  }
  identity = {status.st_dev, status.st_ino, 0, S_ISREG(status.st_mode)};
  if (identity.regular) identity.bytes = status.st_size;
  return fd;
}

PosixFile::PosixFile(int fd, std::int64_t bytes, std::string path,
                     std::atomic<std::uint64_t>& bytes_read)
    : fd_(fd),
      bytes_(bytes),
      path_(std::move(path)),
      bytes_read_(bytes_read),
      mappings_(std::make_shared<Mappings>()) {}

bool PosixFile::has(const std::uint8_t* data) const {
  return mappings_->find(data).has_value();
}

::arrow::Result<std::shared_ptr<::arrow::Buffer>> PosixFile::copy(const std::uint8_t* data,
                                                                  std::int64_t bytes) const {
  const auto position = mappings_->find(data);
  if (!position) return ::arrow::Status::Invalid("bytes that are not mapped");
  ARROW_ASSIGN_OR_RAISE(auto buffer, ::arrow::AllocateBuffer(bytes, &pool()));
  ARROW_ASSIGN_OR_RAISE(const std::int64_t done, read_at(*position, bytes, buffer->mutable_data()));
  if (done < bytes) return ::arrow::Status::Invalid("the file ends too early");
  return std::shared_ptr<::arrow::Buffer>(std::move(buffer));
}

::arrow::Result<std::shared_ptr<::arrow::Buffer>> PosixFile::map(std::int64_t position,
                                                                 std::int64_t bytes) {
  const std::int64_t before = position % sysconf(_SC_PAGESIZE);
  const auto mapping_bytes = static_cast<std::size_t>(bytes + before);
  void* const mapping =
      mmap(nullptr, mapping_bytes, PROT_READ, MAP_PRIVATE, fd_, position - before);
  if (mapping == MAP_FAILED) return system_error(errno, "cannot be mapped");
  const auto* const data = static_cast<const std::uint8_t*>(mapping) + before;
  mappings_->add(data, bytes, position);
  return std::make_shared<MappedBuffer>(data, bytes, mappings_, mapping, mapping_bytes);
}

PosixFile::~PosixFile() {
  if (fd_ >= 0) close(fd_);
}

::arrow::Status PosixFile::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  return ::arrow::Status::OK();
}

::arrow::Status PosixFile::Seek(std::int64_t position) {
  position_ = position;
  return ::arrow::Status::OK();
}

::arrow::Result<std::int64_t> PosixFile::Read(std::int64_t bytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t done, ReadAt(position_, bytes, out));
  position_ += done;
  return done;
}

::arrow::Result<std::shared_ptr<::arrow::Buffer>> PosixFile::Read(std::int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, bytes));
  position_ += buffer->size();
  return buffer;
}

::arrow::Result<std::int64_t> PosixFile::ReadAt(std::int64_t position, std::int64_t bytes,
                                                void* out) {
  return read_at(position, bytes, out);
}

::arrow::Result<std::int64_t> PosixFile::read_at(std::int64_t position, std::int64_t bytes,
                                                 void* out) const {
  if (position < 0 || bytes < 0) return ::arrow::Status::Invalid("an offset is negative");
  ARROW_ASSIGN_OR_RAISE(const std::int64_t done,
                        read_all(fd_, bytes, out, [&](char* to, std::size_t most, std::int64_t at) {
                          return pread(fd_, to, most, position + at);
                        }));
  bytes_read_ += static_cast<std::uint64_t>(done);
  return done;
}

::arrow::Result<std::shared_ptr<::arrow::Buffer>> PosixFile::ReadAt(std::int64_t position,
                                                                    std::int64_t bytes) {
  // What a damaged file asks for may be more than there is.
  if (position < 0 || bytes < 0) return ::arrow::Status::Invalid("an offset is negative");
  const std::int64_t there = std::max<std::int64_t>(0, bytes_ - position);
  if (std::min(bytes, there) > most_read_bytes_) return map(position, std::min(bytes, there));
  ARROW_ASSIGN_OR_RAISE(auto buffer,
                        ::arrow::AllocateResizableBuffer(std::min(bytes, there), &pool()));
  ARROW_ASSIGN_OR_RAISE(const std::int64_t done,
                        ReadAt(position, buffer->size(), buffer->mutable_data()));
  if (done < buffer->size()) RETURN_NOT_OK(buffer->Resize(done));
  return std::shared_ptr<::arrow::Buffer>(std::move(buffer));
}

PosixStream::PosixStream(int fd, std::string path, std::string first,
                         std::atomic<std::uint64_t>& bytes_read)
    : fd_(fd), path_(std::move(path)), first_(std::move(first)), bytes_read_(bytes_read) {}

PosixStream::~PosixStream() {
  if (fd_ >= 0) close(fd_);
}

::arrow::Status PosixStream::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  return ::arrow::Status::OK();
}

::arrow::Result<std::int64_t> PosixStream::Read(std::int64_t bytes, void* out) {
  if (bytes < 0) return ::arrow::Status::Invalid("a size is negative");
  const std::size_t kept = std::min(static_cast<std::size_t>(bytes), first_.size() - first_used_);
  std::memcpy(out, first_.data() + first_used_, kept);
  first_used_ += kept;
  const auto rest = bytes - static_cast<std::int64_t>(kept);
  ARROW_ASSIGN_OR_RAISE(
      const std::int64_t read_now,
      read_all(fd_, rest, static_cast<char*>(out) + kept,
               [&](char* to, std::size_t most, std::int64_t) { return read(fd_, to, most); }));
  const std::int64_t done = static_cast<std::int64_t>(kept) + read_now;
  position_ += done;
  bytes_read_ += static_cast<std::uint64_t>(done);
  return done;
}

::arrow::Result<std::shared_ptr<::arrow::Buffer>> PosixStream::Read(std::int64_t bytes) {
  if (bytes < 0) return ::arrow::Status::Invalid("a size is negative");
  // In steps: what a damaged stream asks for need not follow.
  constexpr std::int64_t kStepBytes = std::int64_t{16} << 20;
  ARROW_ASSIGN_OR_RAISE(auto buffer,
                        ::arrow::AllocateResizableBuffer(std::min(bytes, kStepBytes), &pool()));
  std::int64_t done = 0;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t step,
                          Read(buffer->size() - done, buffer->mutable_data() + done));
    done += step;
    if (done < buffer->size() || done == bytes) break;
    RETURN_NOT_OK(buffer->Resize(std::min(bytes, buffer->size() * 2)));
  }
  if (done < buffer->size()) RETURN_NOT_OK(buffer->Resize(done));
  return std::shared_ptr<::arrow::Buffer>(std::move(buffer));
}

}  // namespace xxl::arrow_module
