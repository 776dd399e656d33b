#include "job/growing_file.h"

#include <algorithm>

#include "base/error.h"

namespace xxl {

void GrowingFile::reserve_up_to(std::uint64_t end) {
  if (end <= reserved_bytes_) return;
  const std::uint64_t needed = end - reserved_bytes_;
  const std::uint64_t room = most_bytes_ - std::min(most_bytes_, reserved_bytes_);
  // As much again: what is reserved for many small files is at most twice their size.
  std::uint64_t step = std::max(needed, std::min({reserved_bytes_, most_step_, room}));
  try {
    reserve_(reserved_bytes_, step);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space || step == needed) throw;
    step = needed;  // the rest of the disk
    reserve_(reserved_bytes_, step);
  }
  reserved_bytes_ += step;
}

}  // namespace xxl
