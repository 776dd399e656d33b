// A sorted file as a run: for sort -m, and for an early output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "io/file.h"
#include "record/key_layout.h"
#include "run/run.h"

namespace xxl {

// Sums of the blocks of such a file that is scratch, made while it is written: by them blocks are
// known again.
class FileRunSums {
 public:
  // As of open_file_run().
  FileRunSums(std::size_t record_bytes, std::size_t block_bytes);

  // What is written next, cut anywhere.
  void add(std::span<const std::byte> data);
  // MultisetHash::sum of each block, up to the last whole record.
  const std::vector<std::uint64_t>& sums() const { return sums_; }

 private:
  void add_whole(const std::byte* records, std::size_t count);

  std::size_t record_bytes_;
  std::size_t records_per_block_;
  std::uint64_t records_ = 0;
  std::vector<std::byte> begun_;  // of a record
  std::vector<std::uint64_t> sums_;
};

// Reads the first key of every block of `block_bytes` (less a sector at each end for alignment) of
// `records` records from `offset` of `file`. Few reads, of one sector or a record each, on several
// threads. `sums`: of a file in scratch, those of its blocks; otherwise none. Throws Error.
Run open_file_run(std::shared_ptr<io::File> file, std::uint64_t offset, std::uint64_t records,
                  const KeyLayout& layout, std::size_t block_bytes,
                  std::span<const std::uint64_t> sums = {});

// Checks that `records`, read as block `index` of such a run, are in order, also with the next
// block, and that the block starts with the key that was read before; of a file in scratch, also
// that they are those that were written. Returns their hash. Throws Error{bad_input, corrupt}.
MultisetHash check_file_block(const Run& run, const KeyLayout& layout, std::size_t index,
                              const std::byte* records);

}  // namespace xxl
