// What lies on the disks of a job.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace xxl::cli {

// The track of a time line (io/io_service.cc) that transfers of `path`, or of a file to be made
// there, are on: "disk 254:0". Empty if that is not known, as of a pipe.
std::string track_of_path(const std::string& path);

// For the track of each disk, its name and what is on it: "vda: inputs, scratch".
std::map<std::string, std::string> places_on_disks(const std::vector<std::string>& inputs,
                                                   const std::string& output,
                                                   const std::vector<std::string>& scratch_dirs);

}  // namespace xxl::cli
