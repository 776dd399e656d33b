// The way to an atomic output:
//
//   open(directory), open(directory, O_TMPFILE)   write ...   ftruncate, fchown, fchmod, fsync
//   linkat(fd, path)                               when nothing has that name yet, otherwise
//   linkat(fd, .xxl-PID-RANDOM.tmp), rename(path)  since a link cannot replace
//   fsync(directory)
//
// Once the output has its name it is there to stay, so all that can fail comes before: the
// directory is opened at the start.
//
// An unnamed file vanishes with the process, however that ends. The short-lived name before a
// rename, and the fall-back's name, are kept in a table for signal handlers to remove.
#include "io/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <random>
#include <utility>

#include "base/error.h"

namespace xxl::io {
namespace {

constexpr int kMaxLinksFollowed = 40;  // as the kernel
constexpr int kMaxNameAttempts = 100;

// Names that signal handlers remove: slots of fixed size, since a handler may not allocate. A slot
// is free, being changed, or holds a name; more names than slots go without.
struct NameSlot {
  enum State { free, changing, taken };
  std::atomic<int> state{free};
  std::array<char, PATH_MAX> name{};
};
std::array<NameSlot, 8> name_slots;
static_assert(std::atomic<int>::is_always_lock_free);

void handle_fatal_signal(int signal_number) {
  remove_named_output_files();
  // The handler was installed with SA_RESETHAND: this time the signal ends the process.
  raise(signal_number);
}

// Leaves signals alone that are ignored (nohup) or that the program handles.
void install_signal_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction current {};
      if (sigaction(number, nullptr, &current) != 0) continue;
      if ((current.sa_flags & SA_SIGINFO) != 0 || current.sa_handler != SIG_DFL) continue;
      struct sigaction ours {};
      ours.sa_handler = handle_fatal_signal;
      ours.sa_flags = static_cast<int>(SA_RESETHAND);
      sigaction(number, &ours, nullptr);
    }
  });
}

void remember_name(const std::string& name) {
  install_signal_handlers();
  if (name.size() >= PATH_MAX) return;
  for (NameSlot& slot : name_slots) {
    int expected = NameSlot::free;
    if (!slot.state.compare_exchange_strong(expected, NameSlot::changing)) continue;
    std::memcpy(slot.name.data(), name.c_str(), name.size() + 1);
    slot.state = NameSlot::taken;
    return;
  }
}

void forget_name(const std::string& name) {
  for (NameSlot& slot : name_slots) {
    if (slot.state != NameSlot::taken || name != slot.name.data()) continue;
    slot.state = NameSlot::free;
    return;
  }
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

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

std::string random_temp_path(const std::string& directory) {
  std::random_device random;
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/.xxl-%d-%08x%08x.tmp", static_cast<int>(getpid()),
                random(), random());
  return directory + name.data();
}

// The umask can only be read by setting it: for that moment to the strictest useful value.
mode_t current_umask() {
  const mode_t mask = umask(077);
  umask(mask);
  return mask;
}

// Open for no more than being synced.
File open_directory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_io_error(errno, "cannot open this directory, in order to sync it", directory);
  return File(fd, directory, false);
}

void sync_directory(const File& directory) {
  // Some file systems cannot sync directories; they do it by themselves, or not at all.
  if (fsync(directory.fd()) != 0 && errno != EINVAL) {
    throw_io_error(errno, "cannot sync", directory.path());
  }
}

std::string descriptor_path(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

// Gives the unnamed file `fd` a name; returns 0 or an errno value.
int link_unnamed(int fd, const std::string& name) {
  const std::string source = descriptor_path(fd);
  return linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0
                                                                                          : errno;
}

}  // namespace

void remove_named_output_files() {
  for (NameSlot& slot : name_slots) {
    if (slot.state == NameSlot::taken) unlink(slot.name.data());
  }
}

