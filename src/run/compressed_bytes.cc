#include "run/compressed_bytes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace xxl {

std::size_t CompressedBytes::memory_bytes(Codec codec, int level, std::size_t block_bytes,
                                          unsigned threads) {
  // The compressor, room for the largest frame, and the frame.
  return threads * (io::compress_memory_bytes(codec, level, block_bytes) +
                    2 * io::frame_bound(codec, block_bytes));
}

void CompressedBytes::put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) {
  {
    auto lock = monitor_.lock();
    ++unwritten_;
  }
  thread_local std::vector<std::byte> room;
  room.resize(std::max(room.size(), io::frame_bound(codec_, bytes)));
  const std::size_t size = io::compress_frame(codec_, level_, {buffer, bytes}, room);
  const std::shared_ptr<std::byte[]> frame(new std::byte[size]);
  std::memcpy(frame.get(), room.data(), size);
  done(nullptr);
  {
    auto lock = monitor_.lock();
    monitor_.wait(lock, [&] { return index == next_ || kept_bytes_ + size <= most_kept_bytes_; });
    kept_bytes_ += size;
    early_.insert(index);
    while (!early_.empty() && *early_.begin() == next_) {
      early_.erase(early_.begin());
      ++next_;
    }
  }
  monitor_.notify();
  const auto written = [this, frame, size, token = in_flight_.begin()](std::exception_ptr failure) {
    if (failure != nullptr) monitor_.fail(std::move(failure));
    monitor_.change([&] {
      kept_bytes_ -= size;
      --unwritten_;
    });
  };
  frames_.put(index, frame.get(), size, written);
}

void CompressedBytes::finish() {
  bool empty;
  {
    auto lock = monitor_.lock();
    empty = next_ == 0;
  }
  // A file without content is a frame without content.
  if (empty) put(0, nullptr, 0, [](const std::exception_ptr&) {});
  monitor_.wait([&] { return unwritten_ == 0; });
}

}  // namespace xxl
