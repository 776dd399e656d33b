// Where the sorted records go: a file that appears at the end, or a stream.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "base/monitor.h"
#include "base/thread.h"
#include "engine/job.h"
#include "io/buffer_pool.h"
#include "io/codec.h"
#include "io/io_queue.h"
#include "io/output_file.h"
#include "run/block_sink.h"
#include "run/byte_sink.h"

namespace xxl {

class Output {
 public:
  // The output of `options`: "-" is standard output; a device or pipe is written as a stream.
  // Reserves `bytes` for a file. One of the scratch directories is used if a file is written in
  // place. Throws Error.
  Output(const JobOptions& options, std::uint64_t bytes);

  bool is_file() const { return file_ != nullptr; }
  bool is_compressed() const { return codec_ != Codec::none; }
  // Free bytes where the file will be.
  std::uint64_t free_bytes() const;

  // Most memory for compressing blocks of `block_bytes` by `threads` threads; 0 for an output that
  // is not compressed.
  static std::size_t memory_bytes(Codec codec, std::size_t block_bytes, unsigned threads);

  // Where its blocks of `block_bytes` go, filled by `threads` threads. The references must outlive
  // it.
  std::unique_ptr<ByteSink> make_sink(std::size_t block_bytes, unsigned threads, io::IoService& io,
                                      Monitor& monitor);
  // The same for a stage of records. A caller gets whole records of `record_bytes`, at most
  // `block_bytes`.
  std::unique_ptr<BlockSink> make_record_sink(std::size_t record_bytes, std::size_t block_bytes,
                                              unsigned threads, io::BufferPool& buffers,
                                              io::IoService& io, Mailbox& mailbox);

  // Starts again with a new file; what was written becomes a separate file, which vanishes when
  // closed. Only for files.
  std::shared_ptr<io::File> start_again(std::uint64_t bytes);

  // Makes the file, of `bytes`, compressed or not, appear; ends a stream. REQUIRES: all is written.
  void publish(std::uint64_t bytes);
  // True if an existing file was written in place. After publish().
  bool in_place() const { return is_file() && file_->in_place(); }

 private:
  void open_file(std::uint64_t bytes);
  // Waits until the space that is being reserved has been. Throws Error{no_space}.
  void finish_reserving();
  // Makes sure that a file has space for `end` bytes, and reserves more in growing steps where its
  // final size is unknown. Throws Error{no_space}. From any thread.
  void reserve_up_to(std::uint64_t end);
  // The file that is to appear, or the stream.
  const io::File& target() const { return is_file() ? file_->file() : stream_; }

  std::string path_;
  std::vector<std::string> scratch_dirs_;
  Codec codec_;
  std::shared_ptr<io::OutputFile> file_;
  io::File stream_;
  std::mutex mutex_;
  std::uint64_t reserved_bytes_ = 0;
  std::exception_ptr reserving_failed_;
  Thread reserving_;  // the last member: it uses others
};

// True if the output is a file that appears at the end: until then a job may start again.
bool output_is_file(const JobOptions& options);

// The part of -S for compressing the output of records; 0 if it is not compressed.
std::uint64_t output_packing_bytes(const JobOptions& options);

}  // namespace xxl
