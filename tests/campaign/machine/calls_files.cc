// What the program calls for files, instead of the C library's.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "machine.h"
#include "real.h"
#include "waits.h"

namespace {

using namespace xxl::machine;

constexpr unsigned kDiskMajor = 259;

struct Event {
  std::uint64_t count = 0;
  bool one_at_a_time = false;
};
std::map<int, Event>& events() {
  static std::map<int, Event> all;
  return all;
}

bool is_pipe(const Machine& m, int fd) {
  return (fd == 0 && m.plan.input_is_pipe) || (fd == 1 && m.plan.output_is_pipe);
}

// -1 with errno set, as the effect says; 0 if it does not.
int refused(const Effect& effect) {
  if (effect.kind != Effect::error) return 0;
  errno = effect.error_number;
  return -1;
}

void stall(Machine& m, const Effect& effect) {
  if (const Time delay = m.delay(effect); delay > 0)
    m.scheduler.sleep_until(m.scheduler.now() + delay);
}

// --- transfers ---

long transfer(Machine& m, const Transfer& transfer) {
  const Inside inside;
  OpenFile* const file = m.disks.find(transfer.fd);
  if (file == nullptr && !is_pipe(m, transfer.fd)) {
    return real_syscall(transfer.is_write ? (transfer.offset < 0 ? SYS_write : SYS_pwrite64)
                                          : (transfer.offset < 0 ? SYS_read : SYS_pread64),
                        transfer.fd, address(transfer.data), static_cast<long>(transfer.bytes),
                        transfer.offset);
  }
  m.scheduler.step(Call::transfer, transfer.bytes * 2 + (transfer.is_write ? 1 : 0));
  Role role = file != nullptr ? file->role : transfer.fd == 0 ? Role::input : Role::output;
  Effect effect = m.transfer_effect(role, transfer, file != nullptr && file->is_direct);
  stall(m, effect);
  m.scheduler.sleep_until(m.scheduler.now() + m.disks.duration(transfer.bytes));
  Transfer now = transfer;
  if (is_pipe(m, transfer.fd) && transfer.bytes > 1) {
    now.bytes = 1 + m.random.below(std::min<std::size_t>(transfer.bytes, 65536));
  }
  return m.disks.carry_out(now, effect);
}

ssize_t transfer_here(bool is_write, int fd, const void* data, std::size_t bytes,
                      std::int64_t offset) {
  const Transfer wanted{is_write, fd, offset, const_cast<char*>(static_cast<const char*>(data)),
                        bytes};
  if (Machine* const m = machine()) return with_errno(transfer(*m, wanted));
  const long number =
      is_write ? (offset < 0 ? SYS_write : SYS_pwrite64) : (offset < 0 ? SYS_read : SYS_pread64);
  return with_errno(real_syscall(number, fd, address(data), static_cast<long>(bytes), offset));
}

// --- opening ---

int open_here(int directory, const char* path, int flags, mode_t mode) {
  Machine* const m = machine();
  if (m == nullptr) {
    return static_cast<int>(
        with_errno(real_syscall(SYS_openat, directory, address(path), flags, mode)));
  }
  const Inside inside;
  std::string whole = m->disks.path_of(directory, path);
  // A file that is open already, by its number.
  constexpr std::string_view kOpenFiles = "/proc/self/fd/";
  if (whole.starts_with(kOpenFiles)) {
    const OpenFile* const file = m->disks.find(std::atoi(whole.c_str() + kOpenFiles.size()));
    if (file != nullptr) whole = file->path;
  }
  const bool is_ours = m->disks.is_below_root(whole);
  if (is_ours) {
    m->scheduler.step(Call::open);
    const Effect effect = m->effect(m->disks.role_of(whole), Operation::open);
    stall(*m, effect);
    if (refused(effect) != 0) return -1;
  }
  const bool is_direct = is_ours && (flags & O_DIRECT) != 0;
  const bool is_new = is_ours && (flags & O_CREAT) != 0 && access(whole.c_str(), F_OK) != 0;
  const long fd = real_syscall(SYS_openat, directory, address(path),
                               is_direct ? flags & ~O_DIRECT : flags, mode);
  if (fd < 0) return static_cast<int>(with_errno(fd));
  if (is_ours) {
    m->disks.opened(static_cast<int>(fd), whole, is_direct);
    if (is_new) m->disks.changed({Disks::NameChange::made, whole, {}, {}});
  }
  return static_cast<int>(fd);
}

void close_here(int fd) {
  events().erase(fd);
  if (Machine* const m = machine()) {
    const Inside inside;
    m->scheduler.step(Call::close);
    m->disks.closed(fd);
  }
}

int sync_here(int fd, long number) {
  if (Machine* const m = machine()) {
    const Inside inside;
    if (OpenFile* const file = m->disks.find(fd)) {
      m->scheduler.step(Call::sync);
      const Effect effect = m->effect(file->role, Operation::sync);
      stall(*m, effect);
      m->scheduler.sleep_until(m->scheduler.now() + 10 * m->disks.duration(0));
      if (refused(effect) != 0) return -1;
      if (effect.kind != Effect::lost) m->disks.synced(fd);
      return 0;
    }
  }
  return static_cast<int>(with_errno(real_syscall(number, fd)));
}

// Before a change of the file's size: -1 with errno set if it is refused.
int may_resize(int fd, Operation operation) {
  Machine* const m = machine();
  if (m == nullptr) return 0;
  const Inside inside;
  const OpenFile* const file = m->disks.find(fd);
  if (file == nullptr) return 0;
  m->scheduler.step(Call::allocate);
  const Effect effect = m->effect(file->role, operation);
  stall(*m, effect);
  if (refused(effect) != 0) return -1;
  m->disks.resizes(fd);
  return 0;
}

// --- names ---

// A change of names: `carry_out` does it, `change` says what it was.
template <class CarryOut>
int change_name(int directory, const char* path, Disks::NameChange change, CarryOut carry_out) {
  Machine* const m = machine();
  if (m == nullptr) return static_cast<int>(with_errno(carry_out()));
  const Inside inside;
  change.path = m->disks.path_of(directory, path);
  if (!m->disks.is_below_root(change.path)) return static_cast<int>(with_errno(carry_out()));
  m->scheduler.step(Call::name, static_cast<std::uint64_t>(change.kind));
  const Effect effect = m->effect(m->disks.role_of(change.path), Operation::name);
  stall(*m, effect);
  if (refused(effect) != 0) return -1;
  using Kind = Disks::NameChange;
  if (change.kind == Kind::renamed || change.kind == Kind::removed) {
    change.kept = m->disks.keep(change.path);
  }
  const long result = carry_out();
  if (result == 0) m->disks.changed(std::move(change));
  return static_cast<int>(with_errno(result));
}

int rename_here(int from_directory, const char* from, int directory, const char* to,
                unsigned flags) {
  Disks::NameChange change;
  change.kind =
      (flags & RENAME_EXCHANGE) != 0 ? Disks::NameChange::exchanged : Disks::NameChange::renamed;
  if (Machine* const m = machine()) {
    const Inside inside;
    change.from = m->disks.path_of(from_directory, from);
  }
  return change_name(directory, to, std::move(change), [&] {
    return real_syscall(SYS_renameat2, from_directory, address(from), directory, address(to),
                        flags);
  });
}

int unlink_here(int directory, const char* path, int flags) {
  Disks::NameChange change;
  change.kind = (flags & AT_REMOVEDIR) != 0 ? Disks::NameChange::removed_directory
                                            : Disks::NameChange::removed;
  return change_name(directory, path, std::move(change),
                     [&] { return real_syscall(SYS_unlinkat, directory, address(path), flags); });
}

int make_directory(int directory, const char* path, mode_t mode) {
  Disks::NameChange change;
  change.kind = Disks::NameChange::made_directory;
  return change_name(directory, path, std::move(change),
                     [&] { return real_syscall(SYS_mkdirat, directory, address(path), mode); });
}

// --- what is known of files ---

// As if files below the root were on disks.
void put_on_disk(struct stat& status, unsigned disk) {
  status.st_dev = makedev(kDiskMajor, disk);
}

int stat_here(int directory, const char* path, struct stat* status, int flags) {
  const long result =
      real_syscall(SYS_newfstatat, directory, address(path), address(status), flags);
  Machine* const m = machine();
  if (result != 0 || m == nullptr) return static_cast<int>(with_errno(result));
  const Inside inside;
  if (*path == '\0') {
    if (const OpenFile* const file = m->disks.find(directory)) {
      put_on_disk(*status, m->disks.disk_of(file->path));
    } else if (is_pipe(*m, directory)) {
      status->st_mode = (status->st_mode & ~static_cast<mode_t>(S_IFMT)) | S_IFIFO;
      status->st_size = 0;
    }
    return 0;
  }
  const std::string whole = m->disks.path_of(directory, path);
  if (m->disks.is_below_root(whole)) put_on_disk(*status, m->disks.disk_of(whole));
  return 0;
}

int statx_here(int directory, const char* path, int flags, unsigned mask, struct statx* status) {
  const long result =
      real_syscall(SYS_statx, directory, address(path), flags, mask, address(status));
  struct stat as_disk {};
  if (result == 0 && machine() != nullptr &&
      stat_here(directory, path, &as_disk, flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) == 0) {
    status->stx_dev_major = major(as_disk.st_dev);
    status->stx_dev_minor = minor(as_disk.st_dev);
  }
  return static_cast<int>(with_errno(result));
}

}  // namespace

