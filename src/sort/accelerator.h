// The seam between the engine and processors that have memory of their own (gpu/).
//
// An accelerator holds the records of a chunk in its own memory; the host only passes them on. So
// run formation takes a small part of -S, and a run is as long as the accelerator's memory. Pieces
// of a merge go there and back one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "base/workers.h"
#include "record/key_layout.h"
#include "sort/chunk_sorter.h"
#include "sort/general_sorter.h"
#include "sort/piece_sorter.h"
#include "xxl/job.h"

namespace xxl {

// What an accelerator would do for a sort; sizes in bytes.
struct AcceleratorPlan {
  std::uint64_t chunk_bytes = 0;  // records that certainly fit in a run
  unsigned chunks = 1;            // that it holds at a time; one: all of the input is one chunk
  std::size_t slice_bytes = 0;    // in which sorted records come back, through the host's memory
  std::uint64_t host_bytes = 0;   // of the host's memory that its driver takes
  std::uint64_t input_bytes = 0;  // for which it was made; 0: unknown
  std::string description;        // for --explain and --stats: "1 x NVIDIA H200"
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;

  // How it would sort `input_bytes` (0: not known) of records of `layout` that come back in slices
  // of at most `slice_bytes`. Nothing if it cannot, if it would not pay, or if its driver would
  // take more than `most_host_bytes` of the host's memory (it is then not started, if that is known
  // in advance): then `reason` says why.
  virtual std::optional<AcceleratorPlan> plan(const KeyLayout& layout, std::uint64_t input_bytes,
                                              std::size_t slice_bytes,
                                              std::uint64_t most_host_bytes,
                                              std::string& reason) = 0;
  // A sorter as planned. `staging`, some slices long, is host memory that stays pinned while the
  // sorter lives. All references must outlive it. Throws Error{no_space} if other processes have
  // taken the accelerator's memory in the meantime.
  virtual std::unique_ptr<ChunkSorter> make_sorter(const KeyLayout& layout,
                                                   const AcceleratorPlan& plan, bool unique,
                                                   std::span<std::byte> staging, Workers& workers,
                                                   Mailbox& mailbox) = 0;
  // As plan(), for text that is transferred through `staging_bytes` of the host's memory; the
  // chunk's bytes are those of the input. `spec.keys` may be null, if they are not known yet.
  virtual std::optional<AcceleratorPlan> plan_general(const GeneralSorterSpec& spec,
                                                      std::size_t staging_bytes,
                                                      std::uint64_t most_host_bytes,
                                                      std::string& reason) = 0;
  // `staging`, of as many bytes as planned with, and all references must outlive the sorter. Throws
  // Error{no_space} as make_sorter() does.
  virtual std::unique_ptr<GeneralSorter> make_general_sorter(const GeneralSorterSpec& spec,
                                                             std::span<std::byte> staging,
                                                             Mailbox& mailbox) = 0;
  // How fast it would merge if limited only by its links: bytes a second carried in and out again.
  // 0 if it cannot be used; then `reason` says why.
  virtual double merge_rate(std::string& reason) = 0;
  // Up to `count` sorters of pieces of up to `capacity` records, at least one. Each may be used by
  // one thread at a time, and throws Error{device} where it fails. `staging`, pinned host memory
  // for `capacity` records for each of `count`, and `layout` must outlive them. Throws
  // Error{no_space} if the accelerator has too little memory. REQUIRES: plan() or merge_rate()
  // found that it can be used.
  virtual std::vector<std::unique_ptr<PieceSorter>> make_merge_sorters(
      const KeyLayout& layout, bool unique, unsigned count, std::size_t capacity,
      std::span<std::byte> staging) = 0;
  // Makes transfers of `memory` of the host fast until unpin().
  virtual void pin(std::span<std::byte> memory) = 0;
  virtual void unpin(std::span<std::byte> memory) = 0;
  // Of the last sorter, which must still live.
  virtual AcceleratorReport report() const = 0;
};

}  // namespace xxl
