// The memory of a general sort: one region, divided among its phases. See
// docs/internals/general-sort.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/memory_region.h"
#include "base/monitor.h"
#include "job/general_sort/general_plan.h"
#include "merge/general_merger.h"
#include "run/general_scratch.h"

namespace xxl {

class GeneralMemory {
 public:
  // Plans for `input`, with_best_threads(). Takes no memory yet.
  // `monitor` must outlive it. Throws Error{no_space} if there is too little for one.
  GeneralMemory(const GeneralPlanInput& input, Monitor& monitor);

  // The planned input; its threads are those to be used.
  const GeneralPlanInput& input() const { return input_; }
  unsigned threads() const { return input_.threads; }
  const GeneralGeometry& geometry() const { return geometry_; }
  // True if the input is known to be small enough to be sorted without scratch.
  bool holds_input() const { return input_.size_known && geometry_.passes == 0; }
  // The most scratch that runs of as much input as is known take; 0 if all of it stays in memory.
  std::uint64_t scratch_bytes() const { return holds_input() ? 0 : scratch_bytes_of_runs(); }
  std::uint64_t scratch_bytes_of_runs() const;

  // Divides the memory as planned; also again, for regions that take records of `longest_record`
  // bytes (0: none is known to be long), which must be possible. None of it may be in use; its
  // content stays.
  void divide(std::size_t longest_record);
  // The longest record that divide() has room for, more than `from`; 0 if there is none.
  std::size_t longest_possible(std::size_t from) const;

  // For transfers to and from an accelerator: stays where it is when the rest is divided again.
  std::span<std::byte> staging();

  // After divide(), until the next:
  // One after the other, and what is left behind them.
  std::span<std::byte> regions() const { return regions_; }
  WriteBuffers& write_buffers() { return *write_buffers_; }
  // For the output: of the same memory, so for the time when all runs are written.
  WriteBuffers& output_buffers() { return *output_buffers_; }
  CellWorkspace& workspace(unsigned thread) { return workspaces_[thread]; }
  const std::vector<CellWorkspace>& workspaces() const { return workspaces_; }

 private:
  std::optional<GeneralGeometry> plan_for(std::size_t longest_record) const;

  GeneralPlanInput input_;
  GeneralGeometry geometry_;
  Monitor& monitor_;
  MemoryRegion staging_;
  MemoryRegion region_;
  std::span<std::byte> regions_;
  std::unique_ptr<WriteBuffers> write_buffers_;
  std::unique_ptr<WriteBuffers> output_buffers_;
  std::vector<CellWorkspace> workspaces_;
};

}  // namespace xxl
