// Options of every sort and join of files, and their reports.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "xxl/storage.h"

namespace xxl {

// The current phase of a job.
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
  std::atomic<Phase> phase{Phase::starting};        // the current phase
  std::atomic<std::uint64_t> phase_bytes_total{0};  // in this phase; 0 when unknown (a pipe)
  std::atomic<std::uint64_t> phase_bytes_done{0};   // so far in this phase
  std::atomic<unsigned> pass{0};                    // current merge pass, from 1
  std::atomic<unsigned> passes{0};                  // all merge passes
  std::atomic<std::uint64_t> scratch_bytes{0};      // scratch space in use now
  std::atomic<std::uint64_t> read_wait_ns{0};       // see PhaseReport::read_wait_seconds
  std::atomic<std::uint64_t> write_wait_ns{0};      // see PhaseReport::write_wait_seconds
};

// Bytes of files read and written for a job by its caller so far.
struct FileTraffic {
  std::uint64_t read = 0;     // bytes read
  std::uint64_t written = 0;  // bytes written
};

// Members of every job.
struct FileJob {
  std::string output = "-";  // "-" is standard output; may be one of the inputs
  // Partitioned output: with one of the next three members, `output` is a directory of files by
  // ranges of keys, with a manifest. The manifest has the size, first and last key, and checksum of
  // each part.
  std::uint64_t parts = 0;       // number of part files, of roughly equal size; a join then reads
                                 // its inputs twice, so they cannot be pipes
  std::uint64_t part_bytes = 0;  // most bytes of a part file
  std::string part_by;           // a file for each value of this key, which becomes the first sort
                                 // key; for lines the number of a field, from 1; for a join the
                                 // first column of the left key
  bool verify = false;  // read the output back from the disk before it appears, and compare it; not
                        // for standard output, pipes and devices
  std::uint64_t memory_bytes = 0;  // limit of the process, less kMemoryConstantBytes; 0: half of
                                   // the free memory
  std::vector<std::string> scratch_dirs;  // used at the same time, best one on each disk; empty:
                                          // $TMPDIR, /var/tmp or /tmp
  unsigned threads = 0;                   // 0: one for each core
  unsigned batch_size = 0;                // most runs merged at once; 0: as many as memory allows
  Backend backend = Backend::automatic;   // how to access disks
  // Names that end in .gz .bgz .zst .lz4 .bz2 .xz are compressed files. Text that begins like such
  // a file is decompressed as well, and text that begins like a table or an archive is refused.
  // False: files are read and written as they are.
  bool compressed_by_suffix = true;
  Codec scratch_codec = Codec::none;  // for scratch blocks: lz4, zstd or none
  int scratch_level = 0;              // 0: the codec's default
  Progress* progress = nullptr;       // updated while running; owned by the caller; may be null
};

// Measurements of a phase.
struct PhaseReport {
  std::string name;                             // "form runs", "merge pass 1", ...
  std::chrono::steady_clock::time_point start;  // time of its start
  double seconds = 0;                           // from its start to its end
  std::uint64_t bytes_read = 0;                 // from files and scratch
  std::uint64_t bytes_written = 0;              // to files and scratch
  double read_wait_seconds = 0;                 // waiting for a read, with nothing else to do
  double write_wait_seconds = 0;                // waiting for a write to free a buffer
  double worker_busy_seconds = 0;               // summed over workers
};

// Measurements of a whole job.
struct Measurements {
  double seconds = 0;                                        // from start to end
  std::vector<PhaseReport> phases;                           // in order
  std::uint64_t peak_memory_bytes = 0;                       // resident memory of the process
  std::uint64_t scratch_bytes = 0;                           // most scratch space in use at once
  std::vector<std::uint64_t> scratch_bytes_written_per_dir;  // see FileJob::scratch_dirs
  bool output_in_place = false;  // an existing file was overwritten: it could not be replaced
};

// What is wrong with rows of CSV and TSV, and JSON lines.
struct RowFaults {
  std::uint64_t skipped = 0;   // rows left out
  std::uint64_t kept = 0;      // rows kept in the output; by default, those with another number of
                               // fields than the first row
  std::string first_fault;     // file, line and fault of the first such row
  std::uint64_t comments = 0;  // comment lines left out: those of all inputs but the first
  std::vector<std::string> missing_members{};  // of JSON lines: that the job needs and no line has
};

// Work of the GPUs of a job.
struct AcceleratorReport {
  // One GPU.
  struct Device {
    std::string name;         // name given by the driver
    double sort_seconds = 0;  // time of sorting
    double in_seconds = 0;    // time of copies to it
    double out_seconds = 0;   // time of copies from it
  };
  std::vector<Device> devices;  // the GPUs used
};

}  // namespace xxl
