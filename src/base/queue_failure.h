// An error number for transfers that failed because the queue did, not the file.
#pragma once

namespace xxl {

// Added to an errno value: io_uring itself has failed with it. Messages say so, since the errno
// value alone would be taken for the file's.
inline constexpr int kRingFailed = 1 << 16;

}  // namespace xxl
