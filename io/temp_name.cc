#include "io/temp_name.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <random>
#include <string_view>

#include "base/error.h"
#include "base/fatal_signals.h"
#include "io/name_guard.h"

namespace xxl::io {
namespace {

constexpr std::string_view kPrefix = ".xxl-";
constexpr std::string_view kSuffix = ".tmp";
constexpr time_t kLeftOverSeconds = 24 * 60 * 60;

// Names that signal handlers remove: slots of fixed size, since a handler may not allocate. A slot
// is free, being changed, or holds a name; names beyond the slots are not removed.
struct NameSlot {
  enum : int { free, changing, taken };
  std::atomic<int> state{free};
  int directory = -1;
  std::array<char, 64> name{};
};
std::array<NameSlot, 8> name_slots;
static_assert(std::atomic<int>::is_always_lock_free);

int take_slot(int directory, const std::string& name) {
  for (std::size_t i = 0; i < name_slots.size(); ++i) {
    NameSlot& slot = name_slots[i];
    XXL_CHECK(name.size() < slot.name.size());
    int expected = NameSlot::free;
    if (!slot.state.compare_exchange_strong(expected, NameSlot::changing)) continue;
    slot.directory = directory;
    std::memcpy(slot.name.data(), name.c_str(), name.size() + 1);
    slot.state = NameSlot::taken;
    return static_cast<int>(i);
  }
  return -1;
}

void free_slot(int slot) {
  if (slot >= 0) name_slots[static_cast<std::size_t>(slot)].state = NameSlot::free;
}

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

int remove_directory(int parent, const char* name, bool with_inner);

// A file, or a directory NAME=VALUE if `with_inner`. Returns 0 or an errno value.
int remove_entry(int directory, const char* name, bool with_inner) {
  if (unlinkat(directory, name, 0) == 0) return 0;
  const int error = errno;
  const bool is_inner =
      with_inner && (error == EISDIR || error == EPERM) && std::strchr(name, '=') != nullptr;
  return is_inner ? remove_directory(directory, name, false) : error;
}

// `with_inner`: with the directories NAME=VALUE in it. Returns 0 or an errno value.
// Async-signal-safe, which opendir() is not.
int remove_directory(int parent, const char* name, bool with_inner) {
  const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno;
  fchmod(fd, S_IRWXU);  // its owner may have no right to remove files
  alignas(dirent64) std::array<char, 4096> buffer;
  int error = 0;  // of the files that remain
  // Removing names may hide others from this reader: until a round finds none.
  for (bool removed = true; removed;) {
    removed = false;
    error = 0;
    lseek(fd, 0, SEEK_SET);
    for (;;) {
      const long bytes = syscall(SYS_getdents64, fd, buffer.data(), buffer.size());
      if (bytes <= 0) break;
      for (long at = 0; at < bytes;) {
        const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
        at += entry->d_reclen;
        if (is_dots(entry->d_name)) continue;
        const int failed = remove_entry(fd, entry->d_name, with_inner);
        if (failed == 0) {
          removed = true;
        } else {
          error = failed;
        }
      }
    }
  }
  close(fd);
  if (unlinkat(parent, name, AT_REMOVEDIR) == 0) return 0;
  return error != 0 ? error : errno;
}

// A file, or a directory with files and directories NAME=VALUE in it. Returns 0 or an errno value.
// Async-signal-safe.
int remove_name(int directory, const char* name) {
  if (unlinkat(directory, name, 0) == 0) return 0;
  return errno == EISDIR || errno == EPERM ? remove_directory(directory, name, true) : errno;
}

// True for what random_name() makes, and no other name that begins and ends so.
bool is_temp_name(std::string_view name) {
  constexpr std::size_t kRandomDigits = 16;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  const std::size_t process = name.find_first_not_of("0123456789");
  return process != 0 && process != name.npos && name[process] == '-' &&
         name.size() == process + 1 + kRandomDigits &&
         name.find_first_not_of("0123456789abcdef", process + 1) == name.npos;
}

// True if `fd` is a file of this user that was not written to for a day, that has no other name, or
// such a directory, and whose lock is free: that of a file in use is held. The process number in
// the name says nothing, since it may be from another machine or container.
bool is_left_over(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return false;
  const bool is_ours = S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && status.st_nlink == 1);
  return is_ours && status.st_uid == geteuid() &&
         time(nullptr) - status.st_mtime > kLeftOverSeconds && lock_temp_file(fd);
}

std::string random_name() {
  std::random_device random;
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%s%d-%08x%08x%s", kPrefix.data(),
                static_cast<int>(getpid()), random(), random(), kSuffix.data());
  return name.data();
}

}  // namespace

void remove_left_over(int directory) {
  const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  DIR* const names = fdopendir(fd);
  if (names == nullptr) {
    close(fd);
    return;
  }
  while (const dirent* entry = readdir(names)) {
    if (!is_temp_name(entry->d_name)) continue;
    const int file =
        openat(directory, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    if (is_left_over(file)) remove_name(directory, entry->d_name);
    close(file);
  }
  closedir(names);
}

bool lock_temp_file(int fd) {
  return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

namespace {

std::optional<NameGuard> name_guard;

std::string path_in(int directory, const std::string& name) {
  std::error_code error;
  const auto path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(directory), error);
  return error ? "" : (path / name).string();
}

}  // namespace

void guard_temp_names() {
  name_guard.emplace([](const char* path) { static_cast<void>(remove_name(AT_FDCWD, path)); });
}

TempName::TempName(int directory) : directory_(directory), text_(random_name()) {
  on_fatal_signal(remove_temp_names);
  slot_ = take_slot(directory, text_);  // before the file exists, so that every signal finds it
  if (!name_guard) return;
  path_ = path_in(directory, text_);
  name_guard->add(path_);
}

TempName::~TempName() {
  remove();
}

int TempName::remove() {
  const int error = text_.empty() ? 0 : remove_name(directory_, text_.c_str());
  let_go();
  return error;
}

void TempName::let_go() {
  forget();
  slot_ = -1;
  text_.clear();
}

void TempName::forget() {
  free_slot(slot_);
  if (!path_.empty()) name_guard->drop(path_);
  path_.clear();
}

void remove_temp_names() {
  for (const NameSlot& slot : name_slots) {
    if (slot.state == NameSlot::taken) remove_name(slot.directory, slot.name.data());
  }
}

}  // namespace xxl::io
