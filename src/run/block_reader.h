// Reads blocks one at a time, each when it is asked for or a little before.
#pragma once

#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <utility>

#include "run/run_store.h"

namespace xxl {

// One thread. Of no use any more when get() has thrown.
class BlockReader {
 public:
  // `buffer`: of any of the blocks. All references must outlive it, as must the blocks.
  BlockReader(const StoredRun& run, BlockSource& source, std::byte* buffer)
      : run_(run), source_(source), buffer_(buffer) {}
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;
  ~BlockReader() {
    if (reading_.valid()) reading_.wait();
  }

  // Starts to read `block`, which will be asked for next.
  void start(const StoredBlock& block) {
    if (block_ == &block) return;
    if (reading_.valid()) reading_.wait();
    block_ = &block;
    const auto read = std::make_shared<std::promise<void>>();
    reading_ = read->get_future();
    source_.read(run_, block, buffer_, [read](std::exception_ptr failure) {
      failure != nullptr ? read->set_exception(std::move(failure)) : read->set_value();
    });
  }
  // What is in it, until the next call. Throws Error.
  const std::byte* get(const StoredBlock& block) {
    start(block);
    if (reading_.valid()) {
      reading_.get();
      source_.open(run_, block, buffer_);
    }
    return buffer_;
  }

 private:
  const StoredRun& run_;
  BlockSource& source_;
  std::byte* const buffer_;
  const StoredBlock* block_ = nullptr;
  std::future<void> reading_;  // invalid: it has been read and checked
};

}  // namespace xxl
