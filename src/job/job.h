// Options of every sort and join of the engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/machine_limits.h"
#include "base/time_line.h"
#include "io/codec.h"
#include "io/io_queue.h"
#include "run/output_parts.h"
#include "sort/accelerator.h"
#include "xxl/job.h"

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

// What a job uses beside what the public headers let it say.
struct JobMeans {
  Accelerator* accelerator = nullptr;  // used as `acceleration` says; may be null with `never`
  Acceleration acceleration = Acceleration::never;
  std::uint64_t worth_accelerating = kWorthAccelerating;  // bytes, where that must pay
  io::IoService::Factory queue_factory;  // if set, makes the I/O queues instead (tests, wrappers)
  std::stop_token stop;                  // ends the job, until its output begins to appear
  TimeLine* time_line = nullptr;         // what was done when; may be null
  std::function<FileTraffic()> file_traffic;  // of files that others read and write for the job
};

inline bool has_parts(const FileJob& job) {
  return job.parts != 0 || job.part_bytes != 0 || !job.part_by.empty();
}

// A job of files, as the engine is asked for it.
struct JobOptions : FileJob, JobMeans {
  io::IoQueue* output_caller = nullptr;  // if set, takes the output in place of a file (io::File)

  std::string record_kind;  // of the output, as --record has it: for the manifest of its parts
  std::function<std::string(std::string_view record)> key_text;  // for that; empty: the record
  // With parts by a key, of a general job: gives that key once headers are known.
  std::function<PartKey()> keys_of_parts;
  // What memory_bytes is a part of, if it is not all of -S: for messages.
  std::uint64_t all_memory_bytes = 0;

  // Without a number, one for each processor.
  unsigned thread_count() const { return threads != 0 ? threads : available_processors(); }
  std::uint64_t given_memory_bytes() const { return std::max(memory_bytes, all_memory_bytes); }
  bool in_parts() const { return has_parts(*this); }
  Codec output_codec() const {
    return compressed_by_suffix && !in_parts() ? io::output_codec_of(output) : Codec::none;
  }
};

}  // namespace xxl
