// A part of a key that is made piece by piece: never more of a long key is in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace xxl {

// Of key[from, end).
inline void invert_bits(std::string& key, std::size_t from) {
  for (std::size_t i = from; i < key.size(); ++i) key[i] = static_cast<char>(~key[i]);
}

// Of all that is appended to `key` from now on, bytes [from, from + limit) are wanted.
class KeyStretch {
 public:
  KeyStretch(std::string& key, std::size_t from, std::size_t limit)
      : key_(key), start_(key.size()), taken_(key.size()), skip_(from), limit_(limit) {}

  std::string& key() { return key_; }
  // Pieces taken from now on have their bits inverted, or not.
  void set_inverted(bool inverted) { inverted_ = inverted; }
  // To be called when a piece has been appended: drops what lies before the stretch. False when
  // nothing more is wanted.
  bool take() {
    if (inverted_) invert_bits(key_, taken_);
    if (skip_ > 0) {
      const std::size_t dropped = std::min(skip_, key_.size() - start_);
      key_.erase(start_, dropped);
      skip_ -= dropped;
    }
    taken_ = key_.size();
    return wants_more();
  }
  bool wants_more() const { return skip_ > 0 || key_.size() - start_ < limit_; }
  // How many further bytes are needed.
  std::size_t left() const {
    const std::size_t room = limit_ - std::min(limit_, key_.size() - start_);
    return room > ~skip_ ? ~std::size_t{0} : skip_ + room;
  }
  // The beginning of `text` for the next piece.
  template <class Text>
  Text piece_of(Text text) const {
    return text.substr(0, std::min(left(), kPieceBytes));
  }

  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

 private:
  std::string& key_;
  std::size_t start_;
  std::size_t taken_;  // the end of what has been taken
  std::size_t skip_;   // bytes to be dropped
  std::size_t limit_;
  bool inverted_ = false;
};

}  // namespace xxl
