#include "report/bottleneck.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/units.h"
#include "report/report_text.h"

namespace xxl::cli {
namespace {

// What is busy for less of the time than this was waited for, but something else more often.
constexpr double kMostly = 0.8;
constexpr double kOften = 0.6;
constexpr double kAlways = 0.9;
constexpr double kTooShort = 0.03;  // seconds: the clock of processors is not finer
constexpr double kFreePart = 0.3;   // of processors, that compressing could use

bool is_gpu(const TrackUse& use) {
  return use.track.starts_with("GPU");
}
bool is_disk(const TrackUse& use) {
  return use.track.starts_with("disk");
}

PhaseUse measure(const PhaseReport& phase, const TimeBuckets& buckets,
                 const std::set<std::string>& tracks) {
  PhaseUse use;
  use.name = phase.name;
  use.start =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(phase.start.time_since_epoch()).count());
  use.seconds = phase.seconds;
  if (phase.seconds <= 0) return use;
  const std::uint64_t end = use.start + static_cast<std::uint64_t>(phase.seconds * 1e9);
  const auto sum = [&](const TimeBuckets::Name& name) { return buckets.sum(name, use.start, end); };
  const auto part = [&](const TimeBuckets::Name& name) {
    return std::min(sum(name) / phase.seconds, 1.0);
  };
  use.cores = (sum(series::kUser) + sum(series::kSystem)) / phase.seconds;
  use.others = sum(series::kOthers) / phase.seconds;
  use.read_wait = phase.read_wait_seconds > 0 ? phase.read_wait_seconds : sum(series::kReadWait);
  use.write_wait =
      phase.write_wait_seconds > 0 ? phase.write_wait_seconds : sum(series::kWriteWait);
  use.read_bytes = sum({"files", "read"});
  use.written_bytes = sum({"files", "write"});
  for (const std::string& track : tracks) {
    TrackUse of{.track = track,
                .busy = part({track, series::kBusy}),
                .reading = part({track, "read busy"}),
                .writing = part({track, "write busy"}),
                .read_bytes = sum({track, "read"}),
                .written_bytes = sum({track, "write"})};
    if (of.busy <= 0) continue;
    use.read_bytes += of.read_bytes;
    use.written_bytes += of.written_bytes;
    use.tracks.push_back(std::move(of));
  }
  // What the phase has counted itself is exact.
  if (phase.bytes_read > 0) use.read_bytes = static_cast<double>(phase.bytes_read);
  if (phase.bytes_written > 0) use.written_bytes = static_cast<double>(phase.bytes_written);
  return use;
}

template <class Wanted>
const TrackUse* busiest(const PhaseUse& use, Wanted wanted) {
  const TrackUse* most = nullptr;
  for (const TrackUse& track : use.tracks) {
    if (wanted(track) && (most == nullptr || track.busy > most->busy)) most = &track;
  }
  return most;
}

void set(PhaseUse& use, Bound bound, std::string text) {
  use.bound = bound;
  use.bound_by = std::move(text);
}

std::string speed_text(double bytes, double seconds) {
  return decimal_text(bytes / seconds / 1e9) + " GB/s";
}

void judge(PhaseUse& use, const JobMeansGiven& given) {
  const auto width = static_cast<double>(std::max(1U, std::min(given.threads, given.processors)));
  if (use.seconds < kTooShort) return set(use, Bound::nothing, "too short to tell");
  if (use.cores >= kMostly * width) {
    return set(use, Bound::processors,
               "the processors: " + decimal_text(use.cores, 1) + " of " + decimal_text(width, 0) +
                   " were busy on average");
  }
  if (use.cores >= 1 - kMostly && use.cores + use.others >= kAlways * width) {
    return set(use, Bound::processors,
               "the processors, which are shared: " + decimal_text(use.cores, 1) + " of " +
                   decimal_text(width, 0) + " were busy with this, " + decimal_text(use.others, 1) +
                   " with other programs");
  }
  const TrackUse* const gpu = busiest(use, is_gpu);
  if (gpu != nullptr && gpu->busy >= kMostly) {
    return set(use, Bound::gpu, gpu->track + ", busy " + percent_text(gpu->busy) + " of the time");
  }
  const TrackUse* const disk = busiest(use, is_disk);
  if (disk != nullptr && disk->busy >= kOften) {
    const bool writes = disk->writing * 1.1 > disk->reading && disk->written_bytes > 0;
    const bool both = disk->reading >= kOften && disk->writing >= kOften;
    return set(use, writes ? Bound::disk_write : Bound::disk_read,
               disk->track + ", which had something to " +
                   (both ? "read or write " : (writes ? "write " : "read ")) +
                   percent_text(disk->busy) + " of the time, at " +
                   speed_text(disk->read_bytes + disk->written_bytes, use.seconds));
  }
  const TrackUse* const pipe = busiest(use, [](const TrackUse& t) { return t.track == "pipe"; });
  if (pipe != nullptr && pipe->busy >= kOften) {
    const bool out = pipe->writing > pipe->reading;
    return set(use, out ? Bound::pipe_out : Bound::pipe_in,
               std::string(out ? "who reads the output" : "who writes the input") +
                   ": the pipe was waited for " +
                   percent_text(out ? pipe->writing : pipe->reading) + " of the time");
  }
  const double waits = (use.read_wait + use.write_wait) / use.seconds;
  if (waits >= kOften) {
    const bool writes = use.write_wait > use.read_wait;
    return set(use, writes ? Bound::disk_write : Bound::disk_read,
               std::string("waiting for ") + (writes ? "writes" : "reads") + ", " +
                   percent_text(waits) + " of the time");
  }
  if (use.name == "finish" || use.name == "finishing" || use.name == "sync") {
    return set(use, Bound::disk_write,
               "the disk of the output, which has to say that all is on it (fsync)");
  }
  if (width > 1 && use.cores >= kMostly && use.cores <= 1.3) {
    return set(use, Bound::one_thread, "one thread, for which the others waited");
  }
  std::string text = "nothing alone: " + decimal_text(use.cores, 1) + " of " +
                     decimal_text(width, 0) + " processors were busy";
  if (disk != nullptr)
    text.append(", ").append(disk->track).append(" ").append(percent_text(disk->busy));
  set(use, Bound::nothing, text + "; the rest are turns and delays between them");
}

bool uses_scratch(const PhaseUse& use) {
  return !use.name.starts_with("finish") && !use.name.starts_with("verify") && use.name != "sync";
}

// What could be done about it. `scratch_bytes`: that were in use at most.
void advise(PhaseUse& use, const JobMeansGiven& given, double scratch_bytes) {
  const auto width = static_cast<double>(std::max(1U, std::min(given.threads, given.processors)));
  const auto say = [&](std::string text) { use.helps.push_back(std::move(text)); };
  const bool disk = use.bound == Bound::disk_read || use.bound == Bound::disk_write;
  if (use.bound == Bound::processors) {
    if (use.cores < kMostly * width) {
      say("A machine that is not shared: other programs took " + decimal_text(use.others, 1) +
          " processors.");
    } else if (given.threads < given.processors) {
      say("--parallel=" + std::to_string(given.processors) + ": " +
          format_count(given.processors, "processor") + " are there, and " +
          format_count(given.threads, "thread") + (given.threads == 1 ? " was" : " were") +
          " used.");
    } else {
      say("More or faster processors; a faster disk would not help.");
    }
    if (given.scratch_compressed && scratch_bytes > 0) {
      say("Scratch without --temp-compress, if its disk is fast.");
    }
  }
  if (use.bound == Bound::gpu) say("Another GPU (--device=gpu:all uses all there are).");
  if (use.bound == Bound::pipe_in) say("A faster writer of the input, or a file in its place.");
  if (use.bound == Bound::pipe_out) say("A faster reader of the output, or a file (-o).");
  if (use.bound == Bound::one_thread) {
    say("Several input files, if one is compressed or a pipe: one thread reads each of these.");
  }
  if (!disk) return;
  const bool shared = std::find(given.file_tracks.begin(), given.file_tracks.end(),
                                given.scratch_track) != given.file_tracks.end();
  if (scratch_bytes > 0 && uses_scratch(use)) {
    // An eighth more than the input leaves room for what is not records.
    const std::uint64_t whole = given.sorted_bytes + given.sorted_bytes / 8;
    if (given.sorted_bytes > 0 && whole > given.memory_bytes && whole < given.machine_bytes) {
      say("-S " + std::to_string(whole / kMiB + 1) +
          "M, if that much memory is free: nothing would go to scratch.");
    } else if (given.passes > 1) {
      say("A larger -S: with fewer, longer runs one merge would do in place of " +
          std::to_string(given.passes) + ".");
    }
    say(shared ? "Scratch on another disk than the files (-T DIRECTORY); several -T are used at "
                 "the same time."
               : "Another scratch disk: several -T are used at the same time.");
    if (given.knows_temp_compress && !given.scratch_compressed &&
        use.cores < (1 - kFreePart) * width) {
      say("--temp-compress=lz4: the processors had time for it.");
    }
  } else {
    say("A faster disk: all else waited for this one.");
  }
}

}  // namespace

std::vector<PhaseUse> judge_phases(const std::vector<PhaseReport>& phases,
                                   const TimeBuckets& buckets, const JobMeansGiven& given) {
  std::set<std::string> tracks;
  for (const auto& [track, what] : buckets.names()) {
    if (what == series::kBusy) tracks.insert(track);
  }
  double scratch_bytes = 0;
  for (const double bytes : buckets.levels(series::kScratch)) {
    scratch_bytes = std::max(scratch_bytes, bytes);
  }
  std::vector<PhaseUse> uses;
  for (const PhaseReport& phase : phases) {
    PhaseUse use = measure(phase, buckets, tracks);
    judge(use, given);
    advise(use, given, scratch_bytes);
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace xxl::cli
