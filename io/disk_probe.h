// Measures disks: their rates, the block size and queue depth needed for them, and the time of a
// sort's I/O alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/io_queue.h"

namespace xxl::io {

struct ProbeOptions {
  // Of each of the two unnamed files that exist during the probe.
  std::uint64_t file_bytes = kGiB;
  // For all rows together; writing the first file comes on top.
  double seconds = 5;
  Backend backend = Backend::automatic;
  // Blocks must be multiples of kSectorBytes and at most file_bytes.
  std::vector<std::size_t> block_bytes = {64 * kKiB, 256 * kKiB, kMiB, 4 * kMiB};
  std::vector<unsigned> depths = {1, 4, 16, 32};
};

// Rates in bytes a second, of transfers of `block_bytes` with `depth` in flight.
struct ProbeRow {
  std::size_t block_bytes = 0;
  unsigned depth = 0;
  double read_rate = 0;
  double write_rate = 0;  // to reserved space that is written for the first time, as a sort does
  double both_rate = 0;   // reading and writing at once, the sum of both
};

struct ProbeResult {
  std::string directory;
  std::string backend;  // IoService::backend_name()
  bool direct = false;  // the page cache was bypassed
  std::vector<ProbeRow> rows;
  ProbeRow choice;
};

// Measures the disk that `directory` is on. Throws Error{io} or Error{no_space}.
ProbeResult probe_directory(const std::string& directory, const ProbeOptions& options = {});

// The row with the smallest blocks, and of these the smallest depth, that comes within 5% of the
// best rate of reading and writing at once. REQUIRES: rows are not empty.
ProbeRow choose_row(std::span<const ProbeRow> rows);

}  // namespace xxl::io