bool OutputFile::is_replaceable(const std::string& path) {
  const std::string target = follow_links(path);
  if (lies_in_proc(target)) return false;
  struct stat status;
  if (stat(target.c_str(), &status) != 0) return true;
  return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);  // the constructor refuses these
}

OutputFile::OutputFile(const std::string& path, bool direct)
    : path_(follow_links(path)), directory_(directory_of(path_)) {
  if (!is_replaceable(path)) throw Error(ErrorCode::io, "is not a regular file", path);
  attributes_ = attributes_for(path_);
  opened_directory_ = open_directory(directory_);
  int fd = open_unnamed();
  if (fd < 0) fd = open_named();
  file_ = File(fd, path_, direct && enable_direct(fd));
}

OutputFile::~OutputFile() {
  if (temp_path_.empty()) return;
  unlink(temp_path_.c_str());
  release_temp_path();
}

OutputFile::Attributes OutputFile::attributes_for(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) throw_io_error(errno, "cannot examine", path);
    return {static_cast<mode_t>(0666 & ~current_umask()), {}, {}};
  }
  if (S_ISDIR(status.st_mode)) throw_io_error(EISDIR, "cannot write", path);
  // Replacing a file needs only a writable directory, but who protected the file meant it.
  if (euidaccess(path.c_str(), W_OK) != 0) throw_io_error(errno, "cannot write", path);
  return {static_cast<mode_t>(status.st_mode & 07777), status.st_uid, status.st_gid};
}

// -1 where there are no unnamed files, or no way to name them later (/proc is not mounted).
int OutputFile::open_unnamed() const {
  const int fd = open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 || access(descriptor_path(fd).c_str(), F_OK) == 0) return fd;
  close(fd);
  return -1;
}

int OutputFile::open_named() {
  for (int attempt = 1;; ++attempt) {
    take_temp_path();
    const int fd = open(temp_path_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    const int error = errno;
    release_temp_path();
    if (error != EEXIST || attempt == kMaxNameAttempts) {
      throw_io_error(error, "cannot create a file in this directory", directory_);
    }
  }
}

void OutputFile::take_temp_path() {
  temp_path_ = random_temp_path(directory_);
  remember_name(temp_path_);  // before it exists, so that no signal finds it unknown
}

void OutputFile::release_temp_path() {
  forget_name(temp_path_);
  temp_path_.clear();
}

void OutputFile::publish(std::uint64_t bytes) {
  const int fd = file_.fd();
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) throw_io_error(errno, "cannot cut", path_);
  apply_attributes();
  if (fsync(fd) != 0) throw_io_error(errno, "cannot sync", path_);
  give_name();
  sync_directory(opened_directory_);
}

void OutputFile::apply_attributes() {
  const int fd = file_.fd();
  mode_t mode = attributes_.mode;
  if (attributes_.owner && fchown(fd, *attributes_.owner, *attributes_.group) != 0) {
    // Only root can give files away. The group may still be one of the user's own; set-id bits must
    // not go to another owner.
    mode &= 0777;
    [[maybe_unused]] const int ignored = fchown(fd, static_cast<uid_t>(-1), *attributes_.group);
  }
  if (fchmod(fd, mode) != 0) throw_io_error(errno, "cannot set the permissions", path_);
}

void OutputFile::give_name() {
  if (temp_path_.empty()) {
    int error = link_unnamed(file_.fd(), path_);
    if (error == 0) return;
    for (int attempt = 0; error == EEXIST && attempt < kMaxNameAttempts; ++attempt) {
      if (!temp_path_.empty()) release_temp_path();
      take_temp_path();
      error = link_unnamed(file_.fd(), temp_path_);
    }
    if (error != 0) {
      release_temp_path();
      throw_io_error(error, "cannot name the output", path_);
    }
  }
  if (rename(temp_path_.c_str(), path_.c_str()) != 0) {
    throw_io_error(errno, "cannot replace", path_);
  }
  release_temp_path();
}

}  // namespace xxl::io
