#include "report/places.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace xxl::cli {
namespace {

constexpr const char* kTrack = "disk ";

// The disk of the numbers "254:0": "vda"; of a file system without one: "tmpfs on /tmp".
std::string disk_name(const std::string& numbers) {
  std::error_code error;
  const auto link = std::filesystem::read_symlink("/sys/dev/block/" + numbers, error);
  if (!error) return link.filename().string();
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, point, word;
    fields >> id >> parent >> device >> root >> point;
    if (device != numbers) continue;
    while (fields >> word && word != "-") {
    }
    fields >> word;
    return word + " on " + point;
  }
  return {};
}

}  // namespace

std::string track_of_path(const std::string& path) {
  struct stat status {};
  const std::string directory = std::filesystem::path(path).parent_path().string();
  if (stat(path.c_str(), &status) != 0 &&
      stat(directory.empty() ? "." : directory.c_str(), &status) != 0) {
    return {};
  }
  if (S_ISBLK(status.st_mode)) status.st_dev = status.st_rdev;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISBLK(status.st_mode)) return {};
  return kTrack + std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
}

std::map<std::string, std::string> places_on_disks(const std::vector<std::string>& inputs,
                                                   const std::string& output,
                                                   const std::vector<std::string>& scratch_dirs) {
  std::map<std::string, std::string> places;
  const auto add = [&](const std::string& path, const std::string& what) {
    if (path == "-" || path.empty()) return;
    const std::string track = track_of_path(path);
    if (track.empty()) return;
    std::string& text = places[track];
    if (text.empty()) {
      const std::string name = disk_name(track.substr(std::string_view(kTrack).size()));
      text = name.empty() ? what : name + ": " + what;
    } else if (!text.ends_with(what)) {
      text.append(", ").append(what);
    }
  };
  for (const std::string& input : inputs) add(input, "input");
  for (const std::string& directory : scratch_dirs) add(directory, "scratch");
  add(output, "output");
  return places;
}

}  // namespace xxl::cli
