// The way to an atomic output:
//
//   open(path, O_WRONLY)                       as a program that overwrites: if there is one
//   open(directory), openat(., O_TMPFILE)      write ...   ftruncate, fsync
//   linkat(fd, name)                           when nothing has that name yet, otherwise
//   linkat(fd, .xxl-PID-RANDOM.tmp), rename    since a link cannot replace
//   fsync(directory)
//
// and to one in place, where the file cannot be replaced without loss:
//
//   open(path, O_WRONLY), open(scratch, O_TMPFILE), or memfd_create()   write ...   ftruncate
//   fallocate(path), copy, ftruncate, fsync
//
// The existing file is opened as if to overwrite it, so that the kernel refuses what it refuses
// other programs: files without permission, running programs, and in directories like /tmp links
// and files placed by other users (protected_symlinks, protected_regular).
//
// Once the output has its name it is final, so all that can fail comes before: all descriptors are
// opened at the start. An unnamed file vanishes with the process, however that ends.
#include "io/output_file.h"
#include "io/transfer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/file_attributes.h"
#include "io/open_beside.h"
#include "io/read_back.h"
#include "io/write_comparison.h"

namespace xxl::io {
namespace {

constexpr int kMaxLinksFollowed = 40;  // as the kernel
constexpr int kMaxNameAttempts = 100;
constexpr std::size_t kCopyBytes = WriteLog::kPieceBytes;

// The target of the symbolic link `path`; empty if it is none.
std::string read_link(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return {};
  return std::string(target.data(), static_cast<std::size_t>(length));
}

// True for names below /proc, also by way of a linked directory, as /dev/fd is.
bool lies_in_proc(const std::string& path) {
  std::error_code error;
  const auto directory = std::filesystem::canonical(directory_of(path), error);
  return path.starts_with("/proc/") || (!error && directory.string().starts_with("/proc/"));
}

// What `path` stands for when it is a symbolic link, whether or not that exists. Stops at a link
// below /proc: it leads to an open file, not to a name.
std::string follow_links(std::string path) {
  for (int i = 0; i < kMaxLinksFollowed && !lies_in_proc(path); ++i) {
    const std::string target = read_link(path);
    if (target.empty()) return path;
    path = target.front() == '/' ? target : directory_of(path) + "/" + target;
  }
  return path;
}

constexpr int kOverwrite = O_WRONLY | O_CLOEXEC | O_NOCTTY;
// The kernel checks the owner of the existing file only if one may be created.
constexpr int kOverwriteProtected = kOverwrite | O_CREAT;

// Opens the file `name` in `directory`, or anywhere with AT_FDCWD, for overwriting. Not open if
// there is none. `path` is for messages.
File open_existing(int directory, const std::string& name, const std::string& path) {
  int fd = openat(directory, name.c_str(), kOverwrite);
  if (fd < 0 && errno == ENOENT) return {};
  if (fd >= 0) {
    close(fd);  // there is something: nothing will be created
    fd = openat(directory, name.c_str(), kOverwriteProtected, 0600);
  }
  if (fd < 0) throw_io_error(errno, Operation::open_output, path);
  return {fd, path, false};
}

bool is_same_file(const struct stat& status, const struct statx& named) {
  return status.st_ino == named.stx_ino &&
         status.st_dev == makedev(named.stx_dev_major, named.stx_dev_minor);
}

}  // namespace

bool OutputFile::is_replaceable(const std::string& path) {
  const std::string target = follow_links(path);
  if (lies_in_proc(target)) return false;
  struct stat status;
  if (stat(target.c_str(), &status) != 0) return true;
  return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);  // the constructor refuses these
}

OutputFile::OutputFile(const std::string& path, bool direct,
                       const std::vector<std::string>& scratch_directories, bool is_small)
    : path_(follow_links(path)), name_(path_.substr(path_.rfind('/') + 1)) {
  if (!is_replaceable(path)) throw Error(ErrorCode::io, "is not a regular file", path);
  existing_ = open_existing(AT_FDCWD, path, path);
  directory_ = open_directory(directory_of(path_), can_sync_directory_);
  remove_left_over(directory_.fd());
  const int fd = open_beside(!existing_.is_open());
  const int error = errno;
  if (fd >= 0) {
    lock_temp_file(fd);
    file_ = File(fd, path_, direct && enable_direct(fd));
  }
  const bool may_not = error == EACCES || error == EPERM || error == EROFS;
  if (fd < 0 && !(existing_.is_open() && may_not)) {
    throw Error(ErrorCode::io, "cannot create a file in this directory", directory_.path(),
                Error::kNoOffset, error, Operation::open_output);
  }
  if (!existing_.is_open()) return;
  in_place_ = fd < 0 || !can_be_replaced_by(fd);
  if (!in_place_) return;
  temp_name_.reset();
  write_elsewhere(*std::ranges::max_element(scratch_directories, {}, io::free_bytes), direct,
                  is_small);
  file_.log_writes();
}

