// Files of records of one type, read and written in order. Disks stay busy meanwhile.
//
//   xxl::file_reader<Edge> edges("edges.bin");
//   for (const Edge& edge : edges) use(edge);
//
//   xxl::file_writer<Edge> out("sorted.bin");
//   out.push(edge);
//   out.close();                                 only now the file appears
//
// Records lie in a file as in memory, one after the other. Transfers bypass the page cache if the
// file system supports that. Files named .gz, .zst and .lz4 are compressed, and .bz2 and .xz can be
// read. "-" is standard input or output. Pipes work as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "xxl/error.h"
#include "xxl/export.h"
#include "xxl/is_record.h"
#include "xxl/job.h"
#include "xxl/pulling.h"
#include "xxl/room.h"

namespace xxl {

// How a file is read or written.
struct file_options {
  std::uint64_t buffer_bytes = std::uint64_t{8} << 20;  // for blocks on their way
  Backend backend = Backend::automatic;                 // how to access its disk
  std::vector<std::string> scratch_dirs = {};           // see resource_options
  bool compressed_by_suffix = true;  // .gz .zst .lz4 .bz2 .xz; false: ignore suffixes
};

namespace detail {

class FileReaderCore {
 public:
  XXL_API FileReaderCore(const std::string& path, std::size_t record_bytes,
                         const file_options& options);
  XXL_API FileReaderCore(FileReaderCore&&) noexcept;
  XXL_API FileReaderCore& operator=(FileReaderCore&&) noexcept;
  XXL_API ~FileReaderCore();

  XXL_API std::optional<std::uint64_t> size() const;  // in bytes, if it is known
  XXL_API void seek(std::uint64_t offset);            // place of a record, in bytes
  // The next records, until the next call. Empty at the end.
  XXL_API std::span<const std::byte> next();

 private:
  class Reading;
  std::unique_ptr<Reading> reading_;
};

class FileWriterCore {
 public:
  XXL_API FileWriterCore(const std::string& path, const file_options& options);
  XXL_API FileWriterCore(FileWriterCore&&) noexcept;
  XXL_API FileWriterCore& operator=(FileWriterCore&&) noexcept;
  XXL_API ~FileWriterCore();

  // Memory for the next records. The memory before is full.
  XXL_API std::span<std::byte> room();
  // The last room() has `bytes`. The file appears.
  XXL_API void close(std::size_t bytes);

 private:
  class Writing;
  void check_open() const;
  std::unique_ptr<Writing> writing_;
};

// Writes to an open file, from a place on. The program may have mapped it into memory.
class StretchWriterCore {
 public:
  // `descriptor`, for reading and writing, must outlive it; `offset` is in bytes.
  XXL_API StretchWriterCore(int descriptor, std::uint64_t offset, const file_options& options);
  XXL_API StretchWriterCore(StretchWriterCore&&) noexcept;
  XXL_API StretchWriterCore& operator=(StretchWriterCore&&) noexcept;
  // Without end(), the last records may be lost.
  XXL_API ~StretchWriterCore();

  // Memory for the next records. The memory before is full.
  XXL_API std::span<std::byte> room();
  // The last room() has `bytes`. All records are in the file when it returns. Until then the file
  // may be too long.
  XXL_API void end(std::size_t bytes);

 private:
  class Writing;
  std::unique_ptr<Writing> writing_;
};

// A file without a name in a scratch directory: written once, then read any number of times.
class ScratchFileCore {
 public:
  XXL_API ScratchFileCore(std::size_t record_bytes, const file_options& options);
  XXL_API ScratchFileCore(ScratchFileCore&&) noexcept;
  XXL_API ScratchFileCore& operator=(ScratchFileCore&&) noexcept;
  XXL_API ~ScratchFileCore();

  XXL_API std::span<std::byte> room();
  XXL_API void end(std::size_t bytes);
  XXL_API void rewind();
  XXL_API std::span<const std::byte> next();

 private:
  class Stored;
  std::unique_ptr<Stored> stored_;
};

}  // namespace detail

// One thread at a time. After an Error it can only be destroyed.
template <class T>
class file_reader : public pull_interface<file_reader<T>, T> {
  static_assert(is_record_v<T>);
  using Pulled = pull_interface<file_reader<T>, T>;
  friend Pulled;

 public:
  // Throws Error{io} if it cannot be read, and Error{bad_input} if it is not a whole number of
  // records. (For a pipe, this is thrown at its end.)
  explicit file_reader(const std::string& path, const file_options& options = {})
      : core_(path, sizeof(T), options) {}

  // In records. No value for pipes, compressed files, and files that claim to be empty, as in
  // /proc.
  [[nodiscard]] std::optional<std::uint64_t> size() const {
    const auto bytes = core_.size();
    return bytes ? std::optional(*bytes / sizeof(T)) : std::nullopt;
  }

  // Continues with record `record`, from 0. Throws Error{usage} after the end, or for an unknown
  // size.
  void seek(std::uint64_t record) {
    this->forget();
    constexpr std::uint64_t kMost = ~std::uint64_t{0};
    core_.seek(record > kMost / sizeof(T) ? kMost : record * sizeof(T));
  }

 private:
  std::span<const std::byte> next_block() { return core_.next(); }

  detail::FileReaderCore core_;
};

// One thread at a time. After an Error it can only be destroyed. Without close() no file appears,
// and an existing one stays as it is.
template <class T>
class file_writer {
  static_assert(is_record_v<T>);

 public:
  using value_type = T;  // the record

  // Throws Error{io} if the file cannot be written.
  explicit file_writer(const std::string& path, const file_options& options = {})
      : core_(path, options) {}
  void push(const T& record) {
    if (room_.left() >= sizeof(T)) return room_.put(&record, sizeof(T));
    push(std::span(&record, 1));
  }
  void push(std::span<const T> records) {
    room_.put_all(records.data(), records.size_bytes(), [this] { return core_.room(); });
  }
  // Number of records so far.
  [[nodiscard]] std::uint64_t size() const { return room_.filled() / sizeof(T); }

  // Completes the file: it gets its name, on stable storage. After that every call except size()
  // throws Error{usage}.
  void close() { core_.close(room_.close()); }

 private:
  detail::FileWriterCore core_;
  detail::Room room_;
};

}  // namespace xxl
