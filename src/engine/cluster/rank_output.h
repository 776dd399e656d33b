// The output of all ranks, each of which writes its part: a directory with a file of each rank, or
// one file that all of them see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cluster/peers.h"
#include "engine/cluster/rank_directory.h"
#include "engine/record_sort/sort_options.h"
#include "io/file.h"
#include "io/io_queue.h"
#include "io/output_file.h"
#include "run/byte_sink.h"
#include "run/output_parts.h"

namespace xxl {

// What each rank writes: the parts of ranks in one file begin at sectors, so that they can be
// written by direct I/O.
class RankOutput {
 public:
  // Steps of all ranks. The output of `options`, which must outlive it, is a directory if its name
  // ends with a slash, or is that of a directory. `records`: of the input of all ranks. Space is
  // reserved. Throws Error.
  RankOutput(const SortOptions& options, std::uint64_t records, Peers& peers);

  // Of `records` in the runs of all ranks, which are fewer than those of the input where groups
  // become one record, divides what is written.
  void divide(std::uint64_t records);
  // For each rank, and the end of the last one, the record of these that its part begins with.
  const std::vector<std::uint64_t>& starts() const { return starts_; }

  // Where blocks of `block_bytes` of this rank's part go, and where its OutputStage notes records,
  // if it does. The references must outlive it.
  std::unique_ptr<ByteSink> make_sink(std::size_t block_bytes, io::IoService& io);
  OutputParts* parts() { return directory_ ? &directory_->parts() : nullptr; }

  // A step of all ranks: before the first sink is made, gives them the file.
  void share();
  // Steps of all ranks: makes the output appear. REQUIRES: all is written.
  void publish();

 private:
  bool is_first() const { return peers_.rank() == 0; }
  // In one file.
  std::uint64_t start_bytes(std::size_t rank) const {
    return (starts_[rank] - starts_.front()) * record_bytes_;
  }
  std::uint64_t own_bytes() const {
    return start_bytes(peers_.rank() + 1) - start_bytes(peers_.rank());
  }

  const SortOptions& options_;
  Peers& peers_;
  const std::size_t record_bytes_;
  std::uint64_t step_ = 1;  // parts in one file begin at multiples of so many records
  std::vector<std::uint64_t> starts_;
  std::optional<RankDirectory> directory_;
  std::optional<io::OutputFile> one_;  // of rank 0, if the output is one file
  io::File file_;                      // of the others, then
};

}  // namespace xxl
