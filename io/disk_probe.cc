#include "io/disk_probe.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "io/block_mover.h"

namespace xxl::io {
namespace {

using Clock = BlockMover::Clock;

constexpr double kGoodEnough = 0.95;  // of the best rate

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Disks may treat empty and repetitive blocks in special ways.
void fill_with_noise(std::span<std::byte> memory) {
  Random random(1);
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= memory.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(memory.data() + i, &word, sizeof(word));
  }
}

std::size_t largest_block(const ProbeOptions& options) {
  return *std::max_element(options.block_bytes.begin(), options.block_bytes.end());
}

std::size_t buffer_bytes_needed(const ProbeOptions& options) {
  return largest_block(options) * *std::max_element(options.depths.begin(), options.depths.end());
}

// One disk under measurement: a file that is full, to read from, and one that is empty, to write
// to.
class DiskProbe {
 public:
  DiskProbe(const std::string& directory, const ProbeOptions& options)
      : options_(options),
        memory_(buffer_bytes_needed(options)),
        source_(File::create_unnamed(directory)),
        target_(File::create_unnamed(directory)) {
    fill_with_noise(memory_.span());
    fill_source();
  }

  bool direct() const { return source_.direct(); }

  ProbeRow measure_row(std::size_t block_bytes, unsigned depth) {
    ProbeRow row{block_bytes, depth};
    row.read_rate = measure(row, {.source = &source_});
    row.write_rate = measure(row, {.target = &target_});
    row.both_rate = 2 * measure(row, {.source = &source_, .target = &target_});
    return row;
  }

 private:
  void fill_source() {
    IoService service(options_.backend, {});
    source_.reserve(0, options_.file_bytes);
    BlockMover mover(service, memory_.span(), largest_block(options_));
    mover.move({.target = &source_, .bytes = round_down(options_.file_bytes, kSectorBytes)});
  }

  // Bytes a second in one direction.
  double measure(const ProbeRow& row, BlockMover::Move move) {
    if (move.target != nullptr) clear_target();
    IoService service(options_.backend, {}, row.depth);
    BlockMover mover(service, memory_.span().first(row.block_bytes * row.depth), row.block_bytes);
    move.bytes = round_down(options_.file_bytes, std::uint64_t{row.block_bytes});
    move.source_bytes = move.bytes;
    move.source_start = round_down(read_until_, std::uint64_t{row.block_bytes}) % move.bytes;
    const auto start = Clock::now();
    move.deadline = start + time_slice();
    const std::uint64_t moved = mover.move(move);
    const double seconds = seconds_since(start);
    if (move.source != nullptr) read_until_ = move.source_start + moved;
    return static_cast<double>(moved) / seconds;
  }

  // The space is given back and reserved again, since a sort never writes to the same place twice.
  void clear_target() {
    if (ftruncate(target_.fd(), 0) != 0) throw_io_error(errno, "cannot cut", target_.path());
    target_.reserve(0, options_.file_bytes);
  }

  Clock::duration time_slice() const {
    constexpr std::size_t kMeasurementsPerRow = 3;
    const auto count = kMeasurementsPerRow * options_.block_bytes.size() * options_.depths.size();
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(options_.seconds / static_cast<double>(count)));
  }

  const ProbeOptions& options_;
  MemoryRegion memory_;
  File source_;
  File target_;
  std::uint64_t read_until_ = 0;  // the next measurement reads on: what was just read may be cached
};

}  // namespace

ProbeRow choose_row(std::span<const ProbeRow> rows) {
  XXL_CHECK(!rows.empty());
  double best = 0;
  for (const ProbeRow& row : rows) best = std::max(best, row.both_rate);
  const ProbeRow* choice = nullptr;
  for (const ProbeRow& row : rows) {
    if (row.both_rate < kGoodEnough * best) continue;
    const bool smaller = choice == nullptr || row.block_bytes < choice->block_bytes ||
                         (row.block_bytes == choice->block_bytes && row.depth < choice->depth);
    if (smaller) choice = &row;
  }
  return *choice;
}

ProbeResult probe_directory(const std::string& directory, const ProbeOptions& options) {
  DiskProbe probe(directory, options);
  ProbeResult result;
  result.directory = directory;
  result.backend = IoService(options.backend, {}).backend_name();
  result.direct = probe.direct();
  for (const std::size_t block_bytes : options.block_bytes) {
    for (const unsigned depth : options.depths) {
      result.rows.push_back(probe.measure_row(block_bytes, depth));
    }
  }
  result.choice = choose_row(result.rows);
  return result;
}

}  // namespace xxl::io
