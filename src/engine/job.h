// Options of every sort and join, and what is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/time_line.h"
#include "io/codec.h"
#include "io/io_queue.h"
#include "sort/accelerator.h"

namespace xxl {

// When an accelerator is used.
enum class Acceleration {
  never,
  if_it_pays,  // input that does not fit in memory, and is large enough
  always,      // or else Error{device} says why not
};

// Less input is sorted on the CPU in the time that an accelerator takes to start.
inline constexpr std::uint64_t kWorthAccelerating = std::uint64_t{1} << 30;

// Of `memory_bytes`, what its driver may take.
constexpr std::uint64_t most_driver_bytes(Acceleration acceleration, std::uint64_t memory_bytes) {
  return acceleration == Acceleration::if_it_pays ? memory_bytes / 2 : ~std::uint64_t{0};
}

// The process uses at most JobOptions::memory_bytes plus this for code, stacks and libraries.
inline constexpr std::uint64_t kMemoryConstantBytes = std::uint64_t{48} << 20;

struct JobOptions {
  std::string output = "-";               // "-" is standard output; may be one of the inputs
  std::uint64_t memory_bytes = 0;         // -S: bound of the process, plus kMemoryConstantBytes
  std::vector<std::string> scratch_dirs;  // -T; one or more
  unsigned parallel = 0;                  // threads; 0: as many as there are processors
  unsigned batch_size = 0;                // most runs merged at once; 0: as many as memory allows
  Accelerator* accelerator = nullptr;     // used as `acceleration` says; may be null with `never`
  Acceleration acceleration = Acceleration::never;
  io::Backend backend = io::Backend::automatic;
  io::IoService::Factory queue_factory;  // if set, makes the I/O queues instead (tests, wrappers)
  bool compressed_by_suffix = true;      // .gz .zst .lz4 are read and written; false: ignore names
  Codec temp_codec = Codec::none;        // of scratch blocks
  int temp_level = 0;                    // 0: the codec's own
  Progress* progress = nullptr;          // updated while running; may be null
  TimeLine* time_line = nullptr;         // what was done when; may be null

  Codec output_codec() const { return compressed_by_suffix ? io::codec_of(output) : Codec::none; }
};

struct PhaseReport {
  std::string name;  // "form runs", "merge pass 1", ...
  double seconds = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  double read_wait_seconds = 0;    // nothing to do but wait for a read
  double write_wait_seconds = 0;   // ... for a write to free a buffer
  double worker_busy_seconds = 0;  // summed over workers
};

// What is measured of any sort or join as a whole (engine/phase_meter.h).
struct Measurements {
  double seconds = 0;
  std::vector<PhaseReport> phases;
  std::uint64_t peak_memory_bytes = 0;  // resident, of the process
  std::uint64_t scratch_bytes = 0;      // most scratch space in use at once
  std::vector<std::uint64_t> scratch_bytes_written_per_dir;
  bool output_in_place = false;  // an existing file was overwritten: it could not be replaced
};

}  // namespace xxl
