// The share of a device in a join of arrays: places for parts of them, a link and a thread.
//
// A lane belongs to the coordinator thread. A part has one place from its copy in until its rows or
// ranges are copied out, so that several parts are under way, each at another stage.
#pragma once

#include <cstddef>
#include <vector>

#include "base/mailbox.h"
#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/device/host_link.h"
#include "gpu/device/stream_thread.h"

namespace xxl::gpu {

// The largest part that a place holds.
struct JoinPlaceShape {
  std::size_t records = 0;       // number, of one side or of both together
  std::size_t record_bytes = 0;  // of the larger record
  unsigned key_bytes = 0;        // 0: keys are only in records
  std::size_t row_bytes = 0;     // 0: devices write no rows; else as many rows as records fit
  bool totals = false;           // places have totals of tiles

  // Memory of a device.
  std::size_t bytes() const;
};

struct JoinPlace {
  std::byte* records = nullptr;  // those of S after those of R
  std::byte* keys = nullptr;     // likewise
  MatchRange* ranges = nullptr;
  std::byte* rows = nullptr;
  TileTotals* totals = nullptr;  // in shared memory
};

struct JoinLane {
  // Places: two being filled, one being searched, one being emptied.
  static constexpr std::size_t kPlaces = 4;

  // `device` and `mailbox` must outlive the lane; `index` and `work` are for names in `time_line`,
  // which may be null. Throws Error{no_space}.
  JoinLane(Device& device, std::size_t index, const JoinPlaceShape& shape, const char* work,
           Mailbox& mailbox, TimeLine* time_line);

  DeviceMemory memory;
  SharedMemory totals;
  std::vector<JoinPlace> places;  // free ones
  // Last: tasks use the rest.
  HostLink link;
  StreamThread work;
};

}  // namespace xxl::gpu
