// Where the sorted records of a sort of text go, behind their header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/monitor.h"
#include "engine/inputs.h"
#include "engine/text_sort/text_destination.h"
#include "engine/text_sort/text_memory.h"
#include "engine/text_sort/text_sort_options.h"
#include "io/io_queue.h"
#include "run/output_parts.h"
#include "run/text_output.h"

namespace xxl {

class TextResult {
 public:
  // All references must outlive it.
  TextResult(const TextSortOptions& options, TextMemory& memory, Monitor& monitor)
      : options_(options), memory_(memory), destination_(options, options.shared, monitor) {}

  // Before anything is read: space for `inputs` is reserved. Throws Error.
  void open(const Inputs& inputs);
  bool appears_at_end() const { return destination_.appears_at_end(); }

  // Output goes here from now on: records which take `text_bytes` with their frames, if none is
  // left out, behind the `header` of the inputs, if they have one. Memory is not divided again. The
  // queues must outlive it.
  void begin(std::uint64_t text_bytes, std::optional<std::string> header, io::IoService& io);
  TextOutput& text() { return destination_.text(); }
  Ticket& tickets() { return tickets_; }  // the next one

  // If it is cut into parts in memory, from how many places records of `text_bytes` can be written
  // at a time, all of them, from `runs` in cells of `cell_bytes` (docs/parts.md); otherwise 1.
  std::size_t streams(std::uint64_t text_bytes, std::size_t runs, std::uint64_t cell_bytes) const;
  OutputParts& parts() { return *destination_.parts(); }

  // As of TextDestination.
  std::vector<MultisetHash> sums(std::span<const MultisetHash> counted) const {
    return destination_.sums(counted);
  }
  bool publish(io::IoService& io, PhaseMeter& meter, io::ReadBack::Reader reader) {
    return destination_.publish(io, meter, std::move(reader));
  }

 private:
  void write_header(std::optional<std::string> header);

  const TextSortOptions& options_;
  TextMemory& memory_;
  TextDestination destination_;
  Ticket tickets_{};
};

}  // namespace xxl
