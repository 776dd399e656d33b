// Files that stand in for those of an array made of memory (bench/README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace xxl::bench {

// A directory for each disk, an input and a name for the output; gone with this object.
class StandIns {
 public:
  // Makes a directory in `where`. Throws Error.
  StandIns(const std::string& where, std::uint64_t disks);
  ~StandIns();
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

  const std::vector<std::string>& scratch() const { return scratch_; }
  std::string input() const { return directory_ + "/in"; }
  std::string output() const { return directory_ + "/out"; }

  // An input of this size without content.
  void make_input(std::uint64_t bytes) const;
  // What is looked at without queues.
  void write_head(std::span<const std::byte> head) const;

 private:
  std::string directory_;
  std::vector<std::string> scratch_;
};

}  // namespace xxl::bench
