// The places that sorted blocks are written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "io/buffer_pool.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "run/block_sink.h"
#include "run/byte_sink.h"

namespace xxl {

// A scratch run. All references must outlive it.
class ScratchSink final : public BlockSink {
 public:
  // `run` gets its blocks as they are put; its `identity` and `records_per_block` must be set.
  ScratchSink(Run& run, std::size_t record_bytes, io::ScratchStore& store, io::BufferPool& buffers,
              io::IoService& io, Mailbox& mailbox)
      : run_(run),
        record_bytes_(record_bytes),
        store_(store),
        stripe_(store.new_stripe()),
        buffers_(buffers),
        io_(io),
        mailbox_(mailbox) {}

  std::size_t payload_bytes() const override { return run_.records_per_block * record_bytes_; }
  std::uint64_t run_identity() const override { return run_.identity; }
  Run* run() override { return &run_; }
  void put(const FinishedBlock& block) override;
  std::size_t pending() const override { return pending_; }

 private:
  Run& run_;
  std::size_t record_bytes_;
  io::ScratchStore& store_;
  io::ScratchStripe stripe_;
  io::BufferPool& buffers_;
  io::IoService& io_;
  Mailbox& mailbox_;
  std::size_t pending_ = 0;
  InFlight in_flight_;
};

// The output: what comes is handed on.
class OutputSink final : public BlockSink {
 public:
  // The references must outlive it.
  OutputSink(std::unique_ptr<ByteSink> sink, std::size_t block_bytes, io::BufferPool& buffers,
             Mailbox& mailbox)
      : block_bytes_(block_bytes), buffers_(buffers), mailbox_(mailbox), sink_(std::move(sink)) {}
  ~OutputSink() override { sink_->give_up(); }

  std::size_t payload_bytes() const override { return block_bytes_; }
  std::uint64_t run_identity() const override { return 0; }
  void put(const FinishedBlock& block) override;
  std::size_t pending() const override { return pending_; }

 private:
  std::size_t block_bytes_;
  io::BufferPool& buffers_;
  Mailbox& mailbox_;
  std::size_t pending_ = 0;
  std::unique_ptr<ByteSink> sink_;  // last: its destructor waits for what is under way
};

}  // namespace xxl
