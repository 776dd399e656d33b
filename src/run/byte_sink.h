// Where the blocks of an output, of records or text, go: a file, a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>

#include "base/in_flight.h"
#include "io/io_queue.h"
#include "xxl/error.h"

namespace xxl {

// Takes the blocks of one output in any order, and writes them in order.
class ByteSink {
 public:
  // Called once when a buffer is free again: with null, or with the failure (an Error, of which the
  // first counts). Called on threads of queues, which do not keep the failure: must be short and
  // must not throw.
  using Done = std::function<void(std::exception_ptr failure)>;

  virtual ~ByteSink() = default;
  // True if a block is written, and its buffer free, only after all blocks before it.
  virtual bool in_order() const = 0;
  // Takes block `index`, `bytes` of `buffer`: each index once, from any thread. Throws Error if
  // there is no room for it.
  virtual void put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) = 0;
  // After the last put(), once all buffers are free: completes what is left.
  virtual void finish() {}
  // Drops blocks that wait for others, and all later ones, without calling `done`.
  virtual void give_up() {}
};

// What a write of `bytes` to `offset` of `file` came to: null, or an Error.
std::exception_ptr write_failure(const io::Completion& completion, std::size_t bytes,
                                 const io::File& file, std::uint64_t offset,
                                 Operation operation = Operation::write);

// A file that can be written at any place. The last block is padded with zeros to a whole sector:
// the file must be cut to its size afterwards.
class FileBytes final : public ByteSink {
 public:
  // `block_bytes`: of all blocks but the last. `reserve`, if set, gets the end of each block before
  // it is written, and may throw. `start`: of the first block in the file. All references must
  // outlive the sink.
  FileBytes(const io::File& file, std::size_t block_bytes, io::IoService& io,
            std::function<void(std::uint64_t end)> reserve = {}, std::uint64_t start = 0)
      : file_(file),
        block_bytes_(block_bytes),
        io_(io),
        reserve_(std::move(reserve)),
        start_(start) {}
  bool in_order() const override { return false; }
  void put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) override;

 private:
  const io::File& file_;
  std::size_t block_bytes_;
  io::IoService& io_;
  std::function<void(std::uint64_t end)> reserve_;
  const std::uint64_t start_;
  InFlight in_flight_;
};

// A pipe, terminal or device: one block after the other. Also for a file, from its start on, that
// is written without O_DIRECT: then blocks may have any size.
class StreamBytes final : public ByteSink {
 public:
  StreamBytes(const io::File& file, io::IoService& io) : file_(file), io_(io) {}
  ~StreamBytes() override { give_up(); }
  bool in_order() const override { return true; }
  void put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) override;
  void give_up() override;

 private:
  void submit_next(std::unique_lock<std::mutex> lock);

  const io::File& file_;
  io::IoService& io_;
  std::mutex mutex_;
  std::map<std::uint64_t, io::Request> waiting_;  // by the indexes of their blocks
  std::uint64_t next_ = 0;
  bool writing_ = false;
  std::uint64_t position_ = 0;  // of the next write
  bool given_up_ = false;       // a write failed, or the rest is not needed
  InFlight in_flight_;
};

}  // namespace xxl
