// What a general sort or join does together with others, each of which reads a share of the same
// inputs and writes a range of keys of the result (src/cluster).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/memory_name.h"
#include "io/io_queue.h"
#include "merge/general_cells.h"
#include "merge/merge_source.h"
#include "run/byte_sink.h"
#include "run/general_scratch.h"
#include "run/output_parts.h"

namespace xxl {

// What one of them has sorted of an input: runs, all of which are in `scratch`, whose files are
// those of `store`.
struct SharedRuns {
  const std::vector<MergeSource>& sources;
  GeneralScratch& scratch;
  const io::ScratchStore& store;
};

// What one of them merges.
struct SharedMerge {
  std::vector<MergeSource> sources;  // of runs of all of them, in the order of each input
  KeyRange range;                    // of the keys of these that belong to it
  std::uint64_t records = 0;         // about
  std::uint64_t bytes = 0;           // of the records, about
};

inline std::string too_many_tables() {
  return "the tables of so many runs take more memory than " + memory_name() +
         " leaves: give twice as much";
}

class SharedJob {
 public:
  virtual ~SharedJob() = default;

  // How many they are.
  virtual unsigned ranks() const = 0;
  // Of the first of all files of input `input`, if they have one.
  virtual const std::optional<std::string>& header(std::size_t input) const = 0;

  // Whether a record of so many bytes could be sent to another one if `memory_bytes` were given in
  // place of -S.
  virtual bool can_send(std::uint64_t record_bytes, std::uint64_t memory_bytes) const = 0;
  // Given the runs of this one, by input, returns what it merges; from then on their scratches read
  // blocks from where they are. All must last until publish(). Throws Error.
  virtual SharedMerge exchange(std::span<const SharedRuns> inputs, io::IoService& io) = 0;

  // The part of the output of this one, as Output::cut_parts() and Output::make_sink().
  virtual OutputParts& parts() = 0;
  virtual std::unique_ptr<ByteSink> make_sink(std::size_t block_bytes, io::IoService& io) = 0;
  // Given what this one has counted, first of all what it has written, returns the sums of all.
  // Nothing is read from others afterwards.
  virtual std::vector<MultisetHash> sums(std::span<const MultisetHash> counted) = 0;
  // Makes the output of all appear. REQUIRES: all is written. Throws Error.
  virtual void publish() = 0;
};

}  // namespace xxl
