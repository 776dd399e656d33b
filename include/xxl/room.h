// Memory to fill piece by piece with the bytes of records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace xxl::detail {

// The consumer provides the memory, piece by piece: `next` below, called when the piece before is
// full. If it throws, the next call asks again.
class Room {
 public:
  Room() = default;
  Room(Room&& other) noexcept { take(other); }
  Room& operator=(Room&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }

  // Bytes that put() accepts.
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  void put(const void* bytes, std::size_t count) {
    std::memcpy(at_, bytes, count);
    at_ += count;
  }
  template <class Next>
  void renew(Next&& next) {
    filled_ = filled();
    begin_ = at_ = end_ = nullptr;
    const std::span<std::byte> piece = next();
    begin_ = at_ = piece.data();
    end_ = at_ + piece.size();
  }
  // Any number of bytes.
  template <class Next>
  void put_all(const void* bytes, std::size_t count, Next&& next) {
    const auto* from = static_cast<const std::byte*>(bytes);
    while (count > 0) {
      if (at_ == end_) renew(next);
      const std::size_t some = count < left() ? count : left();
      put(from, some);
      from += some;
      count -= some;
    }
  }
  // Number of bytes put so far.
  std::uint64_t filled() const { return filled_ + static_cast<std::size_t>(at_ - begin_); }
  // Releases the last piece, and returns how much of it is filled.
  std::size_t close() {
    const auto bytes = static_cast<std::size_t>(at_ - begin_);
    filled_ = filled();
    begin_ = at_ = end_ = nullptr;
    return bytes;
  }

 private:
  void take(Room& other) {
    begin_ = std::exchange(other.begin_, nullptr);
    at_ = std::exchange(other.at_, nullptr);
    end_ = std::exchange(other.end_, nullptr);
    filled_ = std::exchange(other.filled_, 0);
  }

  std::byte* begin_ = nullptr;
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  std::uint64_t filled_ = 0;  // bytes before begin_
};

}  // namespace xxl::detail
