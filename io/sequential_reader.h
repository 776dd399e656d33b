// Reads files one after the other, several blocks ahead, and hands out whole records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "io/buffer_pool.h"
#include "io/file.h"
#include "io/io_queue.h"

namespace xxl::io {

// Consecutive whole records of the input. `buffer` goes back with release().
struct RecordBlock {
  std::byte* buffer = nullptr;
  std::span<const std::byte> records;
};

// Blocks are read at multiples of the block size, so that O_DIRECT works, whatever the record size:
// a record cut in two by the end of a block is put together in the headroom before the next block's
// buffer.
//
//     buffer:  [ headroom | block ]        block i ends  ...rrrRR
//                     RRRR|Rrrrrr...       block i+1: the first part is copied before it
//
// A file that is not open is opened when it is its turn, and closed when all of it has been handed
// out. A file that grew is read to the end that it has when its last block is asked for.
//
// Coordinator thread only; completions arrive through the mailbox.
class SequentialReader {
 public:
  // `files` must outlive the reader, as must `memory`, which is cut into buffers of
  // buffer_bytes(block_bytes, record_bytes). `block_bytes` is a multiple of kSectorBytes and at
  // least `record_bytes`.
  SequentialReader(std::vector<File>& files, std::size_t record_bytes, std::size_t block_bytes,
                   std::span<std::byte> memory, IoService& io, Mailbox& mailbox);
  // Waits for the reads under way. If one of them is of a stream, cancels the streams of the
  // service: a pipe may never deliver.
  ~SequentialReader();

  static std::size_t buffer_bytes(std::size_t block_bytes, std::size_t record_bytes);

  // Before the first pump(): of the first file, which can be read at any place, gives out what
  // comes from `offset` on, where a record begins.
  void start_at(std::uint64_t offset);

  // Starts reads into free buffers.
  void pump();
  // The next block in order if it has arrived. Throws Error for a failed read, a file that became
  // shorter, or a stream that ends inside a record.
  std::optional<RecordBlock> next();
  void release(const RecordBlock& block);

  // True when everything has been handed out.
  bool finished() const { return to_read_ == files_.size() && window_.empty(); }
  // Nothing is being read, and nothing that was read has yet to be handed out.
  bool idle() const { return window_.empty(); }
  bool ready() const { return !window_.empty() && window_.front().done; }

 private:
  struct Read {
    std::byte* buffer;
    std::size_t file;
    std::uint64_t offset;
    std::size_t wanted;   // bytes the file should have from here; 0: unknown (a stream)
    bool ends = false;    // the file ends here
    bool behind = false;  // it ended before: a caller had been asked for more than there was
    bool done = false;
    Completion completion;
  };

  void start_read();
  void ends(Read& read);

  std::vector<File>& files_;
  std::size_t record_bytes_;
  std::size_t block_bytes_;
  std::size_t headroom_;
  BufferPool pool_;
  IoService& io_;
  Mailbox& mailbox_;
  std::deque<Read> window_;     // in input order; references stay valid while pushed and popped
  std::size_t to_read_ = 0;     // file of the next read
  std::uint64_t position_ = 0;  // in it
  std::size_t skipped_ = 0;     // bytes of the first block that are not given out
  std::size_t most_open_;
  std::size_t open_;              // files that are open
  std::vector<std::byte> carry_;  // first part of a record that the last block cut in two
  InFlight in_flight_;
};

}  // namespace xxl::io