void OutputFile::write_elsewhere(const std::string& scratch_directory, bool direct, bool is_small) {
  try {
    file_ = File::create_unnamed(scratch_directory, direct);
  } catch (const Error& error) {
    const int fd = is_small ? memfd_create("xxl", MFD_CLOEXEC) : -1;
    if (fd < 0) throw;
    file_ = File(fd, path_, false);
    no_scratch_ = error;
  }
}

void OutputFile::prepare_to_verify() {
  file_.log_writes();
  if (in_place_) ReadBack::open_again(existing_);  // to see whether that can be done
}

// A descriptor in the directory of the output, or -1 and errno. A new file has its final attributes
// from the start; one that replaces another is private until it has that one's.
int OutputFile::open_beside(bool is_new) {
  const mode_t mode = is_new ? 0666 : 0600;
  const int fd = open_unnamed_beside(directory_, mode, is_new);
  return fd >= 0 ? fd : open_named(mode);
}

int OutputFile::open_named(mode_t mode) {
  for (int attempt = 1;; ++attempt) {
    temp_name_.emplace(directory_.fd());
    const int fd =
        openat(directory_.fd(), temp_name_->text(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
    if (fd >= 0) return fd;
    const int error = errno;
    temp_name_->let_go();
    errno = error;
    if (error != EEXIST || attempt == kMaxNameAttempts) return -1;
  }
}

// True if the name is the only link to the existing file and may be replaced, and `fd` got all its
// attributes.
bool OutputFile::can_be_replaced_by(int fd) const {
  struct stat existing;
  struct statx named {
  }, directory{};
  if (fstat(existing_.fd(), &existing) != 0 ||
      statx(directory_.fd(), name_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &named) != 0 ||
      statx(directory_.fd(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &directory) != 0) {
    return false;
  }
#ifdef STATX_ATTR_MOUNT_ROOT
  if ((named.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) return false;
#endif
  // Where names can only be added, a temporary one could not be removed either.
  if ((directory.stx_attributes & STATX_ATTR_APPEND) != 0) return false;
  return existing.st_nlink == 1 && is_same_file(existing, named) &&
         copy_attributes(existing_.fd(), fd);
}

void OutputFile::reserve(std::uint64_t offset, std::uint64_t bytes) {
  if (no_scratch_ && offset + bytes > kSmallBytes) throw *no_scratch_;
  file_.reserve(offset, bytes);
  if (in_place_) check_room_in_place(offset + bytes);
}

std::uint64_t OutputFile::free_bytes() const {
  return io::free_bytes(in_place_ ? file_.path() : directory_.path());
}

std::string OutputFile::shared_path() {
  if (in_place_) {
    throw Error(ErrorCode::io,
                "cannot be replaced by a new file, which several processes need: remove it first, "
                "or give another name",
                path_);
  }
  if (!temp_name_) give_temp_name();
  return directory_of(path_) + "/" + temp_name_->text();
}

void OutputFile::publish(std::uint64_t bytes, ReadBack* read_back) {
  const int fd = file_.fd();
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    throw_io_error(errno, "cannot cut", file_.path());
  if ((!in_place_ || read_back != nullptr) && fsync(fd) != 0) {
    throw_io_error(errno, "cannot sync", file_.path());
  }
  if (read_back != nullptr) read_back->check(file_);
  if (!in_place_) in_place_ = !give_name();
  if (in_place_) {
    write_in_place(bytes, read_back);
  } else {
    sync_directory(directory_, can_sync_directory_, file_);
  }
}

// Opens what has the name now as `existing_`: it may have been made, replaced or removed since it
// was opened.
void OutputFile::find_existing() {
  struct statx named {};
  if (statx(directory_.fd(), name_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &named) != 0) {
    if (errno != ENOENT) throw_io_error(errno, "cannot examine", path_);
    existing_ = {};
    return;
  }
  struct stat existing;
  if (existing_.is_open() && fstat(existing_.fd(), &existing) == 0 &&
      is_same_file(existing, named)) {
    return;
  }
  if (!S_ISREG(named.stx_mode)) throw_io_error(EEXIST, "cannot replace", path_);
  existing_ = open_existing(directory_.fd(), name_, path_);
}

// Gives the file a name beside its own.
void OutputFile::give_temp_name() {
  for (int attempt = 1;; ++attempt) {
    temp_name_.emplace(directory_.fd());
    const int error = link_unnamed(file_.fd(), directory_, temp_name_->text());
    if (error == 0) return;
    temp_name_->let_go();
    if (error != EEXIST || attempt == kMaxNameAttempts) {
      throw_io_error(error, "cannot name the output", path_);
    }
  }
}

// False if the existing file cannot be replaced.
bool OutputFile::give_name() {
  if (!temp_name_ && !existing_.is_open()) {
    const int error = link_unnamed(file_.fd(), directory_, name_.c_str());
    if (error == 0) return true;
    if (error != EEXIST) throw_io_error(error, "cannot name the output", path_);
  }
  find_existing();
  if (existing_.is_open() && !can_be_replaced_by(file_.fd())) {
    temp_name_.reset();
    return false;
  }
  if (!temp_name_) give_temp_name();
  if (renameat(directory_.fd(), temp_name_->text(), directory_.fd(), name_.c_str()) == 0) {
    temp_name_->let_go();
    return true;
  }
  const int error = errno;
  if (!existing_.is_open() || (error != EBUSY && error != EPERM && error != EACCES)) {
    throw_io_error(error, "cannot replace", path_);
  }
  temp_name_.reset();
  return false;
}

// For file systems that do not reserve, and long before others must.
void OutputFile::check_room_in_place(std::uint64_t bytes) const {
  struct stat status;
  if (fstat(existing_.fd(), &status) != 0) throw_io_error(errno, "cannot examine", path_);
  const auto present = static_cast<std::uint64_t>(status.st_size);
  const std::string place = descriptor_path(existing_.fd());
  const std::uint64_t free = io::free_bytes(access(place.c_str(), F_OK) == 0 ? place : path_);
  if (bytes <= present || bytes - present <= free) return;
  throw Error(
      ErrorCode::no_space,
      "must grow by " + format_bytes(bytes - present) + ", and " + format_bytes(free) + " are free",
      path_);
}

// Until the first write the existing file is unchanged.
void OutputFile::write_in_place(std::uint64_t bytes, ReadBack* read_back) {
  const int fd = existing_.fd();
  struct stat status;
  if (fstat(fd, &status) != 0) throw_io_error(errno, "cannot examine", path_);
  if (status.st_nlink == 0) {
    throw Error(ErrorCode::io, "was removed while what is to be written into it was made", path_);
  }
  if (read_back != nullptr) ReadBack::open_again(existing_);  // to see whether that can be done
  check_room_in_place(bytes);
  if (bytes > 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    const int error = errno;
    [[maybe_unused]] const int ignored = ftruncate(fd, status.st_size);  // frees what was allocated
    throw Error(ErrorCode::no_space, "cannot reserve " + format_bytes(bytes), path_,
                Error::kNoOffset, error, Operation::reserve);
  }
  const MemoryRegion buffer(kCopyBytes);
  // file_ is a scratch file without other checksums.
  if (read_back == nullptr) read_written(file_, bytes, buffer.span(), [](std::uint64_t, auto) {});
  bool touched = false;
  try {
    read_written(file_, bytes, buffer.span(),
                 [&](std::uint64_t offset, std::span<const std::byte> data) {
                   touched = true;
                   io::write_at(existing_, offset, data);
                 });
    if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) throw_io_error(errno, "cannot cut", path_);
    if (fsync(fd) != 0) throw_io_error(errno, "cannot sync", path_);
    if (read_back != nullptr) read_back->check(existing_, *file_.write_log());
  } catch (const Error& error) {
    if (!touched) throw;
    const bool is_corrupt = error.code() == ErrorCode::corrupt;
    throw Error(error.code(),
                std::string("was overwritten in place, and ") +
                    (is_corrupt ? "is not what was written" : "only a part of it") +
                    ": it is neither the old file nor the output",
                path_, error.offset(), error.sys_errno());
  }
}

File open_output_stream(const std::string& path, bool verify) {
  if (verify) {
    throw Error(ErrorCode::usage, "cannot be read back to be verified: write to a file (--output)",
                path == "-" ? "standard output" : path);
  }
  if (path == "-") {
    return File::stream(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), "standard output");
  }
  const int fd = open(path.c_str(), kOverwriteProtected, 0600);
  if (fd < 0) throw_io_error(errno, Operation::open_output, path);
  return File::stream(fd, path);
}

void end_output_stream(const std::string& path, const File& stream) {
  struct stat status;
  if (path == "-" || fstat(stream.fd(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (ftruncate(stream.fd(), lseek(stream.fd(), 0, SEEK_CUR)) != 0) {
    throw_io_error(errno, "cannot cut", path);
  }
}

}  // namespace xxl::io
