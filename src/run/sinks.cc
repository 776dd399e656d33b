#include "run/sinks.h"

#include <exception>
#include <utility>

#include "base/error.h"

namespace xxl {

void ScratchSink::put(const FinishedBlock& block) {
  ++pending_;
  RunBlock stored;
  // Before the buffer may change.
  stored.trigger = block_trigger(run_, layout_, block.buffer);
  static_cast<StoredBlock&>(stored) = store_.write(
      run_, block.buffer, block.bytes, [this, buffer = block.buffer](std::exception_ptr failure) {
        mailbox_.post([this, buffer, failure = std::move(failure)] {
          --pending_;
          buffers_.give_back(buffer);
          if (failure != nullptr) std::rethrow_exception(failure);
        });
      });
  std::lock_guard lock(mutex_);
  if (run_.blocks.size() <= block.index) run_.blocks.resize(block.index + 1);
  run_.blocks[block.index] = stored;
  run_.records += block.bytes / layout_.record_bytes();
}

void OutputSink::put(const FinishedBlock& block) {
  ++pending_;
  try {
    sink_->put(block.index, block.buffer, block.bytes,
               [this, buffer = block.buffer](std::exception_ptr failure) {
                 mailbox_.post([this, buffer, failure = std::move(failure)] {
                   --pending_;
                   buffers_.give_back(buffer);
                   if (failure != nullptr) std::rethrow_exception(failure);
                 });
               });
  } catch (const Monitor::Abandoned&) {
    monitor_->check();
  } catch (...) {
    monitor_->fail(
        std::current_exception());  // threads that wait for this block would wait forever
    throw;
  }
}

void OutputSink::finish() {
  monitor_->run([&] { sink_->finish(); });
  monitor_->check();
}

}  // namespace xxl
