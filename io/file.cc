#include "io/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/units.h"
#include "io/write_log.h"

namespace xxl::io {
namespace {

// Later frames may refer back further, as far as is usual.
constexpr std::size_t kUsualWindow = 8 * kMiB;
constexpr std::size_t kPipeBytes = kMiB;  // what users without privileges may have

// Size of a regular file or block device; 0 for others.
std::uint64_t measure(int fd, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return static_cast<std::uint64_t>(status.st_size);
  if (!S_ISBLK(status.st_mode)) return 0;
  const off_t here = lseek(fd, 0, SEEK_CUR);
  const off_t end = lseek(fd, 0, SEEK_END);
  lseek(fd, here, SEEK_SET);
  return end < 0 ? 0 : static_cast<std::uint64_t>(end);
}

// False when the kernel says that direct transfers need more alignment than kSectorBytes, or that
// there are none. Kernels before 6.1 do not say.
bool direct_alignment_fits([[maybe_unused]] int fd) {
#ifdef STATX_DIOALIGN
  struct statx status {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0) {
    return status.stx_dio_offset_align != 0 && status.stx_dio_offset_align <= kSectorBytes &&
           status.stx_dio_mem_align <= kSectorBytes;
  }
#endif
  return true;
}

// `file_system`: a number of <linux/magic.h>.
bool is_on(int fd, std::int64_t file_system) {
  struct statfs system {};
  return fstatfs(fd, &system) == 0 && system.f_type == file_system;
}

// Some file systems (ramfs, many in user space) say that they have no blocks at all: they do not
// count.
std::uint64_t free_bytes_of(const struct statvfs& space) {
  if (space.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return std::uint64_t{space.f_bavail} * space.f_frsize;
}

bool is_directory(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

// Files of /proc claim to be empty, those of /sys about a page long, and take no space, as these
// file systems have none. Only reading them shows their length.
bool size_is_known(int fd, std::uint64_t size) {
  constexpr std::uint64_t kLargestPage = 64 * kKiB;
  struct statvfs space {};
  if (size == 0) return fstatvfs(fd, &space) == 0 && space.f_blocks > 0;
  struct stat status;
  return size > kLargestPage ||
         (fstat(fd, &status) == 0 && (S_ISBLK(status.st_mode) || status.st_blocks > 0));
}

int open_unnamed(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string name = directory + "/.xxl-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);  // 0600
  if (named >= 0) unlink(name.c_str());
  return named;
}

[[noreturn]] void throw_cannot_reserve(int error, const File& file, std::uint64_t bytes) {
  struct statvfs space {};
  std::string message = "cannot reserve " + format_bytes(bytes);
  if (fstatvfs(file.fd(), &space) == 0 && space.f_blocks > 0) {
    message += " (" + format_bytes(free_bytes_of(space)) + " free)";
  }
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw Error(full ? ErrorCode::no_space : ErrorCode::io, message, file.path(), Error::kNoOffset,
              error, Operation::reserve);
}

// For file systems that cannot reserve: checks that there is room now, and extends the file.
// Returns 0 or an errno value.
int extend(int fd, std::uint64_t offset, std::uint64_t bytes) {
  struct statvfs space {};
  struct stat status {};
  if (fstatvfs(fd, &space) != 0 || fstat(fd, &status) != 0) return errno;
  if (free_bytes_of(space) < bytes) return ENOSPC;
  if (static_cast<std::uint64_t>(status.st_size) >= offset + bytes) return 0;
  return ftruncate(fd, static_cast<off_t>(offset + bytes)) == 0 ? 0 : errno;
}

// Returns 0 or an errno value.
int allocate(int fd, std::uint64_t offset, std::uint64_t bytes) {
  while (fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return extend(fd, offset, bytes);
    if (errno != EINTR) return errno;
  }
  return 0;
}

// Reads from the beginning of the file; returns the bytes, or minus an errno value. `direct`: in
// whole sectors; one that is not whole ends the file.
ssize_t read_head(int fd, std::span<std::byte> head, bool direct) {
  std::size_t done = 0;
  while (done < head.size()) {
    const ssize_t bytes =
        pread(fd, head.data() + done, head.size() - done, static_cast<off_t>(done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return -errno;
    done += static_cast<std::size_t>(bytes);
    if (bytes == 0 || (direct && done % kSectorBytes != 0)) break;
  }
  return static_cast<ssize_t>(done);
}

// Found with the first file: where it is used nothing may throw.
std::uint64_t group_memory_bytes() {
  static const std::uint64_t bytes = ControlGroups().memory_bytes();
  return bytes;
}

}  // namespace

File::File(int fd, const std::string& path, bool direct) try
    : fd_(fd), path_(path), direct_(direct) {
  group_memory_bytes();
  struct stat status;
  if (fstat(fd_, &status) != 0) throw_io_error(errno, "cannot examine", path_);
  is_stored_ = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
  in_memory_ = is_stored_ && is_on_memory(fd_);
  seekable_ = is_stored_;
  size_ = measure(fd_, status);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  // The fewer times both ends wait for each other the better. Less where it is not allowed.
  if (S_ISFIFO(status.st_mode)) fcntl(fd_, F_SETPIPE_SZ, static_cast<int>(kPipeBytes));
} catch (...) {
  if (fd >= 0) ::close(fd);
}

File::File(File&& other) noexcept {
  *this = std::move(other);
}

File& File::operator=(File&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  fd_ = std::exchange(other.fd_, -1);
  path_ = std::move(other.path_);
  direct_ = other.direct_.load();
  seekable_ = other.seekable_;
  is_stored_ = other.is_stored_;
  in_memory_ = other.in_memory_;
  size_ = other.size_.load();
  device_ = other.device_;
  inode_ = other.inode_;
  has_name_ = other.has_name_;
  is_limited_ = other.is_limited_;
  codec_ = other.codec_;
  window_bytes_ = other.window_bytes_;
  is_text_ = other.is_text_;
  decoder_ = std::move(other.decoder_);
  caller_ = other.caller_;
  write_log_ = std::move(other.write_log_);
  unsynced_bytes_ = other.unsynced_bytes_.load();
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

File File::open_path(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) throw_io_error(errno, Operation::open_input, path);
  File file(fd, path, false);
  if (is_directory(fd)) throw_io_error(EISDIR, Operation::read, path);
  if (!size_is_known(fd, file.size_)) file.seekable_ = false;
  if (file.seekable_) file.direct_ = enable_direct(fd);
  file.has_name_ = true;
  return file;
}

File File::open_input(const std::string& path) {
  return path == "-" ? open_standard_input() : open_path(path);
}

File File::examine_input(const std::string& path) {
  struct stat status;
  const bool exists = path != "-" && stat(path.c_str(), &status) == 0;
  if (!exists || S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) || S_ISDIR(status.st_mode)) {
    return open_input(path);
  }
  if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) {
    throw_io_error(errno, Operation::open_input, path);
  }
  File file;
  file.path_ = path;
  file.device_ = status.st_dev;
  file.inode_ = status.st_ino;
  return file;
}

void File::open() {
  if (is_open()) return;
  File now = open_path(path_);
  if (now.device_ != device_ || now.inode_ != inode_) {
    throw Error(ErrorCode::bad_input,
                "the file was replaced by another one before it was read: start again", path_);
  }
  const std::uint64_t size = size_;
  const bool seekable = seekable_;
  const bool is_limited = is_limited_;
  const Codec codec = codec_;
  const std::size_t window_bytes = window_bytes_;
  const bool is_text = is_text_;
  *this = std::move(now);
  is_text_ = is_text;
  if (codec != Codec::none) {
    disable_direct();
    seekable_ = false;
    codec_ = codec;
    window_bytes_ = window_bytes;
  }
  if (!seekable && (codec != Codec::none || is_text)) start_decoder();
  if (seekable) {  // it is read as planned, whatever was added
    seekable_ = true;
    size_ = size;
    is_limited_ = is_limited;
  }
}

void File::close() {
  if (!is_open() || !has_name_) return;
  decoder_.reset();
  ::close(fd_);
  fd_ = -1;
}

void File::decompress(Codec codec, bool is_text) {
  codec_ = codec;
  is_text_ = is_text;
  std::byte head[Decompressor::kHeadBytes];
  disable_direct();
  const ssize_t bytes = seekable_ ? read_head(fd_, head, false) : 0;
  if (bytes < 0) throw_io_error(static_cast<int>(-bytes), Operation::read, path_);
  window_bytes_ = Decompressor::window_bytes(codec, {head, static_cast<std::size_t>(bytes)});
  seekable_ = false;
  size_ = 0;
  if (is_open()) start_decoder();
}

void File::recognize() {
  is_text_ = true;
  if (!seekable_) {
    if (is_open()) start_decoder();
    return;
  }
  alignas(kSectorBytes) std::byte head[kSectorBytes];  // it may be read directly
  const ssize_t bytes = read_head(fd_, head, direct_);
  if (bytes < 0) throw_io_error(static_cast<int>(-bytes), Operation::read, path_);
  const auto known = std::min(static_cast<std::size_t>(bytes), kContentBytes);
  const Codec codec = recognize_content({head, known}, path_);
  if (codec != Codec::none) decompress(codec, true);
}

void File::start_decoder() {
  decoder_ = std::make_shared<Decoder>(fd_, codec_, is_text_, path_,
                                       std::max(window_bytes_, kUsualWindow));
}

std::size_t File::decoder_bytes() const {
  if (codec_ == Codec::none) return 0;
  return Decompressor::memory_bytes(codec_, window_bytes_) + Decoder::kPieceBytes;
}

void File::disable_direct() {
  if (direct_) fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) & ~O_DIRECT);
  direct_ = false;
}

void File::limit_to(std::uint64_t bytes) {
  XXL_CHECK(seekable_ && bytes <= size_);
  size_ = bytes;
  is_limited_ = true;
}

bool File::has_grown(std::size_t record_bytes) {
  if (is_limited_) return false;
  struct stat status;
  if (fstat(fd_, &status) != 0) throw_io_error(errno, "cannot examine", path_);
  const auto now = S_ISREG(status.st_mode) ? round_down<std::uint64_t>(status.st_size, record_bytes)
                                           : std::uint64_t{0};
  const bool grown = now > size_;
  if (grown) {
    // What was added starts anywhere in a sector.
    disable_direct();
    size_ = now;
  }
  if (is_standard_input()) lseek(STDIN_FILENO, static_cast<off_t>(size_.load()), SEEK_SET);
  return grown;
}

File File::open_standard_input() {
  const int flags = fcntl(STDIN_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) throw_io_error(EBADF, Operation::read, "-");
  // Standard input that is a file, at its start, is opened again to be read directly.
  struct stat status;
  if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode) &&
      lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
    const int fd = ::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      File file(fd, "-", false);
      file.seekable_ = size_is_known(fd, file.size_);
      if (file.seekable_) {
        file.direct_ = enable_direct(fd);
        return file;
      }
    }
  }
  File file(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "-", false);
  if (is_directory(file.fd_)) throw_io_error(EISDIR, Operation::read, "-");
  file.seekable_ = false;
  return file;
}