namespace xxl::machine {

const void* readiness() {
  static const char place = 0;
  return &place;
}

bool is_of_machine(Machine& m, int fd) {
  return events().contains(fd) || m.disks.find(fd) != nullptr || is_pipe(m, fd);
}

short ready_now(Machine& m, int fd, short wanted) {
  const auto event = events().find(fd);
  if (event != events().end()) {
    const int ready = POLLOUT | (event->second.count > 0 ? POLLIN : 0);
    return static_cast<short>(ready & wanted);
  }
  if (is_of_machine(m, fd)) return static_cast<short>(wanted & (POLLIN | POLLOUT));
  pollfd one{fd, wanted, 0};
  return real_syscall(SYS_poll, address(&one), 1, 0) > 0 ? one.revents : short{0};
}

}  // namespace xxl::machine

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return open_here(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return open_here(directory, path, flags, mode);
}

int close(int fd) {
  close_here(fd);
  return static_cast<int>(with_errno(real_syscall(SYS_close, fd)));
}

// Closes its descriptor within the C library.
int closedir(DIR* directory) {
  close_here(dirfd(directory));
  return next_function<int(DIR*)>("closedir")(directory);
}

int dup2(int fd, int copy) noexcept {
  const long result = real_syscall(SYS_dup2, fd, copy);
  Machine* const m = machine();
  if (result >= 0 && m != nullptr) {
    const Inside inside;
    m->disks.closed(copy);
    m->disks.duplicated(fd, copy);
  }
  return static_cast<int>(with_errno(result));
}

