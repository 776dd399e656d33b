// What a sort of text does together with others, each of which sorts a share of the same input and
// writes a range of keys of the result (engine/cluster).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "io/io_queue.h"
#include "merge/merge_source.h"
#include "merge/text_cells.h"
#include "run/byte_sink.h"
#include "run/output_parts.h"
#include "run/text_scratch.h"

namespace xxl {

// What one of them merges.
struct SharedMerge {
  std::vector<MergeSource> sources;  // of runs of all sorts, in the order of the input
  KeyRange range;                    // of the keys of these that belong to it
  std::uint64_t records = 0;         // about
  std::uint64_t bytes = 0;           // of the records, about
};

// Records of one of them, or of all.
struct SharedCounts {
  MultisetHash input;
  MultisetHash written;
  MultisetHash removed;
};

class SharedSort {
 public:
  virtual ~SharedSort() = default;

  virtual unsigned sorts() const = 0;
  // Of the first input of all, if inputs have one.
  virtual const std::optional<std::string>& header() const = 0;

  // Given the runs of this sort, all in `scratch`, whose files are those of `store`, returns what
  // it merges; from then on `scratch` reads blocks from where they are. All must last until
  // publish(). Throws Error.
  virtual SharedMerge exchange(const std::vector<MergeSource>& runs, TextScratch& scratch,
                               const io::ScratchStore& store, io::IoService& io) = 0;

  // The part of the output of this one, as Output::cut_parts() and Output::make_sink().
  virtual OutputParts& parts() = 0;
  virtual std::unique_ptr<ByteSink> make_sink(std::size_t block_bytes, io::IoService& io) = 0;
  // Given what this one has counted, returns what all have. Nothing is read from others afterwards.
  virtual SharedCounts total(const SharedCounts& counts) = 0;
  // Makes the output of all appear. REQUIRES: all is written. Throws Error.
  virtual void publish() = 0;
};

}  // namespace xxl
