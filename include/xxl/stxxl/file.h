// Files of vectors.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

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

// A file without a name in the next one of the scratch directories.
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

}  // namespace detail

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
  virtual ~file() = default;
  virtual int descriptor() const = 0;
};

// A file with a name. (It is read and written through the page cache: DIRECT is not used.)
class syscall_file : public file {
 public:
  // Throws std::runtime_error.
  syscall_file(const std::string& path, int mode, int = -1, unsigned = 0) {
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
  void set_size(external_size_type bytes) {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
      detail::throw_errno("cannot extend a file");
  }
  external_size_type size() const { return detail::bytes_of_file(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace stxxl
