#include "io/ahead_reader.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/units.h"
#include "io/input_checks.h"

namespace xxl::io {

AheadReader::AheadReader(File& file, std::span<std::byte> memory, IoService& io, Monitor& monitor)
    : opened_(file), file_(file), io_(io), monitor_(monitor) {
  const std::size_t half = round_down(memory.size() / 2, kSectorBytes);
  halves_[0] = memory.first(half);
  halves_[1] = memory.subspan(half, half);
  start_read();
}

AheadReader::~AheadReader() {
  if (expects_others_ && std::uncaught_exceptions() == 0) return;  // in_flight_ waits
  // If the queues are gone, they have waited for every read.
  if (under_way_ && !done_ && !file_.seekable()) io_.cancel_streams();
}

void AheadReader::start_read() {
  if (at_end_) return;
  Request request{Op::read, &file_, Request::kStream, halves_[reading_], {}};
  if (file_.seekable()) {
    request.offset = position_;
    wanted_ = std::min<std::uint64_t>(request.data.size(), file_.size() - position_);
    request.data = request.data.first(round_up(wanted_, kSectorBytes));
    at_end_ = position_ + wanted_ == file_.size() && !file_.has_grown();
  }
  done_ = false;
  under_way_ = true;
  request.done = [this, token = in_flight_.begin()](const Completion& completion) mutable {
    monitor_.change([&] {
      completion_ = completion;
      done_ = true;
    });
    token.reset();
  };
  io_.queue_for(file_).submit(std::move(request));
}

std::span<std::byte> AheadReader::next() {
  if (!under_way_) return {};
  monitor_.wait([&] { return done_.load(); });
  under_way_ = false;
  const std::span<std::byte> half = halves_[reading_];
  check_read(file_, position_, wanted_, completion_);
  std::size_t bytes = wanted_;
  if (!file_.seekable()) {
    bytes = completion_.bytes;
    at_end_ = bytes < half.size();
  }
  position_ += bytes;
  reading_ ^= 1;
  start_read();
  return half.first(bytes);
}

}  // namespace xxl::io
