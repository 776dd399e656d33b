#include "disks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "real.h"

namespace xxl::machine {
namespace {

constexpr std::int64_t kSectorBytes = 512;
constexpr std::int64_t kBlockBytes = 4096;

bool is_below(const std::string& path, const std::string& directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

long transfer_for_real(bool is_write, int fd, char* data, std::size_t bytes, std::int64_t offset) {
  const long address = reinterpret_cast<long>(data);
  const auto count = static_cast<long>(bytes);
  if (offset < 0) return real_syscall(is_write ? SYS_write : SYS_read, fd, address, count);
  return real_syscall(is_write ? SYS_pwrite64 : SYS_pread64, fd, address, count, offset);
}

struct stat status_of(int fd) {
  struct stat status {};
  real_syscall(SYS_fstat, fd, reinterpret_cast<long>(&status));
  return status;
}

}  // namespace

struct Inode {
  int fd = -1;  // of its own, so that it can be undone
  std::vector<Disks::Undo> undos;
  std::int64_t synced_size = 0;
  bool is_resized = false;
};

bool Disks::is_below_root(const std::string& path) const {
  return !plan_.root.empty() && is_below(path, plan_.root);
}

Role Disks::role_of(const std::string& path) const {
  for (const Plan::Place& place : plan_.places) {
    if (is_below(path, place.path)) return place.role;
  }
  return Role::other;
}

unsigned Disks::disk_of(const std::string& path) const {
  unsigned number = 1;
  for (const Plan::Place& place : plan_.places) {
    ++number;
    // A disk for each scratch directory; the others are on one.
    if (place.role == Role::scratch && is_below(path, place.path)) return number;
  }
  return 1;
}

std::string Disks::path_of(int directory, const char* path) const {
  namespace fs = std::filesystem;
  if (path == nullptr) return {};
  fs::path whole = path;
  if (whole.is_relative()) {
    std::string base(4096, '\0');
    const std::string link =
        directory == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(directory);
    const long bytes =
        real_syscall(SYS_readlink, reinterpret_cast<long>(link.c_str()),
                     reinterpret_cast<long>(base.data()), static_cast<long>(base.size()));
    if (bytes < 0) return {};
    base.resize(static_cast<std::size_t>(bytes));
    whole = fs::path(base) / whole;
  }
  std::string text = whole.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::shared_ptr<Inode> Disks::inode_of(int fd, const std::string& path) {
  const struct stat status = status_of(fd);
  auto& inode = inodes_[{status.st_dev, status.st_ino}];
  if (inode != nullptr) return inode;
  inode = std::make_shared<Inode>();
  inode->synced_size = status.st_size;
  // Scratch is gone after a power cut, and inputs are only read.
  const Role role = role_of(path);
  if (plan_.end == End::power && S_ISREG(status.st_mode) && role != Role::scratch) {
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    inode->fd = static_cast<int>(real_syscall(
        SYS_openat, AT_FDCWD, reinterpret_cast<long>(link.c_str()), O_RDWR | O_CLOEXEC));
  }
  return inode;
}

void Disks::opened(int fd, const std::string& path, bool is_direct) {
  auto file = std::make_shared<OpenFile>();
  file->path = path;
  file->role = role_of(path);
  file->is_directory = S_ISDIR(status_of(fd).st_mode);
  file->is_direct = is_direct;
  file->inode = inode_of(fd, path);
  files_[fd] = std::move(file);
}

void Disks::duplicated(int fd, int copy) {
  const auto found = files_.find(fd);
  if (found != files_.end()) files_[copy] = found->second;
}

void Disks::closed(int fd) {
  files_.erase(fd);
}

OpenFile* Disks::find(int fd) {
  const auto found = files_.find(fd);
  return found == files_.end() ? nullptr : found->second.get();
}

std::int64_t Disks::duration(std::size_t bytes) {
  const std::int64_t usual = plan_.latency + static_cast<std::int64_t>(bytes) / plan_.rate;
  return usual / 2 +
         static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(usual) + 1));
}

bool Disks::is_possible(const Transfer& transfer, const Effect& effect, bool is_direct) {
  if (effect.kind == Effect::cut) {
    return transfer.bytes > static_cast<std::size_t>(is_direct ? kBlockBytes : 1);
  }
  if (effect.kind == Effect::flip) return transfer.bytes > 0;
  const bool of_writes = effect.kind == Effect::lost || effect.kind == Effect::torn ||
                         effect.kind == Effect::elsewhere;
  return !of_writes || (transfer.is_write && transfer.offset >= 0);
}

long Disks::carry_out(const Transfer& transfer, const Effect& effect) {
  if (effect.kind == Effect::error) return -effect.error_number;
  OpenFile* const file = find(transfer.fd);
  const bool is_direct = file != nullptr && file->is_direct;
  if (is_direct && transfer.offset >= 0 &&
      (transfer.offset % kSectorBytes != 0 || transfer.bytes % kSectorBytes != 0 ||
       reinterpret_cast<std::uintptr_t>(transfer.data) % kSectorBytes != 0)) {
    return -EINVAL;
  }

  std::size_t bytes = transfer.bytes;
  if (effect.kind == Effect::cut) {
    const std::size_t unit = is_direct ? kBlockBytes : 1;
    bytes = std::max<std::size_t>(random_.below(bytes / unit), 1) * unit;
  }
  if (!transfer.is_write) {
    const long result =
        transfer_for_real(false, transfer.fd, transfer.data, bytes, transfer.offset);
    if (effect.kind == Effect::flip && result > 0) {
      const std::uint64_t bit = random_.below(static_cast<std::uint64_t>(result) * 8);
      transfer.data[bit / 8] = static_cast<char>(transfer.data[bit / 8] ^ (1 << (bit % 8)));
    }
    return result;
  }

  std::string changed;
  char* data = transfer.data;
  std::int64_t offset = transfer.offset;
  std::size_t arriving = bytes;
  if (effect.kind == Effect::flip) {
    changed.assign(data, bytes);
    const std::uint64_t bit = random_.below(bytes * 8);
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    data = changed.data();
  }
  if (effect.kind == Effect::lost) arriving = 0;
  if (effect.kind == Effect::torn) {
    const std::size_t sectors = bytes / static_cast<std::size_t>(kSectorBytes);
    arriving = random_.below(sectors) * static_cast<std::size_t>(kSectorBytes);
  }
  const std::int64_t size = status_of(transfer.fd).st_size;
  if (effect.kind == Effect::elsewhere) {
    const auto blocks = static_cast<std::uint64_t>(size / kBlockBytes);
    offset = static_cast<std::int64_t>(random_.below(blocks)) * kBlockBytes;
  }
  if (file != nullptr) {
    remember(*file->inode, offset < 0 ? size : offset, arriving);
    const auto end = transfer.offset + static_cast<std::int64_t>(bytes);
    if (arriving < bytes && end > size) real_syscall(SYS_ftruncate, transfer.fd, end);
  }
  if (arriving == 0) return static_cast<long>(bytes);
  const long result = transfer_for_real(true, transfer.fd, data, arriving, offset);
  if (result < 0) return result;
  return static_cast<std::size_t>(result) == arriving ? static_cast<long>(bytes) : result;
}

void Disks::remember(Inode& inode, std::int64_t offset, std::size_t bytes) {
  if (inode.fd < 0 || bytes == 0) return;
  Undo undo{offset, std::string(bytes, '\0'), bytes};
  const long before = transfer_for_real(false, inode.fd, undo.before.data(), bytes, offset);
  undo.before.resize(static_cast<std::size_t>(std::max(before, 0L)));
  inode.undos.push_back(std::move(undo));
}

void Disks::resizes(int fd) {
  if (OpenFile* const file = find(fd)) file->inode->is_resized = true;
}

void Disks::synced(int fd) {
  OpenFile* const file = find(fd);
  if (file == nullptr) return;
  if (file->is_directory) {
    std::erase_if(changes_, [&](const NameChange& change) {
      return std::filesystem::path(change.path).parent_path().string() == file->path;
    });
    return;
  }
  file->inode->undos.clear();
  file->inode->is_resized = false;
  file->inode->synced_size = status_of(fd).st_size;
}

std::string Disks::keep(const std::string& path) {
  if (plan_.end != End::power) return {};
  const std::string place = plan_.root + ".kept";
  real_syscall(SYS_mkdir, reinterpret_cast<long>(place.c_str()), 0700);
  std::string kept = place + "/" + std::to_string(++kept_);
  real_syscall(SYS_unlink, reinterpret_cast<long>(kept.c_str()));  // of an earlier run
  const long result = real_syscall(SYS_linkat, AT_FDCWD, reinterpret_cast<long>(path.c_str()),
                                   AT_FDCWD, reinterpret_cast<long>(kept.c_str()), 0);
  return result == 0 ? kept : std::string();
}

void Disks::changed(NameChange change) {
  if (plan_.end == End::power) changes_.push_back(std::move(change));
}

void Disks::cut_power() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  // Of each directory, the last ones: a file system writes changes of names in their order.
  std::map<std::string, std::size_t> left;
  for (const NameChange& change : changes_) ++left[fs::path(change.path).parent_path().string()];
  for (auto& [directory, count] : left) count = random_.below(count + 1);
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    auto& undone = left[fs::path(change->path).parent_path().string()];
    if (undone == 0) continue;
    --undone;
    switch (change->kind) {
      case NameChange::made:
        fs::remove(change->path, ignored);
        break;
      case NameChange::made_directory:
        fs::remove_all(change->path, ignored);
        break;
      case NameChange::removed_directory:
        fs::create_directory(change->path, ignored);
        break;
      case NameChange::renamed:
        fs::rename(change->path, change->from, ignored);
        break;
      case NameChange::exchanged:
        real_syscall(SYS_renameat2, AT_FDCWD, reinterpret_cast<long>(change->path.c_str()),
                     AT_FDCWD, reinterpret_cast<long>(change->from.c_str()), 2 /* EXCHANGE */);
        break;
      case NameChange::removed:
        break;
    }
    if (!change->kept.empty()) fs::rename(change->kept, change->path, ignored);
  }
  for (auto& [key, inode] : inodes_) {
    if (inode->fd >= 0) cut_power(*inode);
  }
}

