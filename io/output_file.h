// An output file that appears complete or not at all, where that is possible.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "io/temp_name.h"

namespace xxl::io {

class ReadBack;

// Writes go to an unnamed file in the directory of `path` (one with a temporary name, where the
// file system has no unnamed files). publish() syncs it and gives it its name, replacing an
// existing file; without publish() nothing remains and an existing file stays.
//
// An existing file is written *in place* instead where replacing it is not possible or would lose
// something: the directory cannot be written, another file system is mounted on it, it has further
// names, or its owner or attributes cannot be given to a new file. Then writes go to a file in
// scratch, and publish() copies that into the existing one, once it has been compared with what was
// written. Where there can be no file in scratch, a small output is kept in memory until then.
class OutputFile {
 public:
  // Throws Error{io} when `path` cannot be written, or is a directory or not replaceable. `direct`
  // asks for O_DIRECT where it exists. `scratch_directories`: one or more; the roomiest is used if
  // the file is written in place. `is_small`: all space is reserved before it is written, and that
  // is most likely little.
  OutputFile(const std::string& path, bool direct,
             const std::vector<std::string>& scratch_directories, bool is_small = false);

  // The most bytes of an output that is kept in memory. They come on top of the memory of the job.
  static constexpr std::uint64_t kSmallBytes = std::uint64_t{8} << 20;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // False when `path` names something that must be written to instead of being replaced: a device,
  // a pipe, a socket, or an open file of a process (/dev/stdout, /dev/fd/3).
  static bool is_replaceable(const std::string& path);

  // The file to write into.
  File& file() { return file_; }
  // Before the first write, if publish() is to read it back. Throws Error{io} if that cannot be.
  void prepare_to_verify();
  // Reserves bytes [offset, offset + bytes) of it; if the output is written in place, also checks
  // that there is room there. Throws Error{no_space}.
  void reserve(std::uint64_t offset, std::uint64_t bytes);
  // Free bytes where it is.
  std::uint64_t free_bytes() const;

  // The path of file() for other processes, which may write to it as well until publish(): it has a
  // temporary name from now on. Throws Error{io}, also if the output is written in place.
  std::string shared_path();

  // True if the output is written in place. Known for certain after publish() only.
  bool in_place() const { return in_place_; }

  // Cuts the file to `bytes`, syncs it, reads it back, if `read_back` is not null, and makes it
  // appear as `path`. It has the owner, mode,
  // access control list and further attributes of the file that it replaces; a new one has what the
  // umask or the directory gives it. Changes by others in the meantime count: the attributes are
  // the current ones, and a file that got a further name, or took the name, is treated as if it had
  // been so from the start. Throws Error{io}; then nothing appeared, unless the message says so: a
  // file that was being written in place, or the sync of the directory at the very end.
  void publish(std::uint64_t bytes, ReadBack* read_back = nullptr);

 private:
  int open_beside(bool is_new);
  int open_named(mode_t mode);
  void find_existing();
  bool can_be_replaced_by(int fd) const;
  bool give_name();
  void give_temp_name();
  void write_elsewhere(const std::string& scratch_directory, bool direct, bool is_small);
  void check_room_in_place(std::uint64_t bytes) const;
  void write_in_place(std::uint64_t bytes, ReadBack* read_back);

  std::string path_;  // symbolic links are followed: a link's target is replaced
  std::string name_;  // in the directory:
  File directory_;    // opened once: it may be renamed meanwhile
  bool can_sync_directory_ = false;
  File existing_;  // the file that has the name, open for writing; not open if there is none
  bool in_place_ = false;
  std::optional<TempName> temp_name_;  // of file_, as long as it has one
  File file_;
  std::optional<Error> no_scratch_;  // why file_ is kept in memory
};

// Opens what is not OutputFile::is_replaceable(), to be written in order; "-" is standard output.
// Throws Error{io}, and Error{usage} if it is to be read back: `verify`.
File open_output_stream(const std::string& path, bool verify = false);
// To be called after the last write. An open file that was reached by its name (/dev/stdout,
// /dev/fd/3) was written from its start, and is cut after the last byte; standard output is not, as
// it is shared. Throws Error{io}.
void end_output_stream(const std::string& path, const File& stream);

}  // namespace xxl::io