int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  const long argument = va_arg(list, long);
  va_end(list);
  Machine* const m = machine();
  OpenFile* const file = m == nullptr ? nullptr : m->disks.find(fd);
  if (file != nullptr && command == F_SETFL) {
    file->is_direct = (argument & O_DIRECT) != 0;
    return static_cast<int>(with_errno(real_syscall(SYS_fcntl, fd, command, argument & ~O_DIRECT)));
  }
  const long result = real_syscall(SYS_fcntl, fd, command, argument);
  if (result < 0 || file == nullptr) return static_cast<int>(with_errno(result));
  if (command == F_GETFL && file->is_direct) return static_cast<int>(result) | O_DIRECT;
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
    const Inside inside;
    m->disks.duplicated(fd, static_cast<int>(result));
  }
  return static_cast<int>(result);
}

ssize_t pread(int fd, void* data, std::size_t bytes, off_t offset) {
  return transfer_here(false, fd, data, bytes, offset);
}
ssize_t pwrite(int fd, const void* data, std::size_t bytes, off_t offset) {
  return transfer_here(true, fd, data, bytes, offset);
}
ssize_t read(int fd, void* data, std::size_t bytes) {
  std::uint64_t count = 0;
  if (bytes != sizeof count || !events().contains(fd)) {
    return transfer_here(false, fd, data, bytes, -1);
  }
  if (eventfd_read(fd, &count) != 0) return -1;
  std::memcpy(data, &count, sizeof count);
  return sizeof count;
}
ssize_t write(int fd, const void* data, std::size_t bytes) {
  std::uint64_t count = 0;
  if (bytes != sizeof count || !events().contains(fd)) {
    return transfer_here(true, fd, data, bytes, -1);
  }
  std::memcpy(&count, data, sizeof count);
  eventfd_write(fd, count);
  return sizeof count;
}

off_t lseek(int fd, off_t offset, int whence) noexcept {
  const Machine* const m = machine();
  if (m != nullptr && is_pipe(*m, fd)) {
    errno = ESPIPE;
    return -1;
  }
  return with_errno(real_syscall(SYS_lseek, fd, offset, whence));
}

int fsync(int fd) {
  return sync_here(fd, SYS_fsync);
}
int fdatasync(int fd) {
  return sync_here(fd, SYS_fdatasync);
}
int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags) {
  Machine* const m = machine();
  if (m != nullptr && m->disks.find(fd) != nullptr) return 0;
  return static_cast<int>(with_errno(real_syscall(SYS_sync_file_range, fd, offset, bytes, flags)));
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  if (may_resize(fd, Operation::allocate) != 0) return -1;
  return static_cast<int>(with_errno(real_syscall(SYS_fallocate, fd, mode, offset, bytes)));
}

int ftruncate(int fd, off_t bytes) noexcept {
  if (may_resize(fd, Operation::truncate) != 0) return -1;
  return static_cast<int>(with_errno(real_syscall(SYS_ftruncate, fd, bytes)));
}

