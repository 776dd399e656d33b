// A transfer of blocks that a test waits for.
#pragma once

#include <exception>
#include <future>

#include "run/run_store.h"

namespace xxl::test {

class WaitedTransfer {
 public:
  BlockSource::Done done() {
    return [this](const std::exception_ptr& failure) {
      failure == nullptr ? ended_.set_value() : ended_.set_exception(failure);
    };
  }
  // Throws what it failed with.
  void wait() { ended_.get_future().get(); }

 private:
  std::promise<void> ended_;
};

}  // namespace xxl::test
