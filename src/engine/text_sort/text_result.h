// Where the sorted records of a sort of text go: its output, or its part of that of several sorts
// (shared_text.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/monitor.h"
#include "engine/inputs.h"
#include "engine/output.h"
#include "engine/text_sort/shared_text.h"
#include "engine/text_sort/text_memory.h"
#include "engine/text_sort/text_sort_options.h"
#include "io/io_queue.h"
#include "run/byte_sink.h"
#include "run/output_parts.h"
#include "run/text_output.h"

namespace xxl {

class TextResult {
 public:
  // All references must outlive it.
  TextResult(const TextSortOptions& options, TextMemory& memory, Monitor& monitor)
      : options_(options), memory_(memory), monitor_(monitor) {}

  // Before anything is read: space for `inputs` is reserved. Throws Error.
  void open(const Inputs& inputs);
  // False if something may have been seen of it before the end.
  bool appears_at_end() const { return output_ == nullptr || output_->appears_at_end(); }

  // Output goes here from now on: records which take `text_bytes` with their frames, if none is
  // left out, behind the `header` of the inputs, if they have one. Memory is not divided again. The
  // queues must outlive it.
  void begin(std::uint64_t text_bytes, std::optional<std::string> header, io::IoService& io);
  TextOutput& text() { return *text_; }
  Ticket& tickets() { return tickets_; }  // the next one

  // If it is cut into parts in memory, from how many places records of `text_bytes` can be written
  // at a time, all of them, from `runs` in cells of `cell_bytes` (docs/parts.md); otherwise 1.
  std::size_t streams(std::uint64_t text_bytes, std::size_t runs, std::uint64_t cell_bytes) const;
  OutputParts& parts() { return *parts_; }

  // As SharedText::sums(); of this sort alone, if it is.
  std::vector<MultisetHash> sums(std::span<const MultisetHash> counted) const;
  // Makes the output appear. REQUIRES: all is written. True if an existing file was written in
  // place.
  bool publish();

 private:
  void write_header(std::optional<std::string> header);
  // A caller gets the part of this sort only.
  SharedText* shared_output() const {
    return options_.output_caller == nullptr ? options_.shared : nullptr;
  }

  const TextSortOptions& options_;
  TextMemory& memory_;
  Monitor& monitor_;
  std::unique_ptr<Output> output_;  // null if it is shared
  OutputParts* parts_ = nullptr;    // of the output, if it is cut into some
  std::unique_ptr<ByteSink> sink_;
  std::unique_ptr<TextOutput> text_;
  Ticket tickets_{};
};

}  // namespace xxl
