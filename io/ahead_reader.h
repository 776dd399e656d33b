// Reads a file from its beginning to its end, one buffer ahead, for a thread that waits. The end is
// what the file has when its last bytes are asked for: it may have grown.
//
//     memory   [ half: being used | half: being read into ]      and the other way round
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/in_flight.h"
#include "base/monitor.h"
#include "io/file.h"
#include "io/io_queue.h"

namespace xxl::io {

class AheadReader {
 public:
  // Opens the file and begins to read. `memory`, aligned to sectors and two of them at least, is
  // the caller's. It and `file` must outlive the reader; so must the others, unless `io` ends
  // before `monitor` and both before the reader: then nothing is under way.
  AheadReader(File& file, std::span<std::byte> memory, IoService& io, Monitor& monitor);
  // Waits for a read under way (gives up those of streams), and closes the file.
  ~AheadReader();
  // Other streams of `io` are to be read afterwards: nothing is given up at the end, unless by an
  // exception.
  void expect_others() { expects_others_ = true; }

  // The next bytes, the caller's to use until the next call; nothing at the end. Throws Error, also
  // if the file has become shorter since it was measured.
  std::span<std::byte> next();

 private:
  void start_read();

  // Closes the file after all reads have ended.
  struct Opened {
    explicit Opened(File& input) : file(input) { file.open(); }
    ~Opened() { file.close(); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    File& file;
  };

  Opened opened_;
  File& file_;
  std::span<std::byte> halves_[2];
  IoService& io_;
  Monitor& monitor_;
  unsigned reading_ = 0;        // the half that is read into
  std::uint64_t position_ = 0;  // of the next read
  std::size_t wanted_ = 0;      // bytes that the read under way must bring
  bool at_end_ = false;         // nothing is left to be read
  bool under_way_ = false;
  bool expects_others_ = false;
  std::atomic<bool> done_ = false;
  Completion completion_;  // with the monitor's lock
  InFlight in_flight_;
};

}  // namespace xxl::io
