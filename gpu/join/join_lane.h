// The share of a device in a join of sorted relations: places for parts, and threads with streams.
//
// A lane belongs to the coordinator thread. A part has one place from its copy in until its rows or
// ranges are copied out, so that several parts are under way, each at another stage.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/device/stream_thread.h"

namespace xxl::gpu {

// The largest part that a place holds.
struct JoinPlaceShape {
  std::size_t records = 0;       // of both sides together, number
  std::size_t record_bytes = 0;  // of the larger record
  unsigned key_bytes = 8;
  std::size_t row_bytes =
      0;  // 0 if devices write no rows; else there is room for `records` of them

  // Memory of a device.
  std::size_t bytes() const;
};

struct JoinPlace {
  std::byte* records = nullptr;  // those of S after those of R
  std::byte* keys = nullptr;     // likewise
  MatchRange* ranges = nullptr;
  std::byte* rows = nullptr;
};

struct JoinLane {
  // Places: two being filled, one being searched, one being emptied.
  static constexpr std::size_t kPlaces = 4;
  // Threads that copy, for each direction: one copies while the other's completion is handled.
  static constexpr std::size_t kCopyThreads = 2;

  // `device` and `mailbox` must outlive the lane; `index` is for names in `time_line`, which may be
  // null. Throws Error{no_space}.
  JoinLane(Device& device, std::size_t index, const JoinPlaceShape& shape, Mailbox& mailbox,
           TimeLine* time_line);

  StreamThread& next_in() { return *in[next_in_++ % kCopyThreads]; }
  StreamThread& next_out() { return *out[next_out_++ % kCopyThreads]; }

  DeviceMemory memory;
  std::vector<JoinPlace> places;  // free ones

 private:
  std::size_t next_in_ = 0, next_out_ = 0;

 public:
  // Last: tasks use the rest.
  std::array<std::unique_ptr<StreamThread>, kCopyThreads> in;
  std::unique_ptr<StreamThread> work;
  std::array<std::unique_ptr<StreamThread>, kCopyThreads> out;
};

}  // namespace xxl::gpu
