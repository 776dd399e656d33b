// What a job did, as one page of HTML that needs nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/bottleneck.h"
#include "report/time_buckets.h"

namespace xxl::cli {

struct JobPage {
  std::string command = {};       // "xxl sort"
  std::string command_line = {};  // as it could be typed again
  std::string program = {};       // "xxl 1.0.0"
  std::string ended = {};         // "2026-11-25 10:15:15"
  std::string error = {};         // empty: it was done
  std::string plan = {};          // as --explain prints it; empty: there was none
  std::string facts = {};         // as --stats prints it; empty: the job failed
  JobMeansGiven given = {};
  std::vector<PhaseUse> phases = {};
  bool phases_are_seen = false;  // by looking at it now and then, since it did not report them
  const TimeBuckets* buckets = nullptr;
  double sampling_seconds = 0;                     // what watching took of a processor
  std::map<std::string, std::string> places = {};  // what the tracks of disks are: "vda: scratch"
};

inline constexpr std::string_view kPageStart = "<!DOCTYPE html>";

std::string make_page(const JobPage& page);

}  // namespace xxl::cli
