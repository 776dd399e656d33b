#include "job/general_sort/file_merge_plan.h"

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "io/io_queue.h"
#include "io/open_files.h"
#include "job/general_sort/file_cursor.h"
#include "job/general_sort/long_records.h"
#include "job/order_guess.h"
#include "job/output.h"

namespace xxl {
namespace {

constexpr std::size_t kFileBufferBytes = 512 * kKiB;  // of a file, two halves
constexpr std::size_t kMinFileBufferBytes = 8 * kKiB;
constexpr std::size_t kJoinedBytes = 32 * kKiB;  // longer records may lie in several buffers
// More files take longer to be merged than to be sorted, by one thread.
constexpr std::size_t kMostGuessedFiles = 16;

// A half holds all of a small file.
std::size_t buffer_bytes(const io::File& file, std::size_t most) {
  if (!file.seekable()) return most;
  const auto half = round_up<std::uint64_t>(std::max<std::uint64_t>(file.size(), 1), kSectorBytes);
  return static_cast<std::size_t>(std::min<std::uint64_t>(2 * half, most));
}

}  // namespace

std::size_t files_at_once(const GeneralSortOptions& options, const Inputs& inputs,
                          const GeneralGeometry& geometry, unsigned threads, bool is_little) {
  const std::size_t by_memory = geometry.merge_bytes / (2 * kMinFileBufferBytes + kJoinedBytes);
  const std::size_t degree = std::max<std::size_t>(
      2, std::min<std::size_t>(options.batch_size != 0 ? options.batch_size : ~0U, by_memory));
  const std::size_t others = options.scratch_dirs.size() +
                             (is_little ? 0 : io::kQueueDescriptors + options.scratch_dirs.size()) +
                             (options.compress_program.empty() ? 0 : 8 * threads) +
                             (options.in_parts() ? io::allow_part_files() : 0);
  return std::min(degree, io::files_to_merge(inputs.files.size(), others));
}

std::size_t group_from(const GeneralSortOptions& options, const Inputs& inputs, std::size_t first,
                       std::size_t degree) {
  const std::uint64_t most = inputs.most_for_decoders(options.memory_bytes);
  std::uint64_t taken = 0;
  std::size_t count = 0;
  while (count < degree && first + count < inputs.files.size()) {
    taken += inputs.files[first + count].decoder_bytes();
    if (count > 0 && taken > most) break;
    ++count;
  }
  return count;
}

FileMergePlan plan_file_merge(const GeneralGeometry& geometry, std::span<const io::File> files) {
  const std::size_t most = round_down(
      std::min(kFileBufferBytes, geometry.merge_bytes / 2 / files.size()), 2 * kSectorBytes);
  FileMergePlan plan;
  plan.joined_bytes = geometry.memory_bytes - geometry.write_bytes;
  for (const io::File& file : files) {
    plan.buffer_bytes.push_back(buffer_bytes(file, most));
    plan.joined_bytes -= plan.buffer_bytes.back();
  }
  return plan;
}

std::uint64_t joined_bytes_needed(const GeneralSortOptions& options, Inputs& inputs,
                                  std::size_t longest) {
  std::uint64_t needed = 0, before = 0;
  bool has_stream = false;
  for (io::File& file : inputs.files) {
    const RecordLengths::Longest of_file = longest_of(file, options.syntax, options.stop);
    has_stream |= !file.seekable();
    if (of_file[0] >= kJoinedBytes) needed += JoinedRecord::memory_bytes(of_file[0]);
    if (of_file[1] >= kJoinedBytes) before = std::max(before, of_file[1]);
  }
  if (has_stream || needed == 0) needed += JoinedRecord::memory_bytes(longest);
  return needed + (before == 0 ? 0 : JoinedRecord::memory_bytes(before));
}

bool may_be_sorted(const GeneralSortOptions& options) {
  const bool may_be_merged = !options.tags.any() || options.tags.kind == RecordTags::Kind::input;
  if (options.merge_only || !may_be_merged || options.limit || options.keys == nullptr ||
      options.keys->is_costly_in_full() || options.acceleration == Acceleration::always ||
      !output_appears_at_end(options)) {
    return false;
  }
  const std::vector<std::string> paths = input_paths(options.inputs);
  if (paths.size() > kMostGuessedFiles) return false;
  const auto files =
      inputs_to_guess(paths, recognize_general(options.syntax, options.compressed_by_suffix));
  if (!files) return false;
  std::uint64_t bytes = 0;
  for (const io::File& file : *files) bytes += file.size();
  return bytes > options.memory_bytes &&
         std::all_of(files->begin(), files->end(), [&](const io::File& file) {
           return looks_sorted(file, options.syntax, *options.keys);
         });
}

}  // namespace xxl
