// A directory of parts to which each rank adds one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cluster/peers.h"
#include "io/file.h"
#include "io/io_queue.h"
#include "io/output_directory.h"
#include "job/job.h"
#include "job/part_manifest.h"
#include "run/byte_sink.h"
#include "run/output_parts.h"

namespace xxl {

class RankDirectory {
 public:
  // A step of all ranks. `direct` asks for O_DIRECT. `options` must outlive it. Throws Error.
  RankDirectory(const JobOptions& options, Peers& peers, bool direct = true);

  // Space for `bytes` of this rank's part, which it surely takes. Throws Error{no_space}.
  void reserve(std::uint64_t bytes);
  // Of one part, that of this rank, which notes its records here.
  OutputParts& parts() { return parts_; }
  // Where its blocks of `block_bytes` go. The references must outlive it.
  std::unique_ptr<ByteSink> make_sink(std::size_t block_bytes, io::IoService& io);

  // That of this rank.
  const io::File& file() const { return file_; }

  // Steps of all ranks: makes the directory appear. `terminator_bytes`: at the ends of records.
  // REQUIRES: all is written.
  void publish(std::size_t terminator_bytes);
  // The same, with what the manifest says of this rank's part, but for the name of its file.
  void publish(const PartManifest::Part& own);

 private:
  bool is_first() const { return peers_.rank() == 0; }
  std::string name_of(std::size_t rank) const;

  const JobOptions& options_;
  Peers& peers_;
  io::OutputDirectory directory_;
  OutputParts parts_;
  io::File file_;
};

// A step of all ranks: whether the output of `options` is a directory, as rank 0 sees it. Throws
// Error{usage} if ranks cannot write it.
bool is_rank_directory(const JobOptions& options, Peers& peers);

}  // namespace xxl
