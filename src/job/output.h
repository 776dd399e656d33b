// Where the sorted records go: a file that appears at the end, or a stream.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "base/monitor.h"
#include "base/thread.h"
#include "io/buffer_pool.h"
#include "io/codec.h"
#include "io/io_queue.h"
#include "io/output_file.h"
#include "io/read_back.h"
#include "io/scratch_store.h"
#include "job/growing_file.h"
#include "job/job.h"
#include "job/part_files.h"
#include "job/phase_meter.h"
#include "run/block_sink.h"
#include "run/byte_sink.h"
#include "run/output_parts.h"

namespace xxl {

class Output {
 public:
  // The output of `options`, which must outlive it: "-" is standard output; a device or pipe is
  // written as a stream. Reserves `bytes` for a file. One of the scratch directories is used if a
  // file is written in place. `follows_scratch`: scratch will hold as much, and is given back while
  // this is written. If all of it is on the same device, most of its space is not reserved twice.
  // Throws Error.
  Output(const JobOptions& options, std::uint64_t bytes, bool follows_scratch = false);

  bool is_file() const { return file_ != nullptr; }
  // It appears at the end: until then a job may start again.
  bool appears_at_end() const { return is_file() || part_files_ != nullptr; }
  bool in_parts() const { return part_files_ != nullptr; }
  bool is_parts_in_memory() const { return in_parts() && part_files_->is_in_memory(); }
  bool is_compressed() const { return codec_ != Codec::none; }
  // Where it lacks space from now on, it waits for what `scratch`, unless null, gives back.
  void take_space_of(io::ScratchStore* scratch) { scratch_ = scratch; }
  // Free bytes where the file will be.
  std::uint64_t free_bytes() const;

  // If it is in parts, before a sink is made: where it is to be cut, which the sink follows; else
  // null. `bytes`: of all records, as OutputParts::expect(). `key`: that of a part, if there is
  // one. `record_bytes`: of records of a fixed size, otherwise 0. Lasts until the next call.
  OutputParts* cut_parts(std::uint64_t bytes, PartKey key = {}, std::size_t record_bytes = 0);

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
  // `read_back`: to verify it; null: it is not.
  void publish(std::uint64_t bytes, io::ReadBack* read_back = nullptr);
  // The same at the end of a job whose last phase, "finish", has begun, and had these `waits`: ends
  // it. If the job verifies its output, that is a phase which follows. `reader`, if set, gets then
  // what is read back, if that is one file and not compressed.
  void publish(std::uint64_t bytes, io::IoService& io, PhaseMeter& meter,
               const WaitTimes& waits = WaitTimes(), io::ReadBack::Reader reader = {});
  // True if an existing file was written in place. After publish().
  bool in_place() const { return is_file() && file_->in_place(); }

 private:
  void open_file(std::uint64_t bytes);
  void open_parts(std::uint64_t bytes);
  std::uint64_t bytes_after_scratch(std::uint64_t bytes);
  void reserve_beside(std::function<void()> reserve, std::uint64_t bytes);
  // Waits until the space that is being reserved has been. Throws Error{no_space}.
  void finish_reserving();
  // Makes sure that a file has space for `end` bytes, and reserves more in growing steps where its
  // final size is unknown. Throws Error{no_space}. From any thread.
  void reserve_up_to(std::uint64_t end);
  // The file that is to appear, or the stream.
  const io::File& target() const { return is_file() ? file_->file() : stream_; }

  const JobOptions& options_;
  const Codec codec_;
  const bool follows_scratch_;
  io::ScratchStore* scratch_ = nullptr;
  std::shared_ptr<io::OutputFile> file_;
  std::unique_ptr<PartFiles> part_files_;
  std::unique_ptr<OutputParts> parts_;
  std::size_t record_bytes_ = 0;  // of parts
  std::uint64_t most_bytes_ = 0;  // of a part
  io::File stream_;
  std::mutex mutex_;
  std::optional<GrowingFile> space_;
  std::exception_ptr reserving_failed_;
  Thread reserving_;  // the last member: it uses others
};

// True if the output is a file, or a directory of parts, that appears at the end: until then a job
// may start again.
bool output_appears_at_end(const JobOptions& options);

// Throws Error{usage} where parts are asked for that there cannot be. `knows_size`: the job knows
// the size of its output before it writes.
void check_parts(const JobOptions& options, bool knows_size);

// The part of -S for compressing the output of records; 0 if it is not compressed.
std::uint64_t output_packing_bytes(const JobOptions& options);

}  // namespace xxl
