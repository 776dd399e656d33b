// Reads files that were written back from their disks, past the page cache, and compares them with
// what was written (docs/internals/checksums.md).
//
//     write ──▶ WriteLog: [0, 1 MiB) 3f5c..  [1 MiB, 2 MiB) 88a0..  ...      fsync
//                              │                     │
//     file, O_DIRECT  ──▶  hash equal?           hash equal?        ...      then it gets its name
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <utility>

#include "base/memory_region.h"
#include "io/file.h"
#include "io/io_queue.h"
#include "io/write_log.h"

namespace xxl::io {

class ReadBack {
 public:
  // Called with bytes that were found to be as they were written.
  using Advance = std::function<void(std::uint64_t bytes)>;

  // `stop` ends it. `io` must outlive it.
  ReadBack(IoService& io, std::stop_token stop, Advance advance);

  // Opens `file` once more, to read what is on the disk. Throws Error{io}.
  static File open_again(const File& file);

  // Compares `file`, which is complete and synced, with what was written to it, or with `log`.
  // Throws Error: corrupt if it is something else.
  void check(const File& file) { check(file, *file.write_log()); }
  void check(const File& file, WriteLog& log);

  // Reads what was compared, as a stream (File::of_caller()); may leave some, and may throw.
  using Reader = std::function<void(File& stream)>;
  // From now on check() gives each file to `reader` as well.
  void give_to(Reader reader) { reader_ = std::move(reader); }

 private:
  IoService& io_;
  std::stop_token stop_;
  Advance advance_;
  Reader reader_;
  MemoryRegion memory_;
};

}  // namespace xxl::io
