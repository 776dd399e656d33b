#include "io/file_attributes.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xxl::io {
namespace {

constexpr std::string_view kAccessList = "system.posix_acl_access";

// They certify the content: writing removes or renews them.
constexpr std::array<std::string_view, 3> kOfContent = {"security.capability", "security.ima",
                                                        "security.evm"};

// Calls `get(buffer, size)`, which returns the size that it would need, until it has room.
template <class Get>
std::optional<std::string> get_sized(const Get& get) {
  for (std::string value;;) {
    const ssize_t wanted = get(nullptr, 0);
    if (wanted < 0) return {};
    value.resize(static_cast<std::size_t>(wanted));
    const ssize_t bytes = get(value.data(), value.size());
    if (bytes < 0 && errno == ERANGE) continue;  // it grew meanwhile
    if (bytes < 0) return {};
    value.resize(static_cast<std::size_t>(bytes));
    return value;
  }
}

// Empty for file systems without extended attributes.
std::vector<std::string> attribute_names(int fd) {
  const auto list =
      get_sized([&](char* data, std::size_t size) { return flistxattr(fd, data, size); });
  std::vector<std::string> names;
  for (std::size_t at = 0; list && at < list->size(); at += names.back().size() + 1) {
    names.emplace_back(list->c_str() + at);
  }
  return names;
}

std::optional<std::string> attribute(int fd, const std::string& name) {
  return get_sized(
      [&](char* data, std::size_t size) { return fgetxattr(fd, name.c_str(), data, size); });
}

bool copy_extended(int from, int to) {
  const std::vector<std::string> names = attribute_names(from);
  for (const std::string& name : names) {
    if (std::ranges::find(kOfContent, name) != kOfContent.end()) continue;
    const auto value = attribute(from, name);
    if (!value) return false;
    if (attribute(to, name) == value) continue;
    if (fsetxattr(to, name.c_str(), value->data(), value->size(), 0) != 0) return false;
  }
  // A new file may have got an access control list from its directory.
  for (const std::string& name : attribute_names(to)) {
    if (name != kAccessList || std::ranges::find(names, name) != names.end()) continue;
    if (fremovexattr(to, name.c_str()) != 0) return false;
  }
  return true;
}

// Append only, synced, project and the like.
bool copy_flags(int from, int to) {
  fsxattr wanted{}, present{};
  // File systems without them say so in various ways.
  if (ioctl(from, FS_IOC_FSGETXATTR, &wanted) != 0) return true;
  if (ioctl(to, FS_IOC_FSGETXATTR, &present) != 0) return false;
  const bool same =
      wanted.fsx_xflags == present.fsx_xflags && wanted.fsx_projid == present.fsx_projid &&
      wanted.fsx_extsize == present.fsx_extsize && wanted.fsx_cowextsize == present.fsx_cowextsize;
  return same || ioctl(to, FS_IOC_FSSETXATTR, &wanted) == 0;
}

}  // namespace

bool copy_attributes(int from, int to) {
  struct stat wanted, status;
  if (fstat(from, &wanted) != 0 || fstat(to, &status) != 0) return false;
  if ((wanted.st_uid != status.st_uid || wanted.st_gid != status.st_gid) &&
      fchown(to, wanted.st_uid, wanted.st_gid) != 0) {
    return false;
  }
  // The list before the mode: the middle bits of the mode are the list's mask, and without the list
  // would be rights of the group.
  if (!copy_extended(from, to) || fstat(to, &status) != 0) return false;
  const mode_t mode = wanted.st_mode & 07777;
  if (mode != (status.st_mode & 07777) && fchmod(to, mode) != 0) return false;
  return copy_flags(from, to);
}

}  // namespace xxl::io
