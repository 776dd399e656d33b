// The part of a rank in one file of all, in scratch until it is known where in that file it begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/peers.h"
#include "io/file.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "job/job.h"
#include "run/byte_sink.h"
#include "run/output_parts.h"
#include "run/run_store.h"

namespace xxl {

class ScratchPart {
 public:
  // `options` must outlive it. Throws Error.
  explicit ScratchPart(const JobOptions& options);

  // Reserves space, if this rank's share of the output is about `bytes`. Throws Error{no_space}.
  void reserve(std::uint64_t bytes);

  // Of one part, that of this rank, which notes its records here.
  OutputParts& parts() { return parts_; }
  // Where its blocks of `block_bytes` go, once. The queues must outlive this. Throws Error.
  std::unique_ptr<ByteSink> make_sink(std::size_t block_bytes, io::IoService& io);

  // A step of all ranks: copies what follows the first `skipped` bytes of each one's part to
  // `file`, where parts begin at `starts`, the last of which is the end of all. REQUIRES: all is
  // written. Throws Error, also if what is read is not what was written.
  void copy_to(const io::File& file, const std::vector<std::uint64_t>& starts,
               std::uint64_t skipped, Peers& peers);

  // The most scratch that it took.
  std::uint64_t scratch_bytes() const { return store_.peak_bytes(); }

 private:
  class Sink;
  using Visit = std::function<void(std::string_view bytes)>;

  void read(std::span<std::byte> memory, const Visit& visit);

  const JobOptions& options_;
  OutputParts parts_;
  std::size_t block_bytes_ = 0;
  io::IoService* io_ = nullptr;
  io::ScratchStore store_;
  std::optional<RunStore> blocks_;
  StoredRun run_;
  std::mutex mutex_;  // of what follows
  std::vector<StoredBlock> table_;
};

}  // namespace xxl
