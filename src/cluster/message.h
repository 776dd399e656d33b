// Messages between ranks: values one after the other, as they lie in memory. All machines have the
// same byte order and the same program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "cluster/peers.h"

namespace xxl {

class MessageWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { put_bytes(std::as_bytes(std::span(&value, 1))); }
  void put_bytes(std::span<const std::byte> bytes) {
    message_.insert(message_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) {
    put(text.size());
    put_bytes(std::as_bytes(std::span(text)));
  }
  // Read by get_all().
  template <class T>
  void put_all(const std::vector<T>& values) {
    put(values.size());
    put_bytes(std::as_bytes(std::span(values)));
  }
  Message take() { return std::move(message_); }

 private:
  Message message_;
};

// The message must outlive it.
class MessageReader {
 public:
  explicit MessageReader(const Message& message) : rest_(message) {}

  bool at_end() const { return rest_.empty(); }
  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    std::memcpy(&value, get_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> get_bytes(std::size_t bytes) {
    XXL_CHECK(bytes <= rest_.size());
    const auto got = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return got;
  }
  template <class Values>
  void get_all(Values& values) {
    for (auto left = get<std::size_t>(); left > 0; --left) {
      values.push_back(get<typename Values::value_type>());
    }
  }
  std::string get_text() {
    const auto text = get_bytes(get<std::size_t>());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

 private:
  std::span<const std::byte> rest_;
};

// A step of all ranks: each gives the same message to every one.
inline std::vector<Message> tell_all(Peers& peers, const Message& message) {
  return peers.exchange(std::vector<Message>(peers.ranks(), message));
}

// A step of all ranks: the values of all, by rank.
template <class T>
std::vector<T> gather(Peers& peers, const T& value) {
  MessageWriter writer;
  writer.put(value);
  std::vector<T> values;
  for (const Message& message : tell_all(peers, writer.take())) {
    values.push_back(MessageReader(message).get<T>());
  }
  return values;
}

// A step of all ranks: the least of their values.
template <class T>
T least(Peers& peers, const T& value) {
  const std::vector<T> values = gather(peers, value);
  return *std::min_element(values.begin(), values.end());
}

// A step of all ranks: the largest of their values.
template <class T>
T most(Peers& peers, const T& value) {
  const std::vector<T> values = gather(peers, value);
  return *std::max_element(values.begin(), values.end());
}

// A step of all ranks: the text of rank 0.
inline std::string told_by_first(Peers& peers, const std::string& text) {
  MessageWriter writer;
  writer.put_text(text);
  const std::vector<Message> messages = tell_all(peers, writer.take());
  return MessageReader(messages.front()).get_text();
}

}  // namespace xxl
