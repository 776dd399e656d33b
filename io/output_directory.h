// A directory of output files that appears complete or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/file.h"
#include "io/temp_name.h"

namespace xxl::io {

class ReadBack;

// Its files are unnamed until they are complete, so that nothing remains of them however the
// process ends. Then they get names in a directory with a temporary name, which publish() renames:
//
//     open(parent, O_TMPFILE) ...        write ...        mkdir(.xxl-PID-RANDOM.tmp)
//     ftruncate, fsync, linkat ...       fsync            rename(.xxl-PID-RANDOM.tmp, name)
//
// Where the file system has no unnamed files, that directory is made with the first file. An
// existing directory is exchanged with the new one, which gets its attributes, and then removed
// with all files in it and in its directories NAME=VALUE, if the caller says so. Its files are made
// as if in the existing one, so that they inherit what files there would.
class OutputDirectory {
 public:
  // Is given the path of a directory with something in it, and throws Error unless that may be
  // replaced: when this is made, and again when it is published.
  using Check = std::function<void(const std::string& path)>;

  // Throws Error{io} if there can be no directory `path`, or something else has that name, and what
  // `check` throws.
  OutputDirectory(const std::string& path, Check check);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  bool is_in_memory() const { return is_on_memory(parent_.fd()); }
  // Free bytes where it is.
  std::uint64_t free_bytes() const;

  // A new file, which will be called `name`. `direct` asks for O_DIRECT where it exists. Throws
  // Error{io}.
  File create(const std::string& name, bool direct);
  // Cuts such a file to `bytes`, syncs it, reads it back, if `read_back` is not null, and gives it
  // its name. Throws Error.
  void add(const File& file, const std::string& name, std::uint64_t bytes,
           ReadBack* read_back = nullptr);
  // Syncs such a file, gives it its name, and closes it until take_up(): there may be more files
  // than a process may open. Throws Error.
  void put_aside(File& file, const std::string& name);
  void take_up(File& file, const std::string& name);
  // Adds a file with this content.
  void add(const std::string& name, std::string_view content, ReadBack* read_back = nullptr);
  // Moves a file that was added as `name` into the directory `inner` of this one, where it is
  // called `file`. The directory is made if need be. False: it has such a file. Throws Error.
  bool move(const std::string& name, const std::string& inner, const std::string& file);

  // --- where several processes make it, maybe on several machines ---

  // The name that it has now in its parent; empty if it has none before something is added.
  std::string temp_name() const;
  // As temp_name(), and from now on it has one.
  std::string make();
  // In place of one of its own, adds to the one that another process made(), which publishes it
  // when all have added theirs.
  void join(const std::string& temp_name);

  // Makes the directory appear with what was added. Throws Error{io}; then nothing appeared, unless
  // the message says so: the sync at the very end, or what was replaced cannot be removed.
  void publish();

 private:
  void give_name(const File& file, const std::string& name);
  bool must_replace() const;
  void make_directory();
  File open_existing() const;
  void give_attributes_of(const File& existing) const;
  void prepare_for_files() const;
  void exchange();
  void remove_replaced();
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
  std::string name_;  // in its parent:
  File parent_;
  bool can_sync_parent_ = false;
  Check check_;
  File existing_;                      // the directory that is replaced; not open: there was none
  std::optional<TempName> temp_name_;  // of directory_, or of the one that it replaced
  File directory_;                     // not open until it is made
};

}  // namespace xxl::io
