// The files of an output in parts: they appear together, in a directory with a manifest.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/output_directory.h"
#include "io/read_back.h"
#include "job/growing_file.h"
#include "job/part_manifest.h"
#include "run/output_parts.h"

namespace xxl {

// The key of a record of the output, as text for the manifest.
using KeyText = std::function<std::string(std::string_view record)>;

// The entry of the manifest for `part`, which was written to `file`, without a name.
// `terminator_bytes` and `key_text` as PartFiles::publish().
PartManifest::Part described_part(const io::File& file, const OutputPart& part,
                                  std::size_t terminator_bytes, const KeyText& key_text);

// Of any number of parts, as many files are open as a process may well have. Those that were not
// used for the longest time are put aside: records come in order, so most will not be written
// again.
class PartFiles {
 public:
  // Throws Error{io} if there cannot be such a directory, or it exists and is not one of parts.
  // `verify`: what is written is noted, to be read back. `ending`: of the names of files.
  PartFiles(const std::string& path, bool verify, std::string ending = {});

  bool is_in_memory() const { return directory_.is_in_memory(); }
  std::uint64_t free_bytes() const { return directory_.free_bytes(); }

  // The file of `part`, with space for its first `end` bytes; open as long as the pointer is held.
  // `direct` asks for O_DIRECT, `most` is how large it may become, as far as space is reserved
  // ahead. From any thread; waits while too many are held. Throws Error.
  std::shared_ptr<const io::File> file(std::size_t part, std::uint64_t end, bool direct,
                                       std::uint64_t most);

  // Makes the directory appear, with the parts of `manifest`. Their `file` names the directory in
  // which a part gets its name; empty: the directory of parts itself. Without `has_checksums`, the
  // files are read for their checksums. `read_back`: verifies the files; may be null.
  void publish(PartManifest manifest, bool has_checksums, io::ReadBack* read_back);
  // The same for parts of records. `directories`: those of the first parts. `record`: the format.
  // `terminator_bytes`: at the end of each record. `key_text`: empty if a key is its record. Parts
  // without a checksum are read for it.
  void publish(const std::vector<OutputPart>& parts, std::vector<std::string> directories,
               bool has_checksums, const std::string& record, std::size_t terminator_bytes,
               const KeyText& key_text, io::ReadBack* read_back);

 private:
  struct PartFile {
    io::File file;
    std::mutex mutex;
    GrowingFile space;
    // With the lock of all:
    bool is_made = false;
    bool is_opening = false;  // by a thread that waits until others may be put aside
    std::size_t users = 0;
    bool is_idle = false;                     // open without users
    std::list<std::size_t>::iterator idle{};  // in idle_, then

    explicit PartFile(std::uint64_t most)
        : space([this](std::uint64_t at, std::uint64_t bytes) { file.reserve(at, bytes); }, 0,
                most) {}
  };
  std::shared_ptr<PartFile> hold(std::size_t part, bool direct, std::uint64_t most);
  void open(std::size_t part, PartFile& file, bool direct, std::unique_lock<std::mutex>& lock);
  void let_go(std::size_t part);
  std::string name_of(std::size_t part) const;
  // Completes the file of a part, and its entry, whose `file` is its directory so far.
  void add(std::size_t number, PartManifest::Part& part, bool has_checksum,
           io::ReadBack* read_back);
  // Into `directory`. Returns its path.
  std::string move(const std::string& name, const std::string& directory);

  std::string path_;
  const bool verify_;
  std::string ending_;
  io::OutputDirectory directory_;
  const std::size_t most_open_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<std::unique_ptr<PartFile>> files_;  // null: nothing was written to it
  std::size_t open_ = 0;
  std::list<std::size_t> idle_;  // the one that was used last is at the end
};

}  // namespace xxl
