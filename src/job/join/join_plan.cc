#include "job/join/join_plan.h"

#include <algorithm>

#include "base/memory_plan.h"
#include "base/units.h"
#include "io/sequential_reader.h"
#include "join/stream_joiner.h"

namespace xxl {
namespace {

constexpr MemorySlot kOutputBlock{.share = 128, .least = 4 * kKiB, .wanted = kMiB};
constexpr MemorySlot kReadBlock{.share = 16, .least = 4 * kKiB, .wanted = kMiB};
// For each thread: the records of a piece and its rows should stay in the caches of a core.
constexpr MemorySlot kPiece{.share = 128, .least = 8 * kKiB, .wanted = 256 * kKiB};
constexpr MemorySlot kPart{.share = 64, .least = 2 * kPiece.least, .wanted = 2 * kPiece.wanted};
constexpr std::size_t kMinPieceRecords = 16;
// Lists of matches are larger than records that are smaller than this.
constexpr std::size_t kLeastListedBytes = 8;
constexpr std::size_t kWriteBehindBytes = 16 * kMiB;
constexpr MemorySlot kGroup{.share = 32, .least = 32 * kKiB, .wanted = 4 * kMiB};
constexpr std::size_t kMaxFileBytes = 32 * kMiB;  // blocks of a file that is in order
constexpr std::size_t kLists = 3;                 // for each thread, and two more
// The least part of the memory for sides that a side gets.
constexpr double kLeastShare = 1.0 / 8;

}  // namespace

std::optional<JoinGeometry> plan_join_memory(const JoinPlanInput& input) {
  JoinGeometry geometry;
  const auto& [r, s] = input.sides;
  std::uint64_t left = input.memory_bytes;
  for (const auto& side : input.sides) left -= std::min(left, side.table_bytes);
  const auto region = static_cast<std::size_t>(left);
  const std::size_t threads = input.threads;
  const std::size_t record_bytes = std::max(r.record_bytes, s.record_bytes);

  geometry.output_block_bytes = kOutputBlock.power_of_two(region);
  geometry.part_bytes =
      round_up(std::max(input.row_bytes, kPart.of(region / threads)), kSectorBytes);
  geometry.output_bytes =
      round_up((threads + 2) * geometry.part_bytes +
                   std::clamp(region / 16, 4 * geometry.output_block_bytes, kWriteBehindBytes),
               geometry.output_block_bytes) +
      geometry.output_block_bytes;
  geometry.piece_records = std::max(
      kMinPieceRecords, kPiece.of(region / threads) / std::max(record_bytes, kLeastListedBytes));
  geometry.list_bytes = (kLists * threads + 2) * StreamJoiner::list_bytes(geometry.piece_records);
  geometry.list_bytes = round_up(geometry.list_bytes, kSectorBytes);
  geometry.group_bytes = round_down(kGroup.of(region), 2 * kSectorBytes);
  if (geometry.join_bytes() + 256 * kKiB > region / 2) return std::nullopt;

  const std::size_t rest = region - geometry.join_bytes();
  const auto file_bytes = [&](std::size_t most) { return std::min(most, kMaxFileBytes); };
  double share = 0.5;
  if (r.size_known && s.size_known && r.input_bytes + s.input_bytes > 0) {
    share = static_cast<double>(r.input_bytes) / static_cast<double>(r.input_bytes + s.input_bytes);
    share = std::clamp(share, kLeastShare, 1 - kLeastShare);
  }
  std::size_t r_bytes = static_cast<std::size_t>(share * static_cast<double>(rest));
  std::size_t s_bytes = rest - r_bytes;
  if (r.presorted) {
    r_bytes = file_bytes(s.presorted ? rest / 2 : rest / 8);
    if (!s.presorted) s_bytes = rest - r_bytes;
  }
  if (s.presorted) {
    s_bytes = file_bytes(r.presorted ? rest / 2 : rest / 8);
    if (!r.presorted) r_bytes = rest - s_bytes;
  }
  geometry.side_bytes = {round_down(r_bytes, kSectorBytes), round_down(s_bytes, kSectorBytes)};
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const auto& side = input.sides[i];
    if (!side.presorted) continue;
    std::size_t& block = geometry.read_block_bytes[i];
    block = round_up(std::max(side.record_bytes, kReadBlock.power_of_two(geometry.side_bytes[i])),
                     kSectorBytes);
    if (3 * io::SequentialReader::buffer_bytes(block, side.record_bytes) > geometry.side_bytes[i]) {
      return std::nullopt;
    }
  }
  return geometry;
}

}  // namespace xxl
