// Memory that an accelerator transfers fast.
#pragma once

#include <cstddef>
#include <span>

#include "sort/accelerator.h"

namespace xxl {

// Pins `memory`, which is the caller's, while it lives.
class Pinned {
 public:
  Pinned(Accelerator& accelerator, std::span<std::byte> memory)
      : accelerator_(accelerator), memory_(memory) {
    accelerator_.pin(memory_);
  }
  ~Pinned() { accelerator_.unpin(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  Accelerator& accelerator_;
  std::span<std::byte> memory_;
};

}  // namespace xxl