int linkat(int from_directory, const char* from, int directory, const char* to,
           int flags) noexcept {
  return change_name(directory, to, {}, [&] {
    return real_syscall(SYS_linkat, from_directory, address(from), directory, address(to), flags);
  });
}
int renameat(int from_directory, const char* from, int directory, const char* to) noexcept {
  return rename_here(from_directory, from, directory, to, 0);
}
int renameat2(int from_directory, const char* from, int directory, const char* to,
              unsigned flags) noexcept {
  return rename_here(from_directory, from, directory, to, flags);
}
int rename(const char* from, const char* to) noexcept {
  return rename_here(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  return unlink_here(directory, path, flags);
}
int unlink(const char* path) noexcept {
  return unlink_here(AT_FDCWD, path, 0);
}
int rmdir(const char* path) noexcept {
  return unlink_here(AT_FDCWD, path, AT_REMOVEDIR);
}
int remove(const char* path) noexcept {
  const int result = unlink(path);
  return result != 0 && errno == EISDIR ? rmdir(path) : result;
}
int mkdir(const char* path, mode_t mode) noexcept {
  return make_directory(AT_FDCWD, path, mode);
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  return make_directory(directory, path, mode);
}
int mkostemp(char* path, int flags) {
  const std::size_t end = std::strlen(path);
  if (end < 6 || std::strcmp(path + end - 6, "XXXXXX") != 0) {
    errno = EINVAL;
    return -1;
  }
  for (;;) {
    std::uint64_t bits = 0;
    getentropy(&bits, sizeof bits);
    for (std::size_t i = end - 6; i < end; ++i, bits /= 26) {
      path[i] = static_cast<char>('a' + bits % 26);
    }
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
}

int fstat(int fd, struct stat* status) noexcept {
  return stat_here(fd, "", status, AT_EMPTY_PATH);
}
int stat(const char* path, struct stat* status) noexcept {
  return stat_here(AT_FDCWD, path, status, 0);
}
int lstat(const char* path, struct stat* status) noexcept {
  return stat_here(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int fstatat(int directory, const char* path, struct stat* status, int flags) noexcept {
  return stat_here(directory, path, status, flags);
}
int statx(int directory, const char* path, int flags, unsigned mask,
          struct statx* status) noexcept {
  return statx_here(directory, path, flags, mask, status);
}

// --- events ---

int eventfd(unsigned count, int flags) noexcept {
  Machine* const m = machine();
  if (m == nullptr) return static_cast<int>(with_errno(real_syscall(SYS_eventfd2, count, flags)));
  const Inside inside;
  const long fd = real_syscall(SYS_openat, AT_FDCWD, address("/dev/null"), O_RDWR | O_CLOEXEC);
  if (fd >= 0) events()[static_cast<int>(fd)] = {count, (flags & EFD_SEMAPHORE) != 0};
  return static_cast<int>(with_errno(fd));
}

int eventfd_write(int fd, eventfd_t count) {
  Machine* const m = machine();
  const auto event = events().find(fd);
  if (m == nullptr || event == events().end()) {
    return real_syscall(SYS_write, fd, address(&count), sizeof count) == sizeof count ? 0 : -1;
  }
  const Inside inside;
  event->second.count += count;
  m->scheduler.wake(readiness());
  m->scheduler.step(Call::signal);
  return 0;
}

int eventfd_read(int fd, eventfd_t* count) {
  Machine* const m = machine();
  if (m == nullptr || !events().contains(fd)) {
    return real_syscall(SYS_read, fd, address(count), sizeof *count) == sizeof *count ? 0 : -1;
  }
  const Inside inside;
  m->scheduler.step(Call::wait);
  while (events()[fd].count == 0) m->scheduler.wait(readiness());
  Event& event = events()[fd];
  *count = event.one_at_a_time ? 1 : event.count;
  event.count -= *count;
  return 0;
}

int poll(pollfd* files, nfds_t count, int timeout) {
  Machine* const m = machine();
  if (m == nullptr) {
    return static_cast<int>(
        with_errno(real_syscall(SYS_poll, address(files), static_cast<long>(count), timeout)));
  }
  const Inside inside;
  m->scheduler.step(Call::poll);
  const Time deadline = timeout < 0 ? kForever : m->scheduler.now() + Time{timeout} * 1000;
  for (;;) {
    int ready = 0;
    bool is_outside = false;
    for (nfds_t i = 0; i < count; ++i) {
      files[i].revents = 0;
      if (files[i].fd < 0) continue;
      files[i].revents = ready_now(*m, files[i].fd, files[i].events);
      ready += files[i].revents != 0 ? 1 : 0;
      is_outside = is_outside || !is_of_machine(*m, files[i].fd);
    }
    if (ready > 0 || m->scheduler.now() >= deadline) return ready;
    if (is_outside) {
      m->scheduler.wait(m->scheduler.outside(), deadline);
      real_syscall(SYS_poll, address(files), static_cast<long>(count), 1);
    } else {
      m->scheduler.wait(readiness(), deadline);
    }
  }
}

}  // extern "C"
