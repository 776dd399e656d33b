// The places that sorted blocks are written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/mailbox.h"
#include "base/monitor.h"
#include "io/buffer_pool.h"
#include "run/block_sink.h"
#include "run/byte_sink.h"
#include "run/run_store.h"

namespace xxl {

// A scratch run. All references must outlive it.
class ScratchSink final : public BlockSink {
 public:
  // `run` gets its blocks as they are put; its `records_per_block` must be set.
  ScratchSink(Run& run, const KeyLayout& layout, io::BufferPool& buffers, Mailbox& mailbox,
              io::ScratchStore& scratch, io::IoService& io, BlockPacker packer = {})
      : run_(run),
        layout_(layout),
        buffers_(buffers),
        mailbox_(mailbox),
        store_(scratch, io, std::move(packer)) {}

  std::size_t payload_bytes() const override {
    return run_.records_per_block * layout_.record_bytes();
  }
  Run* run() override { return &run_; }
  void put(const FinishedBlock& block) override;

 private:
  Run& run_;
  const KeyLayout& layout_;
  io::BufferPool& buffers_;
  Mailbox& mailbox_;
  std::mutex mutex_;  // of the run's table
  RunStore store_;    // last: waits for work under way
};

// The output: passes blocks on.
class OutputSink final : public BlockSink {
 public:
  // `monitor`: of the sink. The references must outlive it.
  OutputSink(std::unique_ptr<ByteSink> sink, std::size_t block_bytes, io::BufferPool& buffers,
             Mailbox& mailbox, std::unique_ptr<Monitor> monitor = std::make_unique<Monitor>())
      : block_bytes_(block_bytes),
        buffers_(buffers),
        mailbox_(mailbox),
        monitor_(std::move(monitor)),
        sink_(std::move(sink)) {}
  ~OutputSink() override { sink_->give_up(); }

  std::size_t payload_bytes() const override { return block_bytes_; }
  void put(const FinishedBlock& block) override;
  void finish() override;

 private:
  std::size_t block_bytes_;
  io::BufferPool& buffers_;
  Mailbox& mailbox_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<ByteSink> sink_;  // last: its destructor waits for what is under way
};

}  // namespace xxl
