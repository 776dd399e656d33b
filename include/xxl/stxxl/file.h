// Files of vectors.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "xxl/file.h"
#include "xxl/room.h"
#include "xxl/stxxl/config.h"

namespace stxxl {

namespace detail {

[[noreturn]] inline void throw_errno(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

inline external_size_type bytes_of_file(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) throw_errno("cannot examine a file");
  return static_cast<external_size_type>(status.st_size);
}

inline int write_protection(int descriptor) {
  return (::fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY ? 0 : PROT_WRITE;
}

// A file without a name in the next scratch directory.
inline int open_unnamed() {
  static std::atomic<std::size_t> opened = 0;
  const xxl::resources all(
      {.memory_bytes = 1, .scratch_dirs = config::get_instance()->directories()});
  const auto& directories = all.options().scratch_dirs;
  const std::string& directory = directories[opened++ % directories.size()];
  int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    std::string name = directory + "/.xxl-XXXXXX";
    descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor >= 0) ::unlink(name.c_str());
  }
  if (descriptor < 0) throw_errno("cannot create a file in " + directory);
  return descriptor;
}

// Makes the file `bytes` long, with space on the disk. Without the space, a store through a mapping
// ends the program by a signal when the disk is full.
inline void extend_file(int descriptor, external_size_type from, external_size_type bytes) {
  while (::fallocate(descriptor, 0, static_cast<off_t>(from), static_cast<off_t>(bytes - from)) !=
         0) {
    if (errno == EINTR) continue;
    if ((errno != EOPNOTSUPP && errno != ENOSYS) ||
        ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
      throw_errno("cannot extend a vector");
    }
    return;
  }
}

inline void write_all(int descriptor, const void* data, std::size_t bytes, external_size_type at) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::pwrite(descriptor, from, bytes, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_errno("cannot write a vector");
    from += done;
    bytes -= static_cast<std::size_t>(done);
    at += static_cast<external_size_type>(done);
  }
}

inline void read_all(int descriptor, void* data, std::size_t bytes, external_size_type at) {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::pread(descriptor, to, bytes, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_errno("cannot read a vector");
    if (done == 0) throw std::runtime_error("cannot read a vector: its file became shorter");
    to += done;
    bytes -= static_cast<std::size_t>(done);
    at += static_cast<external_size_type>(done);
  }
}

// Stretches up to this size use the page cache. Longer ones bypass it.
inline constexpr std::size_t kCachedBytes = std::size_t{1} << 20;

// Writes elements to a file from a place on. Complete after finish().
class stretch_writer {
 public:
  // `at` in bytes. The file must stay open.
  stretch_writer(int descriptor, external_size_type at) : descriptor_(descriptor), at_(at) {}
  stretch_writer(stretch_writer&&) = default;
  stretch_writer& operator=(stretch_writer&&) = default;

  template <class T>
  void put(const T& value) {
    if (room_.left() >= sizeof(T)) return room_.put(&value, sizeof(T));
    put_all(&value, sizeof(T));
  }
  void put_all(const void* data, std::size_t bytes) {
    guard([&] { room_.put_all(data, bytes, [this] { return next_room(); }); });
  }
  // Throws std::runtime_error. More may follow.
  void finish() {
    guard([this] {
      const std::size_t bytes = room_.close();
      if (blocks_) {
        blocks_->end(bytes);
        blocks_.reset();
      } else {
        write_all(descriptor_, first_.get(), bytes, at_);
      }
    });
    seek(at_ + room_.filled());
  }
  // Goes on at another place. REQUIRES: finish() came before.
  void seek(external_size_type at) {
    at_ = at;
    room_ = {};
  }

 private:
  // A failed write may have lost elements. Every later call throws its error again.
  template <class Work>
  void guard(Work&& work) {
    if (failure_) std::rethrow_exception(failure_);
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }
  // The first memory is its own: most vectors are small.
  std::span<std::byte> next_room() {
    if (room_.filled() == 0) {
      if (first_ == nullptr) first_ = std::make_unique_for_overwrite<std::byte[]>(kCachedBytes);
      return {first_.get(), kCachedBytes};
    }
    if (!blocks_) {
      write_all(descriptor_, first_.get(), kCachedBytes, at_);
      blocks_.emplace(descriptor_, at_ + kCachedBytes, xxl::file_options());
    }
    return blocks_->room();
  }

