#include "io/output_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <span>
#include <utility>

#include "base/error.h"
#include "io/file_attributes.h"
#include "io/open_beside.h"
#include "io/read_back.h"
#include "io/transfer.h"

namespace xxl::io {
namespace {

constexpr int kMaxNameAttempts = 100;

// `path` without slashes at its end; what it links to, if that exists.
std::string plain_path(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::error_code error;
  if (std::filesystem::is_symlink(path, error)) {
    const auto target = std::filesystem::canonical(path, error);
    if (!error) return target;
  }
  return path;
}

// True if something is in the directory.
bool holds_anything(const std::string& path) {
  std::error_code error;
  const std::filesystem::directory_iterator entries(path, error);
  if (error) throw_io_error(error.value(), Operation::open_output, path);
  return entries != std::filesystem::directory_iterator();
}

}  // namespace

OutputDirectory::OutputDirectory(const std::string& path, Check check)
    : path_(plain_path(path)), name_(path_.substr(path_.rfind('/') + 1)), check_(std::move(check)) {
  if (name_.empty() || name_ == "." || name_ == "..") {
    throw Error(ErrorCode::io, "cannot be replaced by a directory of parts: give another name",
                path);
  }
  parent_ = open_directory(directory_of(path_), can_sync_parent_);
  remove_left_over(parent_.fd());
  const bool replaces = must_replace();
  if (faccessat(parent_.fd(), ".", W_OK, AT_EACCESS) != 0) {
    throw Error(ErrorCode::io, "cannot create a directory in this one", parent_.path(),
                Error::kNoOffset, errno, Operation::open_output);
  }
  if (!replaces) return;
  make_directory();  // to see whether that can be done
  give_attributes();
  directory_ = {};
  temp_name_.reset();
}

// True if there is something in a directory of this name now, which may be replaced.
bool OutputDirectory::must_replace() const {
  struct stat status;
  if (lstat(path_.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::io,
                "is no directory, so it is not replaced by parts: remove it, or give another name",
                path_);
  }
  if (!holds_anything(path_)) return false;
  check_(path_);
  return true;
}

std::uint64_t OutputDirectory::free_bytes() const {
  return io::free_bytes(parent_.path());
}

void OutputDirectory::make_directory() {
  for (int attempt = 1; !directory_.is_open(); ++attempt) {
    temp_name_.emplace(parent_.fd());
    if (mkdirat(parent_.fd(), temp_name_->text(), 0777) == 0) {
      const int fd = openat(parent_.fd(), temp_name_->text(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (fd < 0) throw_io_error(errno, Operation::open_output, path_);
      lock_temp_file(fd);
      directory_ = File(fd, path_, false);
      return;
    }
    const int error = errno;
    temp_name_->let_go();
    if (error != EEXIST || attempt == kMaxNameAttempts) {
      throw_io_error(error, Operation::open_output, path_);
    }
  }
}

std::string OutputDirectory::temp_name() const {
  return temp_name_ ? temp_name_->text() : "";
}

std::string OutputDirectory::make() {
  make_directory();
  return temp_name();
}

void OutputDirectory::join(const std::string& temp_name) {
  const int fd = openat(parent_.fd(), temp_name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, Operation::open_output, path_);
  directory_ = File(fd, path_, false);
}

File OutputDirectory::create(const std::string& name, bool direct) {
  const std::string path = path_of(name);
  int fd = open_unnamed_beside(parent_, 0666, true);
  if (fd < 0 && errno != EMFILE && errno != ENFILE && errno != ENOSPC) {
    make_directory();
    fd = openat(directory_.fd(), name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  }
  if (fd < 0) throw_io_error(errno, Operation::open_output, path);
  return {fd, path, direct && enable_direct(fd)};
}

void OutputDirectory::add(const File& file, const std::string& name, std::uint64_t bytes,
                          ReadBack* read_back) {
  make_directory();
  if (ftruncate(file.fd(), static_cast<off_t>(bytes)) != 0) {
    throw_io_error(errno, "cannot cut", file.path());
  }
  if (fsync(file.fd()) != 0) throw_io_error(errno, "cannot sync", file.path());
  if (read_back != nullptr) read_back->check(file);
  struct stat status;
  if (fstat(file.fd(), &status) == 0 && status.st_nlink > 0) return;  // it was made with its name
  const int error = link_unnamed(file.fd(), directory_, name.c_str());
  if (error != 0) throw_io_error(error, "cannot name the output", file.path());
}

void OutputDirectory::add(const std::string& name, std::string_view content, ReadBack* read_back) {
  File file = create(name, false);
  if (read_back != nullptr) file.log_writes();
  write_at(file, 0, std::as_bytes(std::span(content)));
  add(file, name, content.size(), read_back);
}

// To the new directory, those of the existing one.
void OutputDirectory::give_attributes() const {
  const int existing = openat(parent_.fd(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (existing < 0) throw_io_error(errno, Operation::open_output, path_);
  const File closed_at_end(existing, path_, false);
  if (copy_attributes(existing, directory_.fd())) return;
  throw Error(
      ErrorCode::io,
      "its owner or attributes cannot be given to a new directory: remove it first, or give "
      "another name",
      path_);
}

// The temporary name then is that of what was replaced.
void OutputDirectory::exchange() {
  give_attributes();
  if (renameat2(parent_.fd(), temp_name_->text(), parent_.fd(), name_.c_str(), RENAME_EXCHANGE) ==
      0) {
    return;
  }
  const bool unknown = errno == EINVAL || errno == ENOSYS;
  throw_io_error(errno,
                 unknown ? "cannot be replaced on this file system: remove it first, or give "
                           "another name"
                         : "cannot be replaced",
                 path_);
}

void OutputDirectory::publish() {
  make_directory();
  if (fsync(directory_.fd()) != 0 && errno != EINVAL) {
    throw_io_error(errno, "cannot sync", path_);
  }
  if (must_replace()) {
    exchange();
  } else {
    // An empty directory is replaced as well.
    if (renameat(parent_.fd(), temp_name_->text(), parent_.fd(), name_.c_str()) != 0) {
      throw_io_error(errno, "cannot name the output", path_);
    }
    temp_name_->let_go();
  }
  sync_directory(parent_, can_sync_parent_, directory_);
  temp_name_.reset();  // removes what was replaced
}

}  // namespace xxl::io
