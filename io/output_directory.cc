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

constexpr int kMaxDirectoryNames = 100;

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
  if (must_replace()) existing_ = open_existing();
  if (faccessat(parent_.fd(), ".", W_OK, AT_EACCESS) != 0) {
    throw Error(ErrorCode::io, "cannot create a directory in this one", parent_.path(),
                Error::kNoOffset, errno, Operation::open_output);
  }
  if (!existing_.is_open()) return;
  make_directory();  // to see whether that can be done
  directory_ = {};
  temp_name_.reset();
}

// True if there is a directory of this name now, which may be replaced.
bool OutputDirectory::must_replace() const {
  struct stat status, parent;
  if (lstat(path_.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::io,
                "is not a directory, so it is not replaced by parts: remove it, or give another "
                "name",
                path_);
  }
  if (fstat(parent_.fd(), &parent) == 0 && status.st_dev != parent.st_dev) {
    throw Error(ErrorCode::io,
                "is a mount point or a subvolume, so it is not replaced by parts: give the name of "
                "a directory in it",
                path_);
  }
  if (holds_anything(path_)) check_(path_);
  return true;
}

File OutputDirectory::open_existing() const {
  const int fd = openat(parent_.fd(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, Operation::open_output, path_);
  return {fd, path_, false};
}

std::uint64_t OutputDirectory::free_bytes() const {
  return io::free_bytes(parent_.path());
}

void OutputDirectory::make_directory() {
  const mode_t mode = existing_.is_open() ? S_IRWXU : 0777;  // until it has the rights of that one
  for (int attempt = 1; !directory_.is_open(); ++attempt) {
    temp_name_.emplace(parent_.fd());
    if (mkdirat(parent_.fd(), temp_name_->text(), mode) == 0) {
      const int fd = openat(parent_.fd(), temp_name_->text(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (fd < 0) throw_io_error(errno, Operation::open_output, path_);
      lock_temp_file(fd);
      directory_ = File(fd, path_, false);
      if (existing_.is_open()) prepare_for_files();
      return;
    }
    const int error = errno;
    temp_name_->let_go();
    if (error != EEXIST || attempt == kMaxDirectoryNames) {
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
  int fd = open_unnamed_beside(existing_.is_open() ? existing_ : parent_, 0666, true);
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
  give_name(file, name);
}

void OutputDirectory::put_aside(File& file, const std::string& name) {
  make_directory();
  if (fsync(file.fd()) != 0) throw_io_error(errno, "cannot sync", file.path());
  give_name(file, name);
  file.suspend();
}

void OutputDirectory::take_up(File& file, const std::string& name) {
  const int fd = openat(directory_.fd(), name.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, Operation::open_output, file.path());
  file.resume(fd);
}

void OutputDirectory::give_name(const File& file, const std::string& name) {
  struct stat status;
  if (fstat(file.fd(), &status) == 0 && status.st_nlink > 0) return;  // it has it
  const int error = link_unnamed(file.fd(), directory_, name.c_str());
  if (error != 0) throw_io_error(error, "cannot name the output", file.path());
}

void OutputDirectory::add(const std::string& name, std::string_view content, ReadBack* read_back) {
  File file = create(name, false);
  if (read_back != nullptr) file.log_writes();
  write_at(file, 0, std::as_bytes(std::span(content)));
  add(file, name, content.size(), read_back);
}

bool OutputDirectory::move(const std::string& name, const std::string& inner,
                           const std::string& file) {
  if (mkdirat(directory_.fd(), inner.c_str(), 0777) != 0 && errno != EEXIST) {
    throw_io_error(errno, Operation::open_output, path_of(inner));
  }
  const int fd = openat(directory_.fd(), inner.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, Operation::open_output, path_of(inner));
  const File directory(fd, path_of(inner), false);
  // Nobody else makes files in it.
  if (faccessat(fd, file.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return false;
  if (renameat(directory_.fd(), name.c_str(), fd, file.c_str()) != 0) {
    throw_io_error(errno, "cannot name the output", directory.path() + '/' + file);
  }
  if (fsync(fd) != 0 && errno != EINVAL) throw_io_error(errno, "cannot sync", directory.path());
  return true;
}

void OutputDirectory::give_attributes_of(const File& existing) const {
  if (copy_attributes(existing.fd(), directory_.fd())) return;
  throw Error(
      ErrorCode::io,
      "its owner or attributes cannot be given to a new directory: remove it first, or give "
      "another name",
      path_);
}

// Files that are made in it inherit what they would in the existing one, in which its owner may
// have no right to make any.
void OutputDirectory::prepare_for_files() const {
  give_attributes_of(existing_);
  struct stat status;
  if (fstat(directory_.fd(), &status) != 0 || (status.st_mode & S_IRWXU) == S_IRWXU) return;
  fchmod(directory_.fd(), (status.st_mode & 07777) | S_IRWXU);
}

// The temporary name then is that of what was replaced, if anything is left of it: file systems
// that cannot exchange directories replace empty ones.
void OutputDirectory::exchange() {
  give_attributes_of(open_existing());
  const char* const temp_name = temp_name_->text();
  const int parent = parent_.fd();
  if (renameat2(parent, temp_name, parent, name_.c_str(), RENAME_EXCHANGE) == 0) return;
  const int error = errno;
  const bool unknown = error == EINVAL || error == ENOSYS;
  if (unknown && renameat(parent, temp_name, parent, name_.c_str()) == 0) {
    return temp_name_->let_go();
  }
  throw_io_error(error,
                 unknown ? "cannot be replaced on this file system: remove it first, or give "
                           "another name"
                         : "cannot be replaced",
                 path_);
}

void OutputDirectory::remove_replaced() {
  const std::string name = temp_name();
  const int error = temp_name_->remove();
  if (error == 0) return;
  throw_io_error(error,
                 "the output is complete and in its place, but the directory that it replaced "
                 "cannot be removed",
                 directory_of(path_) + "/" + name);
}

void OutputDirectory::publish() {
  make_directory();
  if (fsync(directory_.fd()) != 0 && errno != EINVAL) {
    throw_io_error(errno, "cannot sync", path_);
  }
  if (must_replace()) {
    exchange();
  } else {
    if (renameat(parent_.fd(), temp_name_->text(), parent_.fd(), name_.c_str()) != 0) {
      throw_io_error(errno, "cannot name the output", path_);
    }
    temp_name_->let_go();
  }
  sync_directory(parent_, can_sync_parent_, directory_);
  remove_replaced();
}

}  // namespace xxl::io