  int descriptor_;
  external_size_type at_;  // place of room_ in the file
  xxl::detail::Room room_;
  std::unique_ptr<std::byte[]> first_;
  std::optional<xxl::detail::StretchWriterCore> blocks_;
  std::exception_ptr failure_;
};

// Reads the elements [first, last) of a file.
template <class T>
class stretch_reader {
 public:
  stretch_reader(int descriptor, external_size_type first, external_size_type last)
      : descriptor_(descriptor), at_(first), last_(last) {
    // (Elements are read ahead to the end of the file.)
    if ((last - first) * sizeof(T) <= kCachedBytes || bytes_of_file(descriptor) % sizeof(T) != 0) {
      return;
    }
    blocks_.emplace("/proc/self/fd/" + std::to_string(descriptor),
                    xxl::file_options{.compressed_by_suffix = false});
    blocks_->seek(first);
  }

  // The next elements, valid until the next call. Empty at the end. Throws std::runtime_error.
  std::span<const T> next() {
    std::span<const T> block = blocks_ ? blocks_->pull() : read();
    if (block.size() > last_ - at_) block = block.first(static_cast<std::size_t>(last_ - at_));
    if (block.empty() && at_ < last_) {
      throw std::runtime_error("cannot read a vector: its file became shorter");
    }
    at_ += block.size();
    return block;
  }

 private:
  std::span<const T> read() {
    block_.resize(static_cast<std::size_t>(std::min<external_size_type>(
        std::max<std::size_t>(kCachedBytes / sizeof(T), 1), last_ - at_)));
    read_all(descriptor_, block_.data(), block_.size() * sizeof(T), at_ * sizeof(T));
    return block_;
  }

  int descriptor_;
  external_size_type at_, last_;
  std::vector<T> block_;
  std::optional<xxl::file_reader<T>> blocks_;
};

}  // namespace detail

// A transfer, complete when awrite() and aread() return.
class request {
 public:
  void wait(bool = true) {}
  bool poll() { return true; }
  bool cancel() { return false; }
};
using request_ptr = std::shared_ptr<request>;

class file {
 public:
  enum open_mode {
    RDONLY = 1,
    WRONLY = 2,
    RDWR = 4,
    CREAT = 8,
    DIRECT = 16,
    TRUNC = 32,
    SYNC = 64,
    NO_LOCK = 128,
    REQUIRE_DIRECT = 256
  };
  using offset_type = external_size_type;
  using size_type = std::size_t;

  virtual ~file() = default;
  virtual int descriptor() const = 0;
  // Removes the name, and later the file.
  virtual void close_remove() = 0;

  // The following throw std::runtime_error.
  void set_size(offset_type bytes) {
    if (::ftruncate(descriptor(), static_cast<off_t>(bytes)) != 0)
      detail::throw_errno("cannot extend a file");
  }
  offset_type size() const { return detail::bytes_of_file(descriptor()); }
  request_ptr awrite(const void* data, offset_type at, size_type bytes) {
    detail::write_all(descriptor(), data, bytes, at);
    return std::make_shared<request>();
  }
  request_ptr aread(void* data, offset_type at, size_type bytes) {
    detail::read_all(descriptor(), data, bytes, at);
    return std::make_shared<request>();
  }
  // As the system call of that name.
  static int unlink(const char* path) { return ::unlink(path); }
};

// A file with a name. Long stretches bypass the page cache in any case. DIRECT is not used.
class syscall_file : public file {
 public:
  // Throws std::runtime_error.
  syscall_file(const std::string& path, int mode, int = -1, unsigned = 0) : path_(path) {
    int flags = (mode & RDWR) != 0 ? O_RDWR : (mode & WRONLY) != 0 ? O_RDWR : O_RDONLY;
    if ((mode & CREAT) != 0) flags |= O_CREAT;
    if ((mode & TRUNC) != 0) flags |= O_TRUNC;
    descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (descriptor_ < 0) detail::throw_errno("cannot open " + path);
  }
  ~syscall_file() override { ::close(descriptor_); }
  syscall_file(const syscall_file&) = delete;
  syscall_file& operator=(const syscall_file&) = delete;
  int descriptor() const override { return descriptor_; }
  void close_remove() override { (void)unlink(path_.c_str()); }

 private:
  std::string path_;
  int descriptor_;
};

// Every kind of file that STXXL has is a syscall_file. Throws std::runtime_error.
inline file* create_file(const std::string&, const std::string& path, int mode, int = -1,
                         unsigned = 0) {
  return new syscall_file(path, mode);
}

}  // namespace stxxl
