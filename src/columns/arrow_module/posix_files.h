// Files as Arrow sees them, by system calls of our own: errors keep their errno value, a file that
// was replaced since it was examined is noticed, and transfers that signals interrupt go on.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace xxl::arrow_module {

// What a name stands for.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t bytes = 0;
  bool regular = false;  // else a pipe or a device
  bool operator==(const FileIdentity&) const = default;
};

// Opens `path` for reading; "-" is standard input. Throws Failed.
int open_for_reading(const std::string& path, FileIdentity& identity);

class Mappings;

// A regular file; owns `fd`. From any thread.
class PosixFile : public ::arrow::io::RandomAccessFile {
 public:
  // Bytes that are read are added to `bytes_read`, which must outlive the file.
  PosixFile(int fd, std::int64_t bytes, std::string path, std::atomic<std::uint64_t>& bytes_read);
  ~PosixFile() override;

  // From now on what is read in pieces of more than `bytes` is only mapped (batch_slices.h).
  void map_more_than(std::int64_t bytes) { most_read_bytes_ = bytes; }
  // Whether these bytes are mapped.
  bool has(const std::uint8_t* data) const;
  // A copy of such bytes in memory.
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> copy(const std::uint8_t* data,
                                                         std::int64_t bytes) const;

  ::arrow::Status Close() override;
  bool closed() const override { return fd_ < 0; }
  ::arrow::Result<std::int64_t> Tell() const override { return position_; }
  ::arrow::Status Seek(std::int64_t position) override;
  ::arrow::Result<std::int64_t> GetSize() override { return bytes_; }
  ::arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override;
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> Read(std::int64_t bytes) override;
  using ::arrow::io::RandomAccessFile::ReadAt;
  ::arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes,
                                       void* out) override;
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> ReadAt(std::int64_t position,
                                                           std::int64_t bytes) override;

 private:
  ::arrow::Result<std::int64_t> read_at(std::int64_t position, std::int64_t bytes, void* out) const;
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> map(std::int64_t position, std::int64_t bytes);

  int fd_;
  std::int64_t bytes_;
  std::string path_;
  std::atomic<std::uint64_t>& bytes_read_;
  std::int64_t position_ = 0;
  std::int64_t most_read_bytes_ = std::numeric_limits<std::int64_t>::max();
  std::shared_ptr<Mappings> mappings_;
};

// A pipe, or a file that is read from its start to its end; owns `fd`. `first` are bytes of it that
// were read already.
class PosixStream : public ::arrow::io::InputStream {
 public:
  PosixStream(int fd, std::string path, std::string first, std::atomic<std::uint64_t>& bytes_read);
  ~PosixStream() override;

  ::arrow::Status Close() override;
  bool closed() const override { return fd_ < 0; }
  ::arrow::Result<std::int64_t> Tell() const override { return position_; }
  ::arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override;
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> Read(std::int64_t bytes) override;

 private:
  int fd_;
  std::string path_;
  std::string first_;
  std::size_t first_used_ = 0;
  std::atomic<std::uint64_t>& bytes_read_;
  std::int64_t position_ = 0;
};

}  // namespace xxl::arrow_module
