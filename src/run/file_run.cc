#include "run/file_run.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/memory_region.h"
#include "base/thread.h"
#include "base/units.h"
#include "io/input_checks.h"
#include "io/transfer.h"

namespace xxl {
namespace {

std::size_t records_per_block(std::size_t record_bytes, std::size_t block_bytes) {
  XXL_CHECK(block_bytes >= record_bytes + 2 * kSectorBytes);
  return (block_bytes - 2 * kSectorBytes) / record_bytes;
}

}  // namespace

FileRunSums::FileRunSums(std::size_t record_bytes, std::size_t block_bytes)
    : record_bytes_(record_bytes),
      records_per_block_(records_per_block(record_bytes, block_bytes)) {}

void FileRunSums::add(std::span<const std::byte> data) {
  if (!begun_.empty()) {
    const auto rest = data.first(std::min(record_bytes_ - begun_.size(), data.size()));
    begun_.insert(begun_.end(), rest.begin(), rest.end());
    data = data.subspan(rest.size());
    if (begun_.size() < record_bytes_) return;
    add_whole(begun_.data(), 1);
    begun_.clear();
  }
  const std::size_t count = data.size() / record_bytes_;
  add_whole(data.data(), count);
  const auto begun = data.subspan(count * record_bytes_);
  begun_.assign(begun.begin(), begun.end());
}

void FileRunSums::add_whole(const std::byte* records, std::size_t count) {
  while (count > 0) {
    const auto in_block = static_cast<std::size_t>(records_ % records_per_block_);
    if (in_block == 0) sums_.push_back(0);
    const std::size_t now = std::min(count, records_per_block_ - in_block);
    MultisetHash hash;
    add_records(hash, records, now, record_bytes_);
    sums_.back() += hash.sum;
    records_ += now;
    records += now * record_bytes_;
    count -= now;
  }
}

Run open_file_run(std::shared_ptr<io::File> file, std::uint64_t offset, std::uint64_t records,
                  const KeyLayout& layout, std::size_t block_bytes,
                  std::span<const std::uint64_t> sums) {
  const std::size_t record_bytes = layout.record_bytes();
  Run run;
  run.records = records;
  run.records_per_block = records_per_block(record_bytes, block_bytes);
  run.file = std::move(file);
  run.file_offset = offset;
  const std::uint64_t blocks = ceil_div<std::uint64_t>(records, run.records_per_block);
  run.blocks.resize(blocks);
  XXL_CHECK(sums.empty() || sums.size() == blocks);
  run.has_sums = !sums.empty();
  for (std::size_t i = 0; i < sums.size(); ++i) run.blocks[i].checksum = sums[i];
  constexpr std::uint64_t kBlocksPerThread = 16;
  const auto threads = static_cast<unsigned>(
      std::clamp<std::uint64_t>(ceil_div(blocks, kBlocksPerThread), 1, available_processors()));
  std::atomic<std::uint64_t> next{0};
  run_threads(threads, [&](unsigned, const std::atomic<bool>& stop) {
    std::vector<std::byte> memory(round_up(record_bytes, kSectorBytes) + 3 * kSectorBytes);
    auto* buffer = reinterpret_cast<std::byte*>(
        round_up(reinterpret_cast<std::uintptr_t>(memory.data()), kSectorBytes));
    for (std::uint64_t i; !stop && (i = next++) < blocks;) {
      const std::uint64_t start = offset + i * run.records_per_block * record_bytes;
      const std::uint64_t aligned = round_down<std::uint64_t>(start, kSectorBytes);
      const std::size_t wanted = start - aligned + record_bytes;
      if (io::read_at(*run.file, aligned, {buffer, round_up(wanted, kSectorBytes)}) < wanted) {
        io::throw_shorter(*run.file, start);
      }
      run.blocks[i].trigger = trigger_of(layout, buffer + (start - aligned));
    }
  });
  return run;
}

MultisetHash check_file_block(const Run& run, const KeyLayout& layout, std::size_t index,
                              const std::byte* records) {
  const std::size_t record_bytes = layout.record_bytes();
  const std::size_t count = run.records_in_block(index);
  const std::uint64_t first = std::uint64_t{index} * run.records_per_block;
  const auto refuse = [&](std::uint64_t record, const std::string& why) {
    throw Error(ErrorCode::bad_input, run.file->path() + ": byte " +
                                          std::to_string(run.file_offset + record * record_bytes) +
                                          ": " + why);
  };
  const auto check_order = [&](bool in_order, std::uint64_t record) {
    if (in_order) return;
    refuse(record, "record " + std::to_string(record) +
                       " is not in order: merging needs sorted inputs, sort this one without -m");
  };
  MultisetHash hash;
  add_records(hash, records, count, record_bytes);
  if (run.has_sums && hash.sum != run.blocks[index].checksum) {
    throw_not_as_written(run.file->path(), run.file_offset + first * record_bytes);
  }
  // The merge relied on the key read before.
  if (trigger_of(layout, records) != run.blocks[index].trigger) {
    refuse(first, "the file was changed while it was being read: start again");
  }
  for (std::size_t i = 1; i < count; ++i) {
    const std::byte* record = records + i * record_bytes;
    check_order(layout.compare(record - record_bytes, record) <= 0, first + i);
  }
  check_order(
      index + 1 == run.blocks.size() ||
          trigger_of(layout, records + (count - 1) * record_bytes) <= run.blocks[index + 1].trigger,
      first + count);
  return hash;
}

}  // namespace xxl
