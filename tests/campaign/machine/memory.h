// Memory of the program: how much it has, and whether it gets more.
#pragma once

#include <cstdint>
#include <map>

namespace xxl::machine {

class Memory {
 public:
  explicit Memory(std::uint64_t limit) : limit_(limit) {}

  bool has_room(std::uint64_t bytes) const { return bytes <= limit_ && used_ <= limit_ - bytes; }
  void took(std::uint64_t bytes) {
    used_ += bytes;
    if (used_ > most_) most_ = used_;
  }
  void gave_back(std::uint64_t bytes) { used_ -= bytes < used_ ? bytes : used_; }

  // Maps are given back in pieces.
  void mapped(std::uint64_t address, std::uint64_t bytes);
  void unmapped(std::uint64_t address, std::uint64_t bytes);

  std::uint64_t most() const { return most_; }

 private:
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t most_ = 0;
  std::map<std::uint64_t, std::uint64_t> maps_;  // address: bytes
};

}  // namespace xxl::machine
