// An open file as the block I/O layer sees it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "io/codec.h"
#include "io/decoder.h"

namespace xxl::io {

class IoQueue;
class WriteLog;

// Owns a file descriptor. Files opened for block I/O use O_DIRECT where the file system has it:
// then buffers, offsets and lengths must be multiples of kSectorBytes (a length that runs over the
// end of the file is fine when reading).
class File {
 public:
  File() = default;
  // Takes ownership of `fd`. `path` is the name used in messages. Throws Error{io} when `fd` is not
  // open.
  File(int fd, const std::string& path, bool direct);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  // Opens `path` for reading, never for writing; "-" is standard input.
  // Throws Error{io} with the path when it cannot be opened or is a directory.
  static File open_input(const std::string& path);

  // Examines an input that will be read later. A file with a size is opened, as by open_input(); a
  // pipe or device is not, since a process waits at its other end. Throws as open_input().
  static File examine_input(const std::string& path);

  // From now on reads give the decompressed content: a stream. Frames of zstd that refer back
  // further than the first one, and further than is usual, are refused (Decompressor). `is_text`:
  // as is content that recognize_content() refuses.
  void decompress(Codec codec, bool is_text);
  // From now on reads give text: its first bytes, when they come, tell whether it is compressed.
  // Throws Error{bad_input} if it is known already to be what recognize_content() refuses.
  void recognize();
  // What decompressing it takes in bytes; 0 if it is not compressed, or not known to be.
  std::size_t decoder_bytes() const;
  // If it is decompressed, or a stream to be recognized, and open: read in place of the descriptor.
  Decoder* decoder() const { return decoder_.get(); }

  // Opens an input that is not open. Throws Error{bad_input} if its name now belongs to another
  // file, Error{io} if to none.
  void open();
  // Closes it until open(). Files that are no inputs stay open, as does standard input: they have
  // no name.
  void close();

  // To be called when all of a seekable input up to size() has been read or is being read. True if
  // the file grew: then size() is its new size, in whole records of `record_bytes`. Standard input
  // is left at its end, for its next reader.
  bool has_grown(std::size_t record_bytes = 1);

  // Of a seekable input, only the first `bytes`, up to size(), are read, however it grows.
  void limit_to(std::uint64_t bytes);

  // Takes ownership of `fd`, to be read or written at its own position (Request::kStream), even if
  // it is a regular file.
  static File stream(int fd, const std::string& path);

  // The caller of the library, who completes the requests of `queue`: a stream. `name` is for
  // messages.
  static File of_caller(IoQueue& queue, std::string name);
  // Of of_caller(): its queue, otherwise null.
  IoQueue* caller() const { return caller_; }

  // Creates an unnamed file in `directory` (0600; O_TMPFILE, or created and unlinked at once), open
  // for reading and writing, if `direct`, directly where possible. Its path(), for messages, is the
  // directory.
  static File create_unnamed(const std::string& directory, bool direct = true);

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  bool direct() const { return direct_; }
  bool is_open() const { return fd_ >= 0 || caller_ != nullptr; }
  // True for a regular file or block device, which can be read at any place; false for a pipe, and
  // for inputs whose size is unknown (files of /proc and /sys) or that are to be read from the
  // middle (standard input whose start was already read).
  bool seekable() const { return seekable_; }
  // True for a regular file or block device, also one that is used as a stream.
  bool is_stored() const { return is_stored_; }
  // Size in bytes when it was opened first, or has_grown() (0 for pipes).
  std::uint64_t size() const { return size_; }
  // Of a file that was written: its size now. Throws Error{io}.
  std::uint64_t stored_bytes() const;
  // The device the file lives on: files of one device share a queue.
  dev_t device() const { return device_; }
  ino_t inode() const { return inode_; }
  // True for a file on a file system in memory (tmpfs, ramfs).
  bool is_in_memory() const { return in_memory_; }

  // Reserves disk space for bytes [offset, offset + bytes) and extends the file to hold them.
  // Throws Error{no_space} saying how much was asked for. On a file system without fallocate the
  // file is only extended, and free space checked with statvfs.
  void reserve(std::uint64_t offset, std::uint64_t bytes);
  // Gives the disk space of bytes [offset, offset + bytes) back: they read as zeros. False where
  // the file system cannot.
  bool give_back(std::uint64_t offset, std::uint64_t bytes);
  // False where that would hold up writes: the file system is mounted with the option discard, and
  // tells its device of each block that becomes free.
  bool gives_back_soon() const;

  // Closes the descriptor of a file that is written, until resume() with another one of it. No
  // transfer may be under way.
  void suspend();
  void resume(int fd);

  // From now on what is written to it is noted, to be compared with what is read back.
  void log_writes();
  // Null if it is not.
  WriteLog* write_log() const { return write_log_.get(); }
  // To be called with what is to be written, before it is.
  void note_write(std::uint64_t offset, std::span<const std::byte> data) const;

  // Must be called with the number of bytes of each system call that wrote. In a control group with
  // a memory limit it waits until at most a sixteenth of that is dirty in the page cache: when all
  // pages of a group wait for a slow disk, the kernel (version 2) kills instead of waiting. Returns
  // 0, or the errno value of a write to the disk that failed. From any thread.
  int wrote(std::size_t bytes) const;

  // To be held while writing to a file in memory: the kernel lets one thread at a time do so, and
  // others would burn the time of processors until it is their turn.
  [[nodiscard]] std::unique_lock<std::mutex> writing_turn() const {
    return in_memory_ ? std::unique_lock(writing_) : std::unique_lock<std::mutex>();
  }

 private:
  static File open_standard_input();
  static File open_path(const std::string& path);
  void disable_direct();
  void start_decoder();
  bool is_standard_input() const { return path_ == "-"; }

  int fd_ = -1;
  std::string path_;
  std::atomic<bool> direct_ = false;  // atomic: a file may grow while queues read
  bool seekable_ = false;
  bool is_stored_ = false;
  bool in_memory_ = false;
  std::atomic<std::uint64_t> size_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool has_name_ = false;  // path_ opens it again
  bool is_limited_ = false;
  Codec codec_ = Codec::none;
  std::size_t window_bytes_ = 0;  // of its first frame
  bool is_text_ = false;          // its content is recognized
  std::shared_ptr<Decoder> decoder_;
  IoQueue* caller_ = nullptr;
  std::shared_ptr<WriteLog> write_log_;
  mutable std::atomic<std::uint64_t> unsynced_bytes_ = 0;  // since the disk was last waited for
  mutable std::mutex writing_;
};

// True if it is on a file system in memory (tmpfs, ramfs).
bool is_on_memory(int fd);

// Turns on O_DIRECT for an open file. False when its file system has no direct transfers, wants
// them aligned to more than kSectorBytes, is in memory, or in user space (io_uring was seen to
// report more than was moved in short direct transfers there).
bool enable_direct(int fd);

// Free bytes in the file system of `directory` that this user may take.
std::uint64_t free_bytes(const std::string& directory);

}  // namespace xxl::io
