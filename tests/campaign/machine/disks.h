// Files below the root: on disks whose transfers take time and may fail, and what a power cut
// leaves of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "plan.h"

namespace xxl::machine {

struct Inode;

// An open file below the root, which several descriptors may have.
struct OpenFile {
  std::shared_ptr<Inode> inode;
  Role role = Role::other;
  std::string path;  // of a directory, for what is opened in it
  bool is_directory = false;
  bool is_direct = false;
};

struct Transfer {
  bool is_write = false;
  int fd = -1;
  std::int64_t offset = 0;  // negative: where the file is
  char* data = nullptr;
  std::size_t bytes = 0;
};

class Disks {
 public:
  Disks(const Plan& plan, Random& random) : plan_(plan), random_(random) {}

  bool is_below_root(const std::string& path) const;
  Role role_of(const std::string& path) const;
  // Which disk a file of that path is on, from 1.
  unsigned disk_of(const std::string& path) const;
  // The absolute path that the program means, if that can be told.
  std::string path_of(int directory, const char* path) const;

  void opened(int fd, const std::string& path, bool is_direct);
  void duplicated(int fd, int copy);
  void closed(int fd);
  OpenFile* find(int fd);
  std::size_t open_files() const { return files_.size(); }

  // Microseconds that a transfer takes.
  std::int64_t duration(std::size_t bytes);
  // Carries it out with that effect: bytes, or minus an errno value.
  long carry_out(const Transfer& transfer, const Effect& effect);
  // The effect cannot be had with a transfer like that.
  static bool is_possible(const Transfer& transfer, const Effect& effect, bool is_direct);

  // Before a change of the size.
  void resizes(int fd);
  void synced(int fd);

  // Names. Before one is replaced or removed: keeps the file, so that it can come back.
  struct NameChange {
    enum Kind { made, renamed, exchanged, removed, made_directory, removed_directory };
    Kind kind = made;
    std::string path;
    std::string from;  // renamed
    std::string kept;  // what had the name before; empty: nothing
  };
  std::string keep(const std::string& path);
  void changed(NameChange change);

  // Undoes a part of what was not synced.
  void cut_power();

 private:
  struct Undo {
    std::int64_t offset = 0;
    std::string before;  // shorter than the write where the file ended
    std::size_t bytes = 0;
  };
  friend struct Inode;

  std::shared_ptr<Inode> inode_of(int fd, const std::string& path);
  void remember(Inode& inode, std::int64_t offset, std::size_t bytes);
  void cut_power(Inode& inode);

  const Plan& plan_;
  Random& random_;
  std::map<int, std::shared_ptr<OpenFile>> files_;
  std::map<std::pair<dev_t, ino_t>, std::shared_ptr<Inode>> inodes_;
  std::vector<NameChange> changes_;
  unsigned kept_ = 0;
};

}  // namespace xxl::machine