File File::stream(int fd, const std::string& path) {
  File file(fd, path, false);
  file.seekable_ = false;
  return file;
}

File File::of_caller(IoQueue& queue, std::string name) {
  File file;
  file.path_ = std::move(name);
  file.caller_ = &queue;
  return file;
}

File File::create_unnamed(const std::string& directory, bool direct) {
  const int fd = open_unnamed(directory);
  if (fd < 0) throw_io_error(errno, Operation::create_temporary, directory);
  return File(fd, directory, direct && enable_direct(fd));
}

std::uint64_t File::stored_bytes() const {
  struct stat status;
  if (fstat(fd_, &status) != 0) throw_io_error(errno, "cannot examine", path_);
  return static_cast<std::uint64_t>(status.st_size);
}

void File::reserve(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  const int error = allocate(fd_, offset, bytes);
  if (error != 0) throw_cannot_reserve(error, *this, bytes);
}

bool File::give_back(std::uint64_t offset, std::uint64_t bytes) {
  return fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                   static_cast<off_t>(bytes)) == 0;
}

bool File::gives_back_soon() const {
  std::FILE* const mounts = setmntent("/proc/self/mounts", "r");
  if (mounts == nullptr) return true;
  bool discards = false;
  mntent mount;
  char text[4096];
  while (!discards && getmntent_r(mounts, &mount, text, sizeof(text)) != nullptr) {
    struct stat root;
    discards = hasmntopt(&mount, "discard") != nullptr && stat(mount.mnt_dir, &root) == 0 &&
               root.st_dev == device_;
  }
  endmntent(mounts);
  return !discards;
}

