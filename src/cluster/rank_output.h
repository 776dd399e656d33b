// The output of all ranks, each of which writes its part: a directory with a file of each rank, or
// one file that all of them see.
//
//     a directory              rank_directory
//     a file, sizes of parts
//       known beforehand       written to its place
//       known at the end       written to scratch, and then copied to its place (scratch_part)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/peers.h"
#include "cluster/rank_directory.h"
#include "cluster/scratch_part.h"
#include "io/file.h"
#include "io/io_queue.h"
#include "io/output_file.h"
#include "job/job.h"
#include "run/byte_sink.h"
#include "run/output_parts.h"

namespace xxl {

class RankOutput {
 public:
  // Steps of all ranks. The output of `options`, which must outlive it, is a directory if its name
  // ends with a slash, or is that of a directory. `knows_sizes`: place_parts() will be called.
  // Throws Error.
  RankOutput(const JobOptions& options, bool knows_sizes, Peers& peers);

  // Reserves space in one file for `bytes`, which all parts together surely take, and in scratch
  // for this rank's part of them if they come there first.
  void reserve(std::uint64_t bytes);

  // Before anything is written: parts begin at `starts`, bytes of all, the last of which is the end
  // of all; in one file at multiples of alignment(). Reserves space for them.
  void place_parts(std::vector<std::uint64_t> starts);
  std::size_t alignment() const { return directory_ || scratch_ ? 1 : kSectorBytes; }
  // A step of all ranks, then: before the first sink is made, gives them the file.
  void share();

  // Where blocks of `block_bytes` of this rank's part go, and where its records are noted; null:
  // nowhere. The references must outlive it.
  std::unique_ptr<ByteSink> make_sink(std::size_t block_bytes, io::IoService& io);
  OutputParts* parts();

  // Steps of all ranks: makes the output appear. `terminator_bytes`: at the ends of records.
  // REQUIRES: all is written.
  void publish(std::size_t terminator_bytes);

  // The most scratch that it took.
  std::uint64_t scratch_bytes() const { return scratch_ ? scratch_->scratch_bytes() : 0; }

 private:
  bool is_first() const { return peers_.rank() == 0; }
  void reserve_file(std::uint64_t bytes);
  void open_shared();
  void copy_part();

  const JobOptions& options_;
  Peers& peers_;
  std::vector<std::uint64_t> starts_;  // of parts, in bytes, and the end of the last one
  std::optional<RankDirectory> directory_;
  std::optional<ScratchPart> scratch_;
  std::optional<io::OutputFile> one_;  // of rank 0, if the output is one file
  io::File file_;                      // of the others, then
};

}  // namespace xxl
