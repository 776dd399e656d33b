// Sorting files larger than memory: the public entry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/time_line.h"
#include "io/io_queue.h"
#include "record/record_format.h"
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

// Whether the accelerator that forms runs, or that `Acceleration::always` asks for, merges too.
enum class AcceleratedMerge {
  automatic,  // where the processors are measured to be what a merge waits for
  never,
  always,  // from the start
};

struct SortOptions {
  RecordFormat format;
  std::vector<std::string> inputs;        // "-" is standard input; empty means {"-"}
  std::string output = "-";               // "-" is standard output; may be one of the inputs
  std::uint64_t memory_bytes = 0;         // -S: bound of the process, plus kMemoryConstantBytes
  std::vector<std::string> scratch_dirs;  // -T; one or more
  unsigned parallel = 0;                  // threads; 0: as many as there are processors
  unsigned batch_size = 0;                // most runs merged at once; 0: as many as memory allows
  bool unique = false;                    // -u: keep the first record of each key
  bool merge_only = false;                // -m: the inputs are sorted, merge them
  Accelerator* accelerator = nullptr;     // used as `acceleration` says; may be null with `never`
  Acceleration acceleration = Acceleration::never;
  AcceleratedMerge merge_on_accelerator = AcceleratedMerge::automatic;
  io::Backend backend = io::Backend::automatic;
  io::IoService::Factory queue_factory;  // if set, makes the I/O queues instead (tests, wrappers)
  Progress* progress = nullptr;          // updated while running; may be null
  TimeLine* time_line = nullptr;         // what was done when; may be null
};

// The process uses at most SortOptions::memory_bytes plus this for code, stacks and libraries.
inline constexpr std::uint64_t kMemoryConstantBytes = std::uint64_t{48} << 20;

// What will be done, before it is done (--explain).
struct SortPlan {
  std::uint64_t input_bytes = 0;  // 0 when unknown
  bool input_size_known = true;
  std::uint64_t memory_bytes = 0;
  std::uint64_t sort_memory_bytes = 0;  // of it, records held while runs are formed
  std::uint64_t block_bytes = 0;        // of a run
  std::uint64_t expected_runs = 0;      // on random input; 1: sorted in memory, no scratch
  std::uint64_t merge_degree = 0;
  unsigned passes = 0;              // merge passes expected; 0: none
  std::uint64_t scratch_bytes = 0;  // in the scratch directories: reserved, or with `limit` at most
  std::optional<std::uint64_t> limit;  // only the first so many records are wanted (text)
  unsigned threads = 0;
  std::string record_kind;     // key64, generic, ...
  std::string backend;         // io_uring or threads
  std::string device = "cpu";  // or what the accelerator calls itself
  std::string no_accelerator;  // why it is not used, if it could have been
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

// What is measured of any sort or join as a whole (pipeline/phase_meter.h).
struct Measurements {
  double seconds = 0;
  std::vector<PhaseReport> phases;
  std::uint64_t peak_memory_bytes = 0;  // resident, of the process
  std::uint64_t scratch_bytes = 0;      // most scratch space in use at once
  std::vector<std::uint64_t> scratch_bytes_written_per_dir;
  bool output_in_place = false;  // an existing file was overwritten, which could not be replaced
};

struct SortReport : Measurements {
  SortPlan plan;
  std::uint64_t records_in = 0;
  std::uint64_t records_out = 0;
  std::uint64_t skipped = 0;   // malformed records left out (text)
  std::uint64_t checksum = 0;  // multiset hash of the output
  std::uint64_t runs = 0;
  std::uint64_t merge_degree = 0;  // largest used
  unsigned passes = 0;             // merge passes done
  AcceleratorReport accelerator;
  std::uint64_t merged_bytes = 0;                 // of all merge passes
  std::uint64_t merged_on_accelerator_bytes = 0;  // of them
  std::string merged_on_cpu_because;  // the accelerator was to merge and could not; or empty
};

// What sort would do. Throws Error for bad options, missing files, a file that is not a whole
// number of records, and a budget that is too small, all before anything is written.
SortPlan plan_sort(const SortOptions& options);

// Sorts. When it returns, the output is complete and checked; when it throws Error, the output does
// not exist or is what it was before (standard output excepted).
SortReport external_sort(const SortOptions& options);

// First place where a file is not in order (with `unique`: not strictly ascending).
struct OrderCheck {
  bool ordered = true;
  std::uint64_t record = 0;  // number, from 0, of the first record that is out of order
  std::uint64_t offset = 0;  // its place in the file in bytes
};

// sort -c: options.inputs has one file. Nothing is written.
OrderCheck check_order(const SortOptions& options);

}  // namespace xxl