void File::suspend() {
  ::close(std::exchange(fd_, -1));
}

void File::resume(int fd) {
  fd_ = fd;
  if (direct_) direct_ = enable_direct(fd_);
}

void File::log_writes() {
  write_log_ = std::make_shared<WriteLog>();
}

void File::note_write(std::uint64_t offset, std::span<const std::byte> data) const {
  if (write_log_ != nullptr) write_log_->add(offset, data);
}

int File::wrote(std::size_t bytes) const {
  const std::uint64_t memory_bytes = group_memory_bytes();
  if (memory_bytes == kUnlimited || direct_ || !is_stored_) return 0;
  const std::uint64_t step = std::max<std::uint64_t>(memory_bytes / 32, kMiB);
  if ((unsynced_bytes_ += bytes) < step) return 0;
  unsynced_bytes_ = 0;
  // Waits for the step before this one.
  const int result =
      sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE);
  // An error of the disk is reported here and not by a later fsync; other errors are not the
  // disk's.
  const bool disk_refused = result != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT);
  return disk_refused ? errno : 0;
}

bool is_on_memory(int fd) {
  return is_on(fd, TMPFS_MAGIC) || is_on(fd, RAMFS_MAGIC);
}

bool enable_direct(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (is_on_memory(fd) || is_on(fd, FUSE_SUPER_MAGIC)) return false;
  if (flags < 0 || !direct_alignment_fits(fd)) return false;
  return fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
}

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs space {};
  if (statvfs(directory.c_str(), &space) != 0) {
    throw_io_error(errno, "cannot find the free space", directory);
  }
  return free_bytes_of(space);
}

}  // namespace xxl::io