// Each sector that was written since the last sync has what was written, or what was before.
void Disks::cut_power(Inode& inode) {
  std::map<std::int64_t, bool> is_kept;  // by sector: the newest write decides first
  for (auto undo = inode.undos.rbegin(); undo != inode.undos.rend(); ++undo) {
    const auto end = undo->offset + static_cast<std::int64_t>(undo->bytes);
    for (std::int64_t at = undo->offset; at < end;) {
      const std::int64_t sector = at / kSectorBytes;
      const std::int64_t next = std::min(end, (sector + 1) * kSectorBytes);
      const auto [decided, is_new] = is_kept.try_emplace(sector, random_.below(2) == 0);
      if (!decided->second) {
        std::string before(static_cast<std::size_t>(next - at), '\0');
        const auto from = static_cast<std::size_t>(at - undo->offset);
        if (from < undo->before.size()) {
          const std::string part = undo->before.substr(from, before.size());
          before.replace(0, part.size(), part);
        }
        transfer_for_real(true, inode.fd, before.data(), before.size(), at);
        decided->second = random_.below(2) == 0;  // what an older write did may be kept
      }
      at = next;
    }
  }
  const std::int64_t size = status_of(inode.fd).st_size;
  if (size == inode.synced_size || (!inode.is_resized && inode.undos.empty())) return;
  if (random_.below(2) == 0) return;
  const auto least = std::min(size, inode.synced_size);
  const auto range = static_cast<std::uint64_t>(std::max(size, inode.synced_size) - least);
  real_syscall(SYS_ftruncate, inode.fd,
               least + static_cast<std::int64_t>(random_.below(range + 1)));
}

}  // namespace xxl::machine
