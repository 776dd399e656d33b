#include "job/general_sort/general_memory.h"

#include "base/error.h"
#include "base/memory_name.h"
#include "base/units.h"
#include "job/general_sort/stored_records.h"

namespace xxl {
namespace {

GeneralPlanInput best_or_refuse(const GeneralPlanInput& input) {
  if (const auto best = with_best_threads(input)) return *best;
  throw Error(ErrorCode::no_space,
              memory_of_name(input.memory_bytes) + " is too small for 1 thread: give more");
}

}  // namespace

GeneralMemory::GeneralMemory(const GeneralPlanInput& input, Monitor& monitor)
    : input_(best_or_refuse(input)), geometry_(*plan_general(input_)), monitor_(monitor) {}

std::uint64_t GeneralMemory::scratch_bytes_of_runs() const {
  return most_scratch_bytes(geometry_, input_.stored);
}

std::span<std::byte> GeneralMemory::staging() {
  if (staging_.size() < input_.staging_bytes) staging_ = MemoryRegion(input_.staging_bytes);
  return staging_.span();
}

std::optional<GeneralGeometry> GeneralMemory::plan_for(std::size_t longest_record) const {
  GeneralPlanInput input = input_;
  input.longest_record = longest_record;
  input.block_bytes = geometry_.block_bytes;  // slots of scratch have one size
  return plan_general(input);
}

std::size_t GeneralMemory::longest_possible(std::size_t from) const {
  std::size_t low = from, high = static_cast<std::size_t>(input_.memory_bytes);  // does not fit
  while (high - low > kSectorBytes) {
    const std::size_t middle = low + (high - low) / 2;
    (plan_for(middle) ? low : high) = middle;
  }
  return low == from ? 0 : low;
}

void GeneralMemory::divide(std::size_t longest_record) {
  const auto geometry = plan_for(longest_record);
  XXL_CHECK(geometry.has_value());
  // Content of the regions stays in place: a record that was cut is still to be moved.
  if (region_.size() == 0) region_ = MemoryRegion(static_cast<std::size_t>(input_.memory_bytes));
  XXL_CHECK(geometry->memory_bytes <= region_.size());
  geometry_ = *geometry;
  Carver carver(region_.span());
  const auto for_writes = carver.take(round_down(geometry_.write_bytes, kSectorBytes));
  write_buffers_ = std::make_unique<WriteBuffers>(for_writes, monitor_);
  output_buffers_ = std::make_unique<WriteBuffers>(
      for_writes.first(round_down(geometry_.output_bytes, kSectorBytes)), monitor_);
  const std::size_t item_bytes =
      round_up(geometry_.item_capacity * sizeof(StringItem), kSectorBytes);
  const auto items = [&] {
    return std::span(reinterpret_cast<StringItem*>(carver.take(item_bytes).data()),
                     geometry_.item_capacity);
  };
  workspaces_.clear();
  for (unsigned thread = 0; thread < input_.threads; ++thread) {
    CellWorkspace workspace;
    workspace.items = items();
    workspace.scratch = items();
    workspace.key_memory = carver.take(geometry_.key_bytes);
    workspaces_.push_back(workspace);
  }
  regions_ = carver.take(geometry_.merge_bytes);
}

}  // namespace xxl
