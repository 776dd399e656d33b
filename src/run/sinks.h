// The places that sorted blocks are written to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "io/buffer_pool.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "run/block_sink.h"

namespace xxl {

// What the sinks share: writes under way, and their buffers. All references must outlive it.
class WritingSink : public BlockSink {
 public:
  WritingSink(io::BufferPool& buffers, io::IoService& io, Mailbox& mailbox)
      : buffers_(buffers), io_(io), mailbox_(mailbox) {}
  std::size_t pending() const override { return pending_; }

 protected:
  // Writes `bytes` of `buffer`, then gives it back, calls written() and, if the write failed,
  // throws Error.
  void write(const io::File& file, std::uint64_t offset, std::byte* buffer, std::size_t bytes);
  virtual void written() {}

 private:
  io::BufferPool& buffers_;
  io::IoService& io_;
  Mailbox& mailbox_;
  std::size_t pending_ = 0;
  InFlight in_flight_;
};

// A scratch run.
class ScratchSink final : public WritingSink {
 public:
  // `run` gets its blocks as they are put; its `identity` and `records_per_block` must be set.
  ScratchSink(Run& run, std::size_t record_bytes, io::ScratchStore& store, io::BufferPool& buffers,
              io::IoService& io, Mailbox& mailbox)
      : WritingSink(buffers, io, mailbox),
        run_(run),
        record_bytes_(record_bytes),
        store_(store),
        stripe_(store.new_stripe()) {}

  std::size_t payload_bytes() const override { return run_.records_per_block * record_bytes_; }
  std::uint64_t run_identity() const override { return run_.identity; }
  Run* run() override { return &run_; }
  void put(const FinishedBlock& block) override;

 private:
  Run& run_;
  std::size_t record_bytes_;
  io::ScratchStore& store_;
  io::ScratchStripe stripe_;
};

// A file of nothing but records. Blocks are written at their places, the last one padded with zeros
// to a whole sector: the file must be cut to its size afterwards.
class FileSink final : public WritingSink {
 public:
  // `reserve`, if there is one, is told up to where a block will be written, before it is.
  FileSink(const io::File& file, std::size_t block_bytes, io::BufferPool& buffers,
           io::IoService& io, Mailbox& mailbox, std::function<void(std::uint64_t end)> reserve = {})
      : WritingSink(buffers, io, mailbox),
        file_(file),
        block_bytes_(block_bytes),
        reserve_(std::move(reserve)) {}

  std::size_t payload_bytes() const override { return block_bytes_; }
  std::uint64_t run_identity() const override { return 0; }
  void put(const FinishedBlock& block) override;

 private:
  const io::File& file_;
  std::size_t block_bytes_;
  std::function<void(std::uint64_t end)> reserve_;
};

// A pipe or terminal: one block after the other.
class StreamSink final : public WritingSink {
 public:
  StreamSink(const io::File& file, std::size_t block_bytes, io::BufferPool& buffers,
             io::IoService& io, Mailbox& mailbox)
      : WritingSink(buffers, io, mailbox), file_(file), block_bytes_(block_bytes) {}

  std::size_t payload_bytes() const override { return block_bytes_; }
  std::uint64_t run_identity() const override { return 0; }
  void put(const FinishedBlock& block) override;
  std::size_t pending() const override { return WritingSink::pending() + waiting_.size(); }

 private:
  void written() override;

  const io::File& file_;
  std::size_t block_bytes_;
  std::map<std::uint64_t, FinishedBlock> waiting_;  // by index
  std::uint64_t next_ = 0;
};

}  // namespace xxl
