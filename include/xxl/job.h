// Options of every sort and join of files, and what is measured.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace xxl {

// How the disks are talked to.
enum class Backend {
  automatic,  // io_uring unless the kernel refuses it; threads for file systems in memory
  io_uring,
  threads,
};

// How files and scratch blocks are compressed.
// bzip2 and xz are read, not written.
enum class Codec { none, gzip, zstd, lz4, bzip2, xz };

// What a job is at.
enum class Phase {
  starting,
  forming_runs,
  merging,
  joining,
  building_table,
  probing,
  verifying,
  finishing
};

// Counters of a job while it runs, which any thread may read.
struct Progress {
  std::atomic<Phase> phase{Phase::starting};        // which the following two are of
  std::atomic<std::uint64_t> phase_bytes_total{0};  // 0 when unknown (a pipe)
  std::atomic<std::uint64_t> phase_bytes_done{0};   // so far
  std::atomic<unsigned> pass{0};                    // of merging, from 1
  std::atomic<unsigned> passes{0};                  // of merging, in all
  std::atomic<std::uint64_t> scratch_bytes{0};      // in use now
  std::atomic<std::uint64_t> read_wait_ns{0};       // so far, as PhaseReport::read_wait_seconds
  std::atomic<std::uint64_t> write_wait_ns{0};      // ... write_wait_seconds
};

// How much of files was read and written so far for a job, but not by the job itself.
struct FileTraffic {
  std::uint64_t read = 0;     // in bytes
  std::uint64_t written = 0;  // in bytes
};

// A job uses at most FileJob::memory_bytes plus this for code, stacks and libraries.
inline constexpr std::uint64_t kMemoryConstantBytes = std::uint64_t{48} << 20;

// What every job has.
struct FileJob {
  std::string output = "-";  // "-" is standard output; may be one of the inputs
  // The output as several files, by ranges of keys: if one of the three is given, `output` is a
  // directory that appears with them and a manifest, in which each part has its size, first and
  // last key, and checksum.
  std::uint64_t parts = 0;       // so many, about equal in size unless records are left out; of a
                                 // join, whose inputs are read twice then: no pipes
  std::uint64_t part_bytes = 0;  // as many as it takes, each at most so large
  std::string part_by;           // one for each value of this column, by which is sorted first:
                                 // given as a key (of lines: the number of a field, from 1); of a
                                 // join the first column of its key of R
  bool verify = false;  // before the output appears, it is read back from the disk and compared
                        // with what was written; not for standard output, pipes and devices
  std::uint64_t memory_bytes = 0;  // bound of the process, plus kMemoryConstantBytes; 0: half of
                                   // what it may still take
  std::vector<std::string> scratch_dirs;  // all are used at the same time: one on each disk is
                                          // best; none: $TMPDIR, else /var/tmp, else /tmp
  unsigned parallel = 0;                  // threads; 0: as many as there are processors
  unsigned batch_size = 0;                // most runs merged at once; 0: as many as memory allows
  Backend backend = Backend::automatic;   // of all disks
  // Names that end in .gz .bgz .zst .lz4 .bz2 .xz are compressed files. Lines and rows that begin
  // as such a file are decompressed, too, and refused where they are a table or an archive. False:
  // all are read and written as they are.
  bool compressed_by_suffix = true;
  Codec temp_codec = Codec::none;  // of scratch blocks: lz4, zstd or none
  int temp_level = 0;              // 0: the codec's default
  Progress* progress = nullptr;    // updated while running; owned by the caller; may be null
};

// What is measured of a phase.
struct PhaseReport {
  std::string name;                             // "form runs", "merge pass 1", ...
  std::chrono::steady_clock::time_point start;  // when it began
  double seconds = 0;                           // from its start to its end
  std::uint64_t bytes_read = 0;                 // of files and scratch
  std::uint64_t bytes_written = 0;              // to files and scratch
  double read_wait_seconds = 0;                 // nothing to do but wait for a read
  double write_wait_seconds = 0;                // ... for a write to free a buffer
  double worker_busy_seconds = 0;               // summed over workers
};

// What is measured of a job as a whole.
struct Measurements {
  double seconds = 0;                                        // from start to end
  std::vector<PhaseReport> phases;                           // in order
  std::uint64_t peak_memory_bytes = 0;                       // resident, of the process
  std::uint64_t scratch_bytes = 0;                           // most scratch space in use at once
  std::vector<std::uint64_t> scratch_bytes_written_per_dir;  // as FileJob::scratch_dirs
  bool output_in_place = false;  // an existing file was overwritten: it could not be replaced
};

// What the devices of an accelerator did.
struct AcceleratorReport {
  // One of them.
  struct Device {
    std::string name;         // as the driver says
    double sort_seconds = 0;  // at work on records
    double in_seconds = 0;    // copies to it
    double out_seconds = 0;   // copies from it
  };
  std::vector<Device> devices;  // those that were used
};

}  // namespace xxl
