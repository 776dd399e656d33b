// An output file that appears complete or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "io/file.h"

namespace xxl::io {

// Writes go to an unnamed file in the directory of `path` (a named temporary one, removed by the
// destructor, where the file system has no unnamed files). publish() syncs it and gives it its
// name, replacing what was there; without publish() nothing remains and what was there stays.
class OutputFile {
 public:
  // Throws Error{io} when the directory cannot be written or `path` is a directory. `direct` asks
  // for O_DIRECT where there is.
  explicit OutputFile(std::string path, bool direct = true);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // The file to write into.
  File& file() { return file_; }

  // Cuts the file to `bytes`, syncs it, and makes it appear as `path` with the permissions of the
  // file that it replaces (0666 & ~umask for a new one). Throws Error{io}, then nothing appeared.
  void publish(std::uint64_t bytes);

 private:
  std::string path_;       // with symbolic links followed, so that a link's target is replaced
  std::string temp_path_;  // of the named fall-back; empty for an unnamed file
  File file_;
};

}  // namespace xxl::io
