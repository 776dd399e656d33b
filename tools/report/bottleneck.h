// Where each phase of a job was bound, and what would help.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/job_sampler.h"
#include "xxl/job.h"

namespace xxl::cli {

// What a job was given, as far as it says what would help.
struct JobMeansGiven {
  std::uint64_t memory_bytes = 0;
  std::uint64_t input_bytes = 0;   // of its files; 0: not known
  std::uint64_t sorted_bytes = 0;  // that memory would have to hold; 0: not known
  unsigned threads = 0;
  unsigned passes = 0;              // of merging
  unsigned processors = 0;          // that it may use
  std::uint64_t machine_bytes = 0;  // memory of the machine
  bool scratch_compressed = false;
  bool knows_temp_compress = false;           // there is an option for that
  std::string scratch_track = {};             // "disk 254:0" of the first scratch directory
  std::vector<std::string> file_tracks = {};  // of the inputs and the output
};

enum class Bound { nothing, processors, one_thread, disk_read, disk_write, gpu, pipe_in, pipe_out };

// What a disk, a GPU or a pipe did in a phase: parts of its time from 0 to 1, and bytes.
struct TrackUse {
  std::string track;
  double busy = 0;
  double reading = 0;
  double writing = 0;
  double read_bytes = 0;
  double written_bytes = 0;
};

// What a phase used, and what bound it.
struct PhaseUse {
  std::string name;
  std::uint64_t start = 0;  // as TimeLine::now()
  double seconds = 0;
  double read_bytes = 0;
  double written_bytes = 0;
  double cores = 0;      // busy on average
  double others = 0;     // busy with other programs
  double read_wait = 0;  // seconds
  double write_wait = 0;
  std::vector<TrackUse> tracks;  // by name
  Bound bound = Bound::nothing;
  std::string bound_by;            // "disk 254:0, which was read 97 % of the time"
  std::vector<std::string> helps;  // sentences; empty: nothing but what the text above says
};

// Measures `phases`, and judges them. `buckets`: as JobSampler makes them.
std::vector<PhaseUse> judge_phases(const std::vector<PhaseReport>& phases,
                                   const TimeBuckets& buckets, const JobMeansGiven& given);

}  // namespace xxl::cli
